// Tables: cut points of columns, codes, ranks, cells of a normal scale; values of forests at rows.
#pragma once
#include "bits.h"
#include <math.h>

// The values of one column after the other that were seen: an open hash table with room for many
// more than there are cuts. Entries of other columns are free, so that nothing is cleared.
struct Seen {
    struct {
        int64_t column;
        double value;
    } entries[1024] = {};

    bool is_new(int64_t column, double value) {
        uint64_t place = __builtin_bit_cast(uint64_t, value) * 0x9E3779B97F4A7C15 >> 54;
        for (; entries[place].column == column; place = (place + 1) & 1023)
            if (entries[place].value == value) return false;
        entries[place] = {column, value};
        return true;
    }
};

// Puts cuts halfway between distinct values in their place; how many.
inline int64_t cut_halfway(Array<double> distinct) {
    sort_in_place(distinct);
    for (int64_t k = 0; k + 1 < distinct.size; ++k) {
        double middle = 0.5 * distinct[k] + 0.5 * distinct[k + 1];
        distinct[k] = middle > distinct[k] ? middle : distinct[k + 1];
    }
    return distinct.size > 1 ? distinct.size - 1 : 0;
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
    int64_t low = 0, high = cuts.size;
    if (cuts.size <= 4) {
        for (double cut : cuts) low += cut <= value;
        return low;
    }
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (cuts[middle] <= value) low = middle + 1;
        else high = middle;
    }
    return low;
}

void tvs_find_cuts(Matrix<const double> values, Array<uint8_t> n_cuts, Array<double> low,
                   Array<double> step, Array<int64_t> sizes, Matrix<double> halfway,
                   Array<int64_t> n_missing, Array<uint8_t> infinite) {
    Seen seen;
    int64_t max_cuts = halfway.n_columns;
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
            if (n_distinct < max_cuts && seen.is_new(j + 1, value))
                halfway(j, n_distinct++) = value;
        }
        infinite[j] = n_missing[j] < values.n_columns && !(largest - smallest < __builtin_inf());
        low[j] = smallest;
        if (n_distinct < max_cuts) {
            sizes[j] = cut_halfway(halfway[j].first(n_distinct));
            n_cuts[j] = (uint8_t)sizes[j];
        } else {
            double n_bins = (double)(max_cuts + 1);
            step[j] = largest / n_bins - smallest / n_bins;
            n_cuts[j] = step[j] > 0.0 ? (uint8_t)max_cuts : 0;
        }
    }
}

void tvs_encode_columns(Matrix<const double> values, Array<const uint8_t> n_cuts,
                        Array<const double> low, Array<const double> step,
                        Array<const int64_t> starts, Array<const double> halfway,
                        Matrix<uint8_t> codes) {
    for (int64_t j = 0; j < values.n_rows; ++j) {
        Array<const double> listed = halfway.between(starts[j], starts[j + 1]);
        double per_step = step[j] > 0.0 ? 1.0 / step[j] : 0.0, largest = __DBL_MAX__;
        if (per_step > largest) per_step = largest;
        for (int64_t i = 0; i < values.n_columns; ++i) {
            double value = values(j, i);
            if (value != value) codes(j, i) = MISSING;
            else if (listed.size > 0) codes(j, i) = (uint8_t)list_code(value, listed);
            else if (n_cuts[j] > 0)
                codes(j, i) = (uint8_t)grid_code(value, low[j], step[j], per_step, n_cuts[j]);
        }
    }
}

void tvs_transpose_codes(Array<const uint8_t> codes, Array<uint8_t> out) {
    for (int64_t first = 0; first < codes.size; first += 64)
        for (int64_t i = 0; i < 8; ++i)
            for (int64_t b = 0; b < 8; ++b) out[first + 8 * i + b] = codes[first + 8 * b + i];
}

void tvs_find_crowded(Matrix<const double> values, Matrix<const uint8_t> codes,
                      Array<const double> step, int64_t width, Array<uint8_t> crowded) {
    for (int64_t j = 0; j < values.n_rows; ++j) {
        if (!(step[j] > 0.0)) continue;
        int64_t counts[256] = {0}, n = 0, inside = 0;
        for (int64_t i = 0; i < values.n_columns; ++i) {
            if (codes(j, i) == MISSING || values(j, i) == 0.0) continue;
            counts[codes(j, i)] += 1;
            n += 1;
        }
        for (int64_t k = 0; k < MISSING; ++k) {
            inside += counts[k];
            if (k >= width) inside -= counts[k - width];
            if (3 * inside > n) crowded[j] = true;
        }
    }
}

void tvs_rank_codes(Matrix<const uint8_t> codes, Matrix<double> ranks) {
    for (int64_t j = 0; j < codes.n_rows; ++j) {
        int64_t counts[256] = {0}, first = 0;
        double rank_of[256] = {0.0}, squares = 0.0;
        for (uint8_t code : codes[j]) counts[code] += 1;
        int64_t n_present = codes.n_columns - counts[MISSING];
        for (int64_t code = 0; code < MISSING; ++code) {
            int64_t last = first + counts[code];
            rank_of[code] = 0.5 * (double)(first + last - n_present);
            squares += (double)counts[code] * rank_of[code] * rank_of[code];
            first = last;
        }
        if (squares > 0.0)
            for (double &rank : rank_of) rank /= sqrt(squares);
        for (int64_t i = 0; i < codes.n_columns; ++i) ranks(j, i) = rank_of[codes(j, i)];
    }
}

void tvs_rank_columns(Matrix<const double> values, Matrix<const int64_t> order,
                      Matrix<double> ranks) {
    for (int64_t j = 0; j < values.n_rows; ++j) {
        int64_t n_present = 0;
        for (double value : values[j]) n_present += value == value;
        double squares = 0.0;
        ranks[j].fill(0.0);
        for (int64_t first = 0, last; first < n_present; first = last) {
            last = first + 1;
            while (last < n_present && values(j, order(j, last)) == values(j, order(j, first)))
                ++last;
            double rank = 0.5 * (double)(first + last - n_present);
            for (int64_t place = first; place < last; ++place) ranks(j, order(j, place)) = rank;
            squares += (double)(last - first) * rank * rank;
        }
        if (squares > 0.0)
            for (double &rank : ranks[j]) rank /= sqrt(squares);
    }
}

void tvs_find_cells(Array<const double> seen, Array<const int64_t> starts,
                    Matrix<const double> values, Matrix<const int64_t> order, Matrix<double> low,
                    Matrix<double> high) {
    for (int64_t j = 0; j < values.n_rows; ++j) {
        int64_t start = starts[j], end = starts[j + 1], below = start, up_to = start;
        double n = (double)(end - start > 1 ? end - start : 1);
        double narrow = 1.5 / n > 0.02 ? 1.5 / n : 0.02;
        for (int64_t k = 0; k < values.n_columns; ++k) {
            int64_t row = order(j, k);
            double x = values(j, row), first = 0.0, last = 1.0;
            if (x == x && start < end) {
                while (below < end && seen[below] < x) ++below;
                if (up_to < below) up_to = below;
                while (up_to < end && seen[up_to] <= x) ++up_to;
                first = (double)(below - start) / n;
                last = (double)(up_to - start) / n;
                if (last - first <= narrow)
                    first = last = clamped((first + last) / 2, 0.5 / n, 1 - 0.5 / n);
            }
            low(j, row) = first;
            high(j, row) = last;
        }
    }
}

// A few columns at a time, whose values the processor keeps at hand.
void tvs_look_up(Array<const double> seen, Array<const int64_t> starts, Matrix<const double> shares,
                 Matrix<double> found) {
    for (int64_t first = 0; first < shares.n_columns; first += 8) {
        for (int64_t i = 0; i < shares.n_rows; ++i) {
            for (int64_t j = first; j < first + 8 && j < shares.n_columns; ++j) {
                int64_t n = starts[j + 1] - starts[j], place = (int64_t)(shares(i, j) * (double)n);
                if (place > n - 1) place = n - 1;
                found(i, j) = n == 0 ? 0.0 : seen[starts[j] + place];
            }
        }
    }
}

// A row walks down a tree once for all points, which are bits: where the tree splits on a column
// that is set, they part. `nodes` and `points_of` have room for where else there is to go.
void tvs_evaluate_at_points(const tvs_forest *forest, Matrix<const uint8_t> codes, int64_t first,
                            Matrix<const int64_t> below, Array<int64_t> nodes,
                            Array<int64_t> points_of, Matrix<double> out) {
    const auto &[starts, left, column, cut, missing_left, value] = *forest;
    int64_t every = (1LL << out.n_columns) - 1;
    for (int64_t row = 0; row < out.n_rows; ++row) {
        double of_all = 0.0;
        for (int64_t tree = 0; tree + 1 < starts.size; ++tree) {
            nodes[0] = starts[tree];
            points_of[0] = every;
            for (int64_t n_left = 1; n_left > 0;) {
                int64_t node = nodes[--n_left], points = points_of[n_left];
                while (left[node] >= 0) {
                    int64_t child = left[node], j = column[node] - first;
                    if (0 <= j && j < below.n_rows) {
                        int64_t lower = points & below(j, cut[node]);
                        if (lower != 0 && lower != points) {
                            nodes[n_left] = child + 1;
                            points_of[n_left++] = points ^ lower;
                            points = lower;
                        }
                        node = child + (lower == 0);
                    } else {
                        uint8_t code = codes(column[node], row);
                        bool is_left = code <= cut[node] || (code == MISSING && missing_left[node]);
                        node = child + !is_left;
                    }
                }
                if (points == every) of_all += value[node];
                for (int64_t point = 0; points != every && point < out.n_columns; ++point)
                    if (points >> point & 1) out(row, point) += value[node];
            }
        }
        for (double &entry : out[row]) entry += of_all;
    }
}
