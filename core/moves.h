// Birth and death: one Metropolis-Hastings step on the shape of a tree.
//
// The prior of a split is the product of "this node splits" (by depth), the column (uniform, or the
// urn of dirichlet.h), the cut (uniform over those that the splits above leave open) and the side
// of missing values (a coin). A birth proposes column, cut and side from exactly this prior, given
// all other splits of the forest, so that they cancel and only the depth terms, the choice of the
// leaf or of the pair of leaves, and the likelihood remain in the ratio.
//
// Two columns that matter only together explain nothing when the first of them is split on, and a
// chain that adds one split at a time stays where it is. A pair birth splits a leaf and then one of
// its children, chosen by a coin; a pair death takes back a split with a leaf on one side and a
// split into two leaves on the other. Where pairs of columns are known that are worth a try
// (prior.pairs), half of these proposals take one of them instead, and the ratio makes up for it.
#pragma once
#include "dirichlet.h"

constexpr double SIDES = 2.0;

// Chance of a death over that of the birth that it undoes: the birth chooses one of n_leaves leaves
// of the smaller tree, the death one of n_removable places of the larger one.
inline double proposal_ratio(int64_t n_leaves, int64_t n_removable) {
    double chance_birth = (n_leaves == 1 ? 1.0 : 0.5) / (double)n_leaves;
    return 0.5 / (double)n_removable / chance_birth;
}

// With probability min(1, exp(log_ratio)).
inline bool accepts(Random &rng, double log_ratio) { return -rng.exponential() < log_ratio; }

// Number of pairs after a pair birth at a leaf: with the new one, without the parent's, of which
// the leaf was a part, and the grandparent's, whose split child has two leaves no more.
inline int64_t pairs_after(const Tree &tree, int64_t node) {
    int64_t found = count<is_pair>(tree) + 1, parent = tree[node].parent;
    if (node != 0) found -= is_pair(tree, parent);
    if (node != 0 && parent != 0) found -= split_child(tree, tree[parent].parent) == parent;
    return found;
}

// One of the known pairs, or (-1, -1) for columns drawn from the prior: a coin decides.
inline tvs_pair draw_pair(Random &rng, const Prior &prior) {
    double u = prior.pairs.size > 0 ? 2.0 * rng.uniform() : 1.0;
    if (u >= 1.0) return {-1, -1};
    return prior.pairs[(int64_t)(u * (double)prior.pairs.size)];
}

// A step of one tree. `u` is what is left of a uniform number, and chooses a place in the tree.
struct Move {
    Random &rng;
    const Design &design;
    const Prior &prior;
    const Chain &chain;
    int64_t iteration;
    Tree tree;

    // Two leaves without a common row.
    PairData pair_of(int64_t one, int64_t other) const {
        return data_of(chain, tree[one].leaf, tree[other].leaf);
    }

    // Log of the Metropolis-Hastings ratio of a split; that of its removal is the negative. Of the
    // likelihood a leaf of n rows with residual sum s has, its mean integrated out and up to what
    // no split changes, (kappa / v)^(1/2) exp((phi s)^2 / (2 v)) with v = kappa + n phi,
    // kappa = 1 / tau^2 and phi = 1 / sigma^2; the right one when the left one is known, whose mean
    // goes with its own by the groups. `proposal` is the chance that the removal is proposed over
    // that of the split.
    double log_split_ratio(double proposal, int64_t depth, const PairData &pair) const {
        auto &[left, right, both] = pair;
        double precision = chain.response.real->precision;
        auto v = [&](double n) { return prior.leaf_precision + n * precision; };
        double v_left = v(left.n), v_both = v(left.n + right.n + 2.0 * both);
        double share = precision * both / v_left, v_right = v(right.n - share * both);
        double s_right = right.sum - share * left.sum, s_both = left.sum + right.sum;
        double gain =
            left.sum * left.sum / v_left + s_right * s_right / v_right - s_both * s_both / v_both;
        double shrink = prior.leaf_precision * v_both / (v_left * v_right);
        return 0.5 * (log(shrink * proposal * proposal) + precision * precision * gain) +
               prior.split_log_odds[depth];
    }

    int64_t n_splits_on(int64_t column) const { return chain.tally.columns[column].count; }

    // Of a column in the prior, where a split is or was the only one on it.
    double log_weight_of(int64_t column, int64_t n_other_splits) const {
        return n_other_splits == 0 ? prior.column_log_weights[column] : 0.0;
    }

    // Draws the column of a new split given the others: that of one of these, or any.
    int64_t draw_column() const {
        double q = (double)design.columns.size;
        if (iteration >= prior.sparse_from) {
            const tvs_totals &whole = *chain.tally.whole;
            double theta = q * prior.shares[whole.concentration], n_splits = (double)whole.n_splits;
            double ball = rng.uniform() * (theta + n_splits);
            if (ball < n_splits) {
                int64_t number = 0, rank = (int64_t)ball;
                while (rank >= chain.trees.splits[number]) rank -= chain.trees.splits[number++];
                Tree other(chain.trees, number);
                return other[nth<is_split>(other, rank)].column;
            }
        }
        return (int64_t)(rng.uniform() * q);
    }

    // How to split a leaf, on a column or, for -1, on one drawn from the prior. The proposal then
    // holds the rows of the left child.
    Split draw_split(int64_t node, int64_t column) const {
        const Leaves &leaves = chain.leaves;
        const tvs_proposal &proposal = chain.proposal;
        const tvs_node &at = tree[node];
        double n_both = leaves.gram(at.leaf, at.leaf), min_leaf = (double)prior.min_leaf;
        if (n_both < 2.0 * min_leaf || at.depth == MAX_DEPTH) return {};
        if (column < 0) column = draw_column();
        int64_t where = design.columns[column];
        auto [low, high] = open_cuts(tree, node, column, design.n_cuts[where]);
        if (low >= high) return {};
        int64_t cut = low + (int64_t)(rng.uniform() * (double)(high - low));
        bool missing_left = design.has_missing[where] && rng.uniform() < 0.5;
        double n_left =
            (double)rows_at_most(&design.codes[design.starts[where]], design.widths[where],
                                 leaves.masks, at.leaf, cut, missing_left, proposal.rows);
        if (n_left < min_leaf || n_both - n_left < min_leaf) return {};
        count_by_group(chain.groups, proposal.rows, at.leaf);
        double sum_left = sum_over(chain.response.spread, proposal.rows);
        double fitted_left =
            overlaps(leaves.masks, *leaves.size, proposal.rows, leaves.means, proposal.shared);
        return {column, cut, missing_left, n_left, sum_left, fitted_left};
    }

    double log_ratio_of(int64_t node, const Split &split, double proposal) const {
        int64_t leaf = tree[node].leaf;
        double mean = chain.leaves.means[leaf], n_both = chain.leaves.gram(leaf, leaf);
        double of_left = split.sum_left - (split.fitted_left - split.n_left * mean);
        double of_right = residual_sum(chain.leaves, leaf) - of_left;
        PairData pair{{split.n_left, of_left, mean}, {n_both - split.n_left, of_right, mean}};
        pair.integrate_out(chain.groups, chain.groups.of_split[0], chain.groups.of_split[1]);
        double log_ratio = log_split_ratio(proposal, tree[node].depth, pair);
        return log_ratio + log_weight_of(split.column, n_splits_on(split.column));
    }

    void make_split(int64_t node, const Split &split) const {
        split_leaf(tree, chain, node, split);
        count_split(chain.tally, split.column, 1, iteration, prior.burn);
    }
    // Where rows belong to groups, the other leaves of the tree are drawn given the mean.
    void remove_split(int64_t node) const {
        count_split(chain.tally, tree[node].column, -1, iteration, prior.burn);
        int64_t leaf = merge_leaves(chain, tree.number, node);
        if (chain.groups.sizes.size > 0) draw_leaf_mean(rng, prior, chain, leaf);
    }

    void birth(double u) const {
        int64_t n_leaves = tree.n_leaves();
        int64_t node = nth<is_leaf>(tree, (int64_t)(u * (double)n_leaves));
        Split split = draw_split(node, -1);
        if (split.cut < 0) return;
        // The parent stops being prunable when this leaf splits.
        bool replaces = node != 0 && is_prunable(tree, tree[node].parent);
        double proposal = proposal_ratio(n_leaves, count<is_prunable>(tree) + 1 - replaces);
        if (accepts(rng, log_ratio_of(node, split, proposal))) make_split(node, split);
    }

    void death(double u) const {
        int64_t n_removable = count<is_prunable>(tree);
        int64_t node = nth<is_prunable>(tree, (int64_t)(u * (double)n_removable));
        const tvs_node &at = tree[node];
        double proposal = proposal_ratio(tree.n_leaves() - 1, n_removable);
        double log_ratio = -log_split_ratio(proposal, at.depth, pair_of(at.left, at.left + 1));
        log_ratio -= log_weight_of(at.column, n_splits_on(at.column) - 1);
        if (accepts(rng, log_ratio)) remove_split(node);
    }

    // Log of the chance that a pair birth proposes two columns over that of the prior. The forest
    // has both splits already, as the one birth left it and the other death finds it.
    double log_chance_of_pair(int64_t first, int64_t second) const {
        if (prior.pairs.size == 0) return 0.0;
        int64_t n_equal = 0;
        for (const tvs_pair &pair : prior.pairs)
            n_equal += pair.first == first && pair.second == second;
        double q = (double)design.columns.size, by_prior = 1.0 / q * (1.0 / q);
        if (iteration >= prior.sparse_from) { // the urn, one after the other
            const tvs_totals &whole = *chain.tally.whole;
            double share = prior.shares[whole.concentration], theta = q * share;
            double n_first = (double)(n_splits_on(first) - 1 - (first == second));
            double n_second = (double)(n_splits_on(second) - 1), n_others = (double)whole.n_splits;
            by_prior = (share + n_first) / (theta + (n_others - 2.0)) *
                       ((share + n_second) / (theta + (n_others - 1.0)));
        }
        return log(0.5 + 0.5 * (double)n_equal / ((double)prior.pairs.size * by_prior));
    }

    // Both splits are made, and taken back unless they are accepted.
    void pair_birth(double u) const {
        int64_t n_leaves = tree.n_leaves(), accepted = chain.tally.whole->accepted;
        int64_t node = nth<is_leaf>(tree, (int64_t)(u * (double)n_leaves));
        double proposal = SIDES * proposal_ratio(n_leaves, pairs_after(tree, node));
        tvs_pair columns = draw_pair(rng, prior);
        Split first = draw_split(node, columns.first);
        if (first.cut < 0) return;
        double log_ratio = log_ratio_of(node, first, 1.0);
        make_split(node, first);
        int64_t left = tree[node].left;
        if (chain.groups.sizes.size > 0)
            draw_two_leaf_means(rng, prior, chain, tree[left].leaf, tree[left + 1].leaf);
        int64_t child = tree[node].left + (int64_t)(rng.uniform() * SIDES);
        Split second = draw_split(child, columns.second);
        bool is_accepted = false;
        if (second.cut >= 0) {
            log_ratio += log_ratio_of(child, second, proposal);
            make_split(child, second);
            log_ratio -= log_chance_of_pair(first.column, second.column);
            is_accepted = accepts(rng, log_ratio);
            if (!is_accepted) remove_split(child);
        }
        if (!is_accepted) remove_split(node);
        chain.tally.whole->accepted = accepted + is_accepted;
    }

    void pair_death(double u) const {
        int64_t n_removable = count<is_pair>(tree), accepted = chain.tally.whole->accepted;
        if (n_removable == 0) return;
        int64_t node = nth<is_pair>(tree, (int64_t)(u * (double)n_removable));
        int64_t child = split_child(tree, node);
        const tvs_node upper = tree[node], lower = tree[child];
        int64_t sibling = 2 * upper.left + 1 - child, first = upper.column, second = lower.column;
        PairData pair = pair_of(lower.left, lower.left + 1);
        PairData one = pair_of(lower.left, sibling), other = pair_of(lower.left + 1, sibling);
        double both = one.both + other.both;
        double n = pair.left.n + pair.right.n + 2.0 * pair.both;
        double sum = pair.left.sum + pair.right.sum + one.right.mean * both;
        LeafData rest = one.right;
        rest.sum += pair.right.mean * other.both;
        double proposal = SIDES * proposal_ratio(tree.n_leaves() - 2, n_removable);
        double log_ratio = -(log_split_ratio(proposal, upper.depth + 1, pair) +
                             log_split_ratio(1.0, upper.depth, {{n, sum, 0.0}, rest, both}));
        log_ratio += log_chance_of_pair(first, second);
        log_ratio -= log_weight_of(second, n_splits_on(second) - 1);
        log_ratio -= log_weight_of(first, n_splits_on(first) - (first == second) - 1);
        if (!accepts(rng, log_ratio)) return;
        int64_t last = tree.size() - 2;
        remove_split(child);
        if (node >= last) node = lower.left + node - last; // the last nodes took the free place
        remove_split(node);
        chain.tally.whole->accepted = accepted + 1;
    }

    // A coin decides between birth and death, but a stump can only grow; the share prior.pair_share
    // of both is of two splits. Coin, share and the choice of a place use one uniform number.
    void propose() const {
        double u = rng.uniform() * (tree.n_splits > 0 ? 2.0 : 1.0);
        bool is_death = u >= 1.0;
        if (is_death) u -= 1.0;
        bool is_pair = u < prior.pair_share;
        if (is_pair) u /= prior.pair_share;
        else if (prior.pair_share > 0.0) u = (u - prior.pair_share) / (1.0 - prior.pair_share);
        if (is_death) return is_pair ? pair_death(u) : death(u);
        return is_pair ? pair_birth(u) : birth(u);
    }
};
