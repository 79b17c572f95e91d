// Forests at rest: their value at rows, and at rows with some columns set to points.
#pragma once

#include "bits.h"
#include "tvselect.h"

namespace tvselect {
namespace {

using Forest = tvs_forest;

// Walks every row down every tree and adds up the leaf means.
inline void evaluate_forest(const Forest &forest, Matrix<const uint8_t> codes, Array<double> out) {
    for (int64_t tree = 0; tree + 1 < forest.starts.size; ++tree) {
        for (int64_t row = 0; row < out.size; ++row) {
            int64_t node = forest.starts[tree];
            while (forest.left[node] >= 0) {
                uint8_t code = codes(forest.column[node], row);
                bool goes_left =
                    code <= forest.cut[node] || (code == MISSING && forest.missing_left[node]);
                node = forest.left[node] + !goes_left;
            }
            out[row] += forest.value[node];
        }
    }
}

// Adds the value of a forest at rows (rows, points) with some columns set to points.
//
// A row walks down a tree once for all points, which are bits: where the tree splits on a column
// that is set, they part. below(j, c) are those of a code up to c in column first + j; `nodes` and
// `points_of` have room for where else there is to go.
inline void evaluate_at_points(const Forest &forest, Matrix<const uint8_t> codes, int64_t first,
                               Matrix<const int64_t> below, Array<int64_t> nodes,
                               Array<int64_t> points_of, Matrix<double> out) {
    int64_t every = (1LL << out.n_columns) - 1;
    for (int64_t row = 0; row < out.n_rows; ++row) {
        double of_all = 0.0;
        for (int64_t tree = 0; tree + 1 < forest.starts.size; ++tree) {
            nodes[0] = forest.starts[tree];
            points_of[0] = every;
            int64_t n_left = 1;
            while (n_left > 0) {
                --n_left;
                int64_t node = nodes[n_left], points = points_of[n_left];
                while (forest.left[node] >= 0) {
                    int64_t child = forest.left[node], j = forest.column[node] - first;
                    bool goes_left;
                    if (0 <= j && j < below.n_rows) {
                        int64_t lower = points & below(j, forest.cut[node]);
                        if (lower != 0 && lower != points) {
                            nodes[n_left] = child + 1;
                            points_of[n_left] = points ^ lower;
                            ++n_left;
                            points = lower;
                        }
                        goes_left = lower != 0;
                    } else {
                        uint8_t code = codes(forest.column[node], row);
                        goes_left = code <= forest.cut[node] ||
                                    (code == MISSING && forest.missing_left[node]);
                    }
                    node = child + !goes_left;
                }
                if (points == every) {
                    of_all += forest.value[node];
                } else {
                    for (int64_t point = 0; point < out.n_columns; ++point)
                        if (points >> point & 1) out(row, point) += forest.value[node];
                }
            }
        }
        for (double &value : out[row]) value += of_all;
    }
}

} // namespace
} // namespace tvselect
