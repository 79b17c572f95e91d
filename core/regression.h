// The LASSO by coordinate descent.
#pragma once

#include "arrays.h"
#include <math.h>

namespace tvselect {
namespace {

constexpr double TOLERANCE = 1e-5;
constexpr double FLATTEST = 1e-4;

// A weighted LASSO at one penalty: columns are rows of x, weights sum to one.
struct Lasso {
    Matrix<const double> x;
    Array<const double> y, weight;
    bool is_binary;
    double alpha;
    Array<double> coef, eta;       // coefficients and linear predictor
    Array<double> curvature, pull; // of the parabola through the loss, by row

    double steepest() const { return is_binary ? 0.25 : 1.0; }

    // Puts a parabola through the loss and moves the intercept; how much that is worth.
    double meet_loss(double care) const {
        double total = 0.0, gain = 0.0;
        for (int64_t i = 0; i < y.size; ++i) {
            double mean = is_binary ? 1.0 / (1.0 + exp(-eta[i])) : eta[i];
            curvature[i] = weight[i];
            if (is_binary) {
                double flat = mean * (1.0 - mean);
                double careful = care * (flat > FLATTEST ? flat : FLATTEST);
                curvature[i] *= careful < steepest() ? careful : steepest();
            }
            pull[i] = weight[i] * (y[i] - mean);
            total += curvature[i];
            gain += pull[i];
        }
        double move = gain / total;
        for (int64_t i = 0; i < y.size; ++i) {
            pull[i] -= move * curvature[i];
            eta[i] += move;
        }
        return sqrt(total / steepest()) * fabs(move);
    }

    // Moves a coefficient to where the parabola is lowest; how much that is worth.
    double move_coefficient(int64_t j) const {
        Array<const double> column = x[j];
        double size = 0.0, gain = 0.0;
        for (int64_t i = 0; i < y.size; ++i) {
            size += curvature[i] * column[i] * column[i];
            gain += pull[i] * column[i];
        }
        if (size == 0.0) return 0.0;
        gain += coef[j] * size;
        double shrunk = fabs(gain) - alpha > 0.0 ? fabs(gain) - alpha : 0.0;
        double sign = gain > 0.0 ? 1.0 : gain < 0.0 ? -1.0 : 0.0;
        double move = shrunk * sign / size - coef[j];
        if (move == 0.0) return 0.0;
        coef[j] += move;
        for (int64_t i = 0; i < y.size; ++i) {
            pull[i] -= move * curvature[i] * column[i];
            eta[i] += move * column[i];
        }
        return sqrt(size / steepest()) * fabs(move);
    }

    // Sweeps over some coefficients until none moves.
    //
    // A sweep looks at a parabola through the loss. For two classes it has the curvature at hand
    // and, whenever moves grow, twice as much as before, up to the largest there is: with that
    // every sweep goes downhill, but where a class is rare it is hundreds of times the one at hand.
    // Coefficients at zero are looked at again when the others have come to rest. Moves are
    // measured by what they are worth: along a flat parabola even a long one changes little.
    void descend(Array<const int64_t> places, int64_t max_iter) const {
        bool everything = true;
        double care = 1.0, before = __builtin_inf();
        for (int64_t sweep = 0; sweep < max_iter; ++sweep) {
            double largest = meet_loss(care);
            for (int64_t j : places) {
                if (coef[j] == 0.0 && !everything) continue;
                double worth = move_coefficient(j);
                largest = worth > largest ? worth : largest;
            }
            if (largest < TOLERANCE && everything) break;
            if (largest > before) care *= 2.0;
            everything = largest < TOLERANCE;
            before = largest;
        }
    }
};

} // namespace
} // namespace tvselect
