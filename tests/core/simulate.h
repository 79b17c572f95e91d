// The prior, simulated directly: independent of the sampler, by rejection.
//
// Draw theta from its grid, s from the Dirichlet, then every tree from its root down; throw
// everything away as soon as one split is not allowed (no cut left open, or a child with too few
// rows), and once more with probability 1 - weight for every column used. What survives has the
// joint law written down in docs/trees.md.
//
// Nothing of the core is used but its random numbers, which tests/bandit/test_numbers.py compares
// with those of NumPy.
#pragma once

#include "random.h"

namespace direct {

constexpr int64_t MOST_NODES = 127;
constexpr int64_t MOST_COLUMNS = 8;
constexpr int64_t MISSING_CODE = 255;

struct Setting {
    Matrix<const uint8_t> codes; // (columns, rows), at most 64 rows
    Array<const int64_t> n_cuts;
    Array<const uint8_t> has_missing;
    Array<const double> thetas;
    bool is_sparse;
    int64_t min_leaf;
    double base, power;
    Array<const double> column_weights;
    double leaf_sd;
};

// Nodes of a tree in preorder; a leaf has column -1.
struct Tree {
    Array<int64_t> columns, cuts;
    Array<uint8_t> missing_left;
    Array<int64_t> depths;
    Array<double> means;
};

struct Chances {
    double of[MOST_COLUMNS];
};

// Splitting probabilities of the columns: s ~ Dirichlet(theta / q, ..., theta / q), by logarithms
// of gamma variables, which are as small as they like.
inline Chances draw_chances(Random &rng, const Setting &setting, double theta) {
    int64_t q = setting.codes.n_rows;
    Chances s;
    if (!setting.is_sparse) {
        for (int64_t j = 0; j < q; ++j) s.of[j] = 1.0 / (double)q;
        return s;
    }
    double share = theta / (double)q, largest = -__builtin_inf(), total = 0.0;
    for (int64_t j = 0; j < q; ++j) {
        double log_gamma = log(rng.gamma(share + 1.0));
        s.of[j] = log_gamma + log(rng.uniform()) / share;
        largest = s.of[j] > largest ? s.of[j] : largest;
    }
    for (int64_t j = 0; j < q; ++j) {
        s.of[j] = exp(s.of[j] - largest);
        total += s.of[j];
    }
    for (int64_t j = 0; j < q; ++j) s.of[j] /= total;
    return s;
}

// A node that is still to be drawn: its depth, its rows as bits and the cuts left open.
struct Open {
    int64_t depth;
    uint64_t rows;
    int64_t low[MOST_COLUMNS], high[MOST_COLUMNS];
};

inline uint64_t rows_left(const Setting &setting, const Open &node, int64_t column, int64_t cut,
                          bool missing_left) {
    uint64_t left = 0;
    for (int64_t i = 0; i < setting.codes.n_columns; ++i) {
        int64_t code = setting.codes(column, i);
        bool goes_left = code <= cut || (code == MISSING_CODE && missing_left);
        if (goes_left) left |= (uint64_t)1 << i;
    }
    return node.rows & left;
}

// Draws a tree; its number of nodes, or 0 for one that is not allowed.
inline int64_t draw_tree(Random &rng, const Setting &setting, const Chances &s, const Tree &tree,
                         bool *used) {
    int64_t q = setting.codes.n_rows, n_rows = setting.codes.n_columns;
    Open stack[MOST_NODES];
    stack[0] = {0, ~(uint64_t)0 >> (64 - n_rows), {}, {}};
    for (int64_t j = 0; j < q; ++j) stack[0].high[j] = setting.n_cuts[j];
    int64_t n_nodes = 0;
    for (int64_t top = 1; top > 0;) {
        Open open = stack[--top];
        int64_t node = n_nodes++;
        tree.depths[node] = open.depth;
        tree.columns[node] = -1;
        tree.means[node] = 0.0;
        if (rng.uniform() >= setting.base * pow(1.0 + (double)open.depth, -setting.power)) {
            tree.means[node] = setting.leaf_sd * rng.normal();
            continue;
        }
        double u = rng.uniform();
        int64_t j = 0;
        for (; j < q - 1 && u >= s.of[j]; ++j) u -= s.of[j];
        if (open.high[j] <= open.low[j] || n_nodes + top + 2 > MOST_NODES) return 0;
        int64_t cut = open.low[j] + (int64_t)(rng.uniform() * (double)(open.high[j] - open.low[j]));
        bool missing_left = setting.has_missing[j] && rng.uniform() < 0.5;
        Open left = open, right = open;
        left.depth = right.depth = open.depth + 1;
        left.rows = rows_left(setting, open, j, cut, missing_left);
        right.rows = open.rows & ~left.rows;
        left.high[j] = cut;
        right.low[j] = cut + 1;
        if (__builtin_popcountll(left.rows) < setting.min_leaf) return 0;
        if (__builtin_popcountll(right.rows) < setting.min_leaf) return 0;
        stack[top++] = right;
        stack[top++] = left; // on top, so that nodes are visited in preorder
        tree.columns[node] = j;
        tree.cuts[node] = cut;
        tree.missing_left[node] = missing_left;
        used[j] = true;
    }
    return n_nodes;
}

// All draws of a forest: arrays (draws, trees, nodes).
struct Forests {
    int64_t n_trees;
    Array<int64_t> theta_index;
    int64_t *columns, *cuts;
    uint8_t *missing_left;
    int64_t *depths;
    double *means;
    int64_t *sizes;

    Tree tree(int64_t draw, int64_t t) const {
        int64_t first = (draw * n_trees + t) * MOST_NODES;
        return {{columns + first, MOST_NODES},
                {cuts + first, MOST_NODES},
                {missing_left + first, MOST_NODES},
                {depths + first, MOST_NODES},
                {means + first, MOST_NODES}};
    }
};

// Draws once; whether the forest is allowed.
inline bool try_forest(Random &rng, const Setting &setting, const Forests &forests, int64_t draw) {
    int64_t place = (int64_t)(rng.uniform() * (double)setting.thetas.size);
    forests.theta_index[draw] = place;
    Chances s = draw_chances(rng, setting, setting.thetas[place]);
    bool used[MOST_COLUMNS] = {false};
    for (int64_t t = 0; t < forests.n_trees; ++t) {
        int64_t n_nodes = draw_tree(rng, setting, s, forests.tree(draw, t), used);
        if (n_nodes == 0) return false;
        forests.sizes[draw * forests.n_trees + t] = n_nodes;
    }
    double weight = 1.0;
    for (int64_t j = 0; j < setting.codes.n_rows; ++j)
        if (used[j]) weight *= setting.column_weights[j];
    return rng.uniform() < weight;
}

inline void draw_forests(Random &rng, const Setting &setting, const Forests &forests) {
    for (int64_t draw = 0; draw < forests.theta_index.size; ++draw)
        while (!try_forest(rng, setting, forests, draw)) {
        }
}

// Adds a tree's value at every row, walking the preorder.
inline void add_tree(Matrix<const uint8_t> codes, const Tree &tree, int64_t n_nodes,
                     Array<double> out) {
    int64_t skip[MOST_NODES]; // nodes of the subtree
    for (int64_t node = n_nodes - 1; node >= 0; --node) {
        skip[node] = 1;
        if (tree.columns[node] < 0) continue;
        int64_t left = node + 1, right = left + skip[left];
        skip[node] += skip[left] + skip[right];
    }
    for (int64_t i = 0; i < out.size; ++i) {
        int64_t node = 0;
        while (tree.columns[node] >= 0) {
            int64_t code = codes(tree.columns[node], i);
            bool goes_left =
                code <= tree.cuts[node] || (code == MISSING_CODE && tree.missing_left[node]);
            node = goes_left ? node + 1 : node + 1 + skip[node + 1];
        }
        out[i] += tree.means[node];
    }
}

} // namespace direct
