// Tables: cut points of columns, codes, ranks and the cells of a normal scale.
#pragma once

#include "bits.h"
#include <math.h>

namespace tvselect {
namespace {

constexpr int64_t FEW_CUTS = 4;
constexpr int64_t HASH_SIZE = 1024;
constexpr int HASH_SHIFT = 54;
constexpr uint64_t HASH_FACTOR = 0x9E3779B97F4A7C15;
constexpr double LARGEST = 1.7976931348623157e308;
constexpr int64_t N_CODES = 256;

// Enters a value, by its bits, into a column's set of values seen; whether it is new. `seen` is an
// open hash table of (column, bits): entries of other columns are free, so that nothing is cleared
// between two columns.
inline bool is_new(Matrix<int64_t> seen, int64_t column, int64_t bits) {
    int64_t place = (int64_t)(((uint64_t)bits * HASH_FACTOR) >> HASH_SHIFT);
    while (seen(place, 0) == column) {
        if (seen(place, 1) == bits) return false;
        place = (place + 1) & (HASH_SIZE - 1);
    }
    seen(place, 0) = column;
    seen(place, 1) = bits;
    return true;
}

struct CutPoints {
    Array<uint8_t> n_cuts;
    Array<double> low, step;
    Array<int64_t> sizes; // above 0 where the cuts are listed
    Matrix<double> halfway;
};

// Cuts halfway between neighbours of few distinct values.
inline void list_cuts(Array<double> distinct, int64_t column, const CutPoints &cuts) {
    sort_in_place(distinct);
    int64_t n_cuts = distinct.size > 1 ? distinct.size - 1 : 0;
    cuts.sizes[column] = n_cuts;
    cuts.n_cuts[column] = (uint8_t)n_cuts;
    for (int64_t k = 0; k < n_cuts; ++k) {
        double middle = 0.5 * distinct[k] + 0.5 * distinct[k + 1];
        distinct[k] = middle > distinct[k] ? middle : distinct[k + 1];
    }
}

// Cut points of a block of columns: halfway between few distinct values, else on a grid.
inline void find_cuts(Matrix<const double> values, Matrix<const int64_t> bits, Matrix<int64_t> seen,
                      const CutPoints &cuts, Array<int64_t> n_missing, Array<uint8_t> infinite) {
    int64_t max_cuts = cuts.halfway.n_columns;
    for (int64_t j = 0; j < values.n_rows; ++j) {
        double smallest = __builtin_inf(), largest = -__builtin_inf();
        int64_t n_distinct = 0;
        for (int64_t i = 0; i < values.n_columns; ++i) {
            double value = values(j, i);
            if (value != value) {
                n_missing[j] += 1;
                continue;
            }
            smallest = value < smallest ? value : smallest;
            largest = value > largest ? value : largest;
            if (n_distinct < max_cuts && is_new(seen, j + 1, bits(j, i)))
                cuts.halfway(j, n_distinct++) = value;
        }
        infinite[j] = n_missing[j] < values.n_columns && !(largest - smallest < __builtin_inf());
        cuts.low[j] = smallest;
        if (n_distinct < max_cuts) {
            list_cuts(cuts.halfway[j].first(n_distinct), j, cuts);
        } else {
            double n_bins = (double)(max_cuts + 1);
            cuts.step[j] = largest / n_bins - smallest / n_bins;
            cuts.n_cuts[j] = cuts.step[j] > 0.0 ? (uint8_t)max_cuts : 0;
        }
    }
}

// Number of grid points low + step, low + 2 step, ... at or below a value.
inline int64_t grid_code(double value, double low, double step, double per_step, int64_t n_cuts) {
    double place = (value - low) * per_step;
    int64_t code = 0;
    if (place > 0.0) code = place > (double)n_cuts ? n_cuts : (int64_t)place;
    // Rounding may be off by one: the comparison with the cut itself decides.
    while (code < n_cuts && low + step * (double)(code + 1) <= value) ++code;
    while (code > 0 && low + step * (double)code > value) --code;
    return code;
}

// Number of sorted cuts at or below a value.
inline int64_t list_code(double value, Array<const double> cuts) {
    if (cuts.size <= FEW_CUTS) {
        int64_t code = 0;
        for (double cut : cuts) code += cut <= value;
        return code;
    }
    int64_t low = 0, high = cuts.size;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (cuts[middle] <= value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Codes of a block of columns; where there are no cuts the codes stay as they are.
inline void encode_columns(Matrix<const double> values, Array<const uint8_t> n_cuts,
                           Array<const double> low, Array<const double> step,
                           Array<const int64_t> starts, Array<const double> halfway,
                           Matrix<uint8_t> codes) {
    for (int64_t j = 0; j < values.n_rows; ++j) {
        Array<const double> listed = halfway.between(starts[j], starts[j + 1]);
        double per_step = 0.0;
        if (step[j] > 0.0) per_step = 1.0 / step[j] < LARGEST ? 1.0 / step[j] : LARGEST;
        for (int64_t i = 0; i < values.n_columns; ++i) {
            double value = values(j, i);
            if (value != value)
                codes(j, i) = MISSING;
            else if (listed.size > 0)
                codes(j, i) = (uint8_t)list_code(value, listed);
            else if (n_cuts[j] > 0)
                codes(j, i) = (uint8_t)grid_code(value, low[j], step[j], per_step, n_cuts[j]);
        }
    }
}

// Codes in the order of the bits, or back: every 64 of them are a square, transposed.
inline void transpose_codes(const uint8_t *codes, int64_t n_squares, uint8_t *out) {
    for (int64_t square = 0; square < n_squares; ++square)
        for (int64_t i = 0; i < 8; ++i)
            for (int64_t b = 0; b < 8; ++b)
                out[64 * square + 8 * i + b] = codes[64 * square + 8 * b + i];
}

// Columns on a grid with a third of their values in few bins; zeros are not counted.
inline void find_crowded(Matrix<const double> values, Matrix<const uint8_t> codes,
                         Array<const double> step, int64_t width, Array<uint8_t> crowded) {
    for (int64_t j = 0; j < values.n_rows; ++j) {
        if (!(step[j] > 0.0)) continue;
        int64_t counts[N_CODES] = {0};
        int64_t n = 0;
        for (int64_t i = 0; i < values.n_columns; ++i) {
            if (codes(j, i) != MISSING && values(j, i) != 0.0) {
                counts[codes(j, i)] += 1;
                n += 1;
            }
        }
        int64_t inside = 0;
        for (int64_t k = 0; k < MISSING; ++k) {
            inside += counts[k];
            if (k >= width) inside -= counts[k - width];
            if (3 * inside > n) crowded[j] = true;
        }
    }
}

// Ranks of columns of codes; equal ones share the mean of their ranks.
inline void rank_codes(Matrix<const uint8_t> codes, Matrix<double> ranks) {
    for (int64_t j = 0; j < codes.n_rows; ++j) {
        int64_t counts[N_CODES] = {0};
        double rank_of[N_CODES];
        for (uint8_t code : codes[j]) counts[code] += 1;
        int64_t n_present = codes.n_columns - counts[MISSING];
        double squares = 0.0;
        int64_t first = 0;
        for (int64_t code = 0; code < MISSING; ++code) {
            int64_t last = first + counts[code];
            rank_of[code] = 0.5 * (double)(first + last - n_present);
            squares += (double)counts[code] * rank_of[code] * rank_of[code];
            first = last;
        }
        rank_of[MISSING] = 0.0;
        if (squares > 0.0)
            for (double &rank : rank_of) rank /= sqrt(squares);
        for (int64_t i = 0; i < codes.n_columns; ++i) ranks(j, i) = rank_of[codes(j, i)];
    }
}

// Ranks of columns from their order; equal values share the mean of their ranks.
inline void rank_columns(Matrix<const double> values, Matrix<const int64_t> order,
                         Matrix<double> ranks) {
    for (int64_t j = 0; j < values.n_rows; ++j) {
        int64_t n_present = 0;
        for (double value : values[j]) n_present += value == value;
        double squares = 0.0;
        for (int64_t first = 0, last; first < n_present; first = last) {
            last = first + 1;
            while (last < n_present && values(j, order(j, last)) == values(j, order(j, first)))
                ++last;
            double rank = 0.5 * (double)(first + last - n_present);
            for (int64_t place = first; place < last; ++place) ranks(j, order(j, place)) = rank;
            squares += (double)(last - first) * rank * rank;
        }
        for (int64_t place = n_present; place < values.n_columns; ++place)
            ranks(j, order(j, place)) = 0.0;
        if (squares > 0.0)
            for (double &rank : ranks[j]) rank /= sqrt(squares);
    }
}

constexpr double WIDE_CELL = 0.02;
constexpr int64_t COLUMNS_AT_HAND = 8;

// Shares of the seen values below and up to each entry of the columns, read in rising order. Where
// few are the same: the point in the middle. One that comes again and makes up more than a fiftieth
// of its column is an interval.
inline void find_cells(Array<const double> seen, Array<const int64_t> starts,
                       Matrix<const double> values, Matrix<const int64_t> order, Matrix<double> low,
                       Matrix<double> high) {
    for (int64_t j = 0; j < values.n_rows; ++j) {
        int64_t start = starts[j], end = starts[j + 1];
        double n = (double)(end - start > 1 ? end - start : 1);
        int64_t below = start, up_to = start;
        for (int64_t k = 0; k < values.n_columns; ++k) {
            int64_t row = order(j, k);
            double x = values(j, row);
            if (x != x || start == end) {
                low(j, row) = 0.0;
                high(j, row) = 1.0;
                continue;
            }
            while (below < end && seen[below] < x) ++below;
            if (up_to < below) up_to = below;
            while (up_to < end && seen[up_to] <= x) ++up_to;
            double first = (double)(below - start) / n, last = (double)(up_to - start) / n;
            double narrow = 1.5 / n > WIDE_CELL ? 1.5 / n : WIDE_CELL;
            if (last - first <= narrow) {
                double middle = (first + last) / 2;
                if (middle < 0.5 / n) middle = 0.5 / n;
                if (middle > 1 - 0.5 / n) middle = 1 - 0.5 / n;
                first = last = middle;
            }
            low(j, row) = first;
            high(j, row) = last;
        }
    }
}

// The seen value with some share of the others below it, by column of `shares`. A few columns at a
// time, whose values the processor keeps at hand.
inline void look_up(Array<const double> seen, Array<const int64_t> starts,
                    Matrix<const double> shares, Matrix<double> found) {
    for (int64_t first = 0; first < shares.n_columns; first += COLUMNS_AT_HAND) {
        int64_t last = first + COLUMNS_AT_HAND;
        if (last > shares.n_columns) last = shares.n_columns;
        for (int64_t i = 0; i < shares.n_rows; ++i) {
            for (int64_t j = first; j < last; ++j) {
                int64_t n = starts[j + 1] - starts[j];
                int64_t place = (int64_t)(shares(i, j) * (double)n);
                if (place > n - 1) place = n - 1;
                found(i, j) = n == 0 ? 0.0 : seen[starts[j] + place];
            }
        }
    }
}

} // namespace
} // namespace tvselect
