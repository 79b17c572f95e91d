/* The native core of tvselect: Bayesian additive regression trees, and plays of Thompson Variable
 * Selection made of them.
 *
 * The core computes on arrays that the caller owns. It allocates nothing, keeps nothing between two
 * calls, throws nothing and starts no threads; calls on different arrays may run side by side. All
 * numbers are 64 bits wide unless an array says otherwise, matrices are stored row by row, and
 * "room" is memory whose contents do not matter. The sizes of arrays come before the arrays. Nothing is checked here: the caller (for Python
 * src/tvselect/core.py) makes sure of sizes and types.
 *
 * There is one library for each instruction set. tvs_level says which of them a processor can run;
 * all of them give the same bits.
 */
#ifndef TVSELECT_H
#define TVSELECT_H

#include <stdint.h>

#if defined(_WIN32)
#define TVS_API __declspec(dllexport)
#else
#define TVS_API __attribute__((visibility("default")))
#endif

/* Changes with whatever a caller has to know of. */
#define TVS_VERSION 1
#ifndef TVS_SOURCE
#define TVS_SOURCE 0
#endif

/* An array is a pointer with its size, a matrix one with the number of its rows and columns. */
#ifdef __cplusplus
#include "arrays.h"
#define TVS_ARRAY(type) tvselect::Array<type>
#define TVS_MATRIX(type) tvselect::Matrix<type>
extern "C" {
#else
#define TVS_ARRAY(type) struct { type *data; int64_t size; }
#define TVS_MATRIX(type) struct { type *data; int64_t n_rows, n_columns; }
#endif

/* ------------------------------------------------------------------ what a chain reads */

/* Random numbers from elsewhere: NumPy's bitgen_t. */
typedef struct {
    void *state;
    uint64_t (*next_uint64)(void *state);
    uint32_t (*next_uint32)(void *state);
    double (*next_double)(void *state);
    uint64_t (*next_raw)(void *state);
} tvs_generator;

typedef struct { int64_t first, second; } tvs_pair;

/* A table. Codes have 1, 2 or 8 bits (widths), see bits.h; 255 is a missing value. The forest
 * counts columns in the order of `columns`, which are places in the table. */
typedef struct {
    TVS_ARRAY(const uint64_t) codes;     /* one column of the table after the other */
    TVS_ARRAY(const int64_t) starts;     /* by column of the table: its first word */
    TVS_ARRAY(const uint8_t) widths;     /* by column of the table */
    TVS_ARRAY(const uint8_t) n_cuts;     /* by column of the table */
    TVS_ARRAY(const uint8_t) has_missing;
    TVS_ARRAY(const int64_t) columns;    /* that may be split on */
    int64_t n_rows;
} tvs_design;

/* What is known of the response: its values, bounds of them, a grade, or a class. */
enum { TVS_OBSERVED, TVS_BOUNDS, TVS_GRADES, TVS_CLASSES };

/* The prior, in units of the working response. */
typedef struct {
    TVS_ARRAY(const double) split_log_odds; /* by depth d: log(p_d (1 - p_{d+1})^2 / (1 - p_d)) */
    int64_t min_leaf;
    double leaf_precision;               /* 1 / tau^2 */
    double noise_df;                     /* nu */
    double noise_sum;                    /* nu lambda */
    int64_t free_noise;                  /* whether the noise variance is drawn */
    int64_t latent;                      /* TVS_OBSERVED ... TVS_CLASSES */
    TVS_ARRAY(const double) cuts;        /* first cut points of grades, or offsets of classes */
    int64_t burn;                        /* iterations before the averages start */
    int64_t sparse_from;                 /* first iteration with the Dirichlet prior */
    TVS_ARRAY(const double) shares;      /* theta / q on its grid */
    TVS_MATRIX(const double) log_shares; /* log(theta / q + m) for m = 0, 1, ... */
    TVS_ARRAY(const double) column_log_weights; /* what a forest weighs for every column it uses */
    double pair_share;                   /* share of proposals that add or remove two splits */
    TVS_ARRAY(const tvs_pair) pairs;     /* columns that half of these proposals are about */
    int64_t latent_sweeps;               /* iterations from one draw of the latents to the next */
    TVS_ARRAY(const double) cut_steps;   /* standard deviations of the steps of cut points */
} tvs_prior;

/* ------------------------------------------------------------------ what a chain changes */

/* Children come in pairs (left, left + 1); a leaf has left == 0. */
typedef struct {
    int32_t parent, left, column, cut, missing_left, depth, leaf, unused;
} tvs_node;

typedef struct {
    TVS_MATRIX(tvs_node) nodes;          /* by tree */
    TVS_ARRAY(int64_t) splits;           /* by tree */
} tvs_trees;

typedef struct { int32_t tree, node; } tvs_owner;

/* All leaves of the forest. There is room for a multiple of eight. */
typedef struct {
    int64_t *size;                       /* number of leaves */
    TVS_ARRAY(tvs_owner) owners;         /* tree and node of each leaf */
    TVS_MATRIX(uint64_t) masks;          /* (words, leaves): rows of each leaf as bits */
    TVS_MATRIX(int32_t) gram;            /* rows that two leaves share */
    TVS_ARRAY(double) sums;              /* of the response over a leaf's rows */
    TVS_ARRAY(double) means;
    TVS_ARRAY(double) fitted;            /* sum of the forest over a leaf's rows */
} tvs_leaves;

/* Splits on a column now, the iteration since which that holds, and sums over the draws after
 * burn-in of the number of splits and of "there is one". */
typedef struct { int64_t count, since, total, present; } tvs_column_count;
typedef struct { int64_t n_splits, concentration, accepted, n_done; } tvs_totals;

typedef struct {
    TVS_ARRAY(tvs_column_count) columns;
    TVS_ARRAY(int64_t) ladder;           /* by m: columns with more than m splits */
    tvs_totals *whole;                   /* splits, place of theta on its grid, iterations done */
} tvs_tally;

typedef struct { double precision, squares; } tvs_noise;

/* The response by row, in the order of the bits. */
typedef struct {
    TVS_ARRAY(double) values;            /* what the forest models now */
    TVS_MATRIX(double) observed;         /* lower bound, upper bound, grade or class (-1: none) */
    TVS_ARRAY(double) fit;               /* the forest, when latents were drawn last */
    TVS_ARRAY(double) cuts;              /* cut points between grades */
    TVS_ARRAY(double) spread;            /* values in the order in which they are added up */
    tvs_noise *real;                     /* 1 / sigma^2 and the sum of squared values */
} tvs_response;

typedef struct {
    TVS_ARRAY(uint64_t) rows;            /* of a proposed left child */
    TVS_ARRAY(int32_t) shared;           /* how many of them each leaf has */
} tvs_proposal;

typedef struct {
    tvs_trees trees;
    tvs_leaves leaves;
    tvs_tally tally;
    tvs_response response;
    tvs_proposal proposal;
} tvs_chain;

/* One value per iteration. */
typedef struct {
    TVS_ARRAY(double) precision;
    TVS_ARRAY(double) theta;
    TVS_ARRAY(int64_t) n_splits;
} tvs_trace;

/* ------------------------------------------------------------------ chains */

/* Which rows a chain sees, and which columns it sees a second time, each in an order of its own. */
typedef struct {
    TVS_ARRAY(int64_t) rows;
    TVS_ARRAY(int64_t) shadows;
    TVS_MATRIX(int64_t) shuffled;        /* (shadows, rows) */
} tvs_draw;

/* Room for copies of columns at these rows, with eight bits a row. */
typedef struct {
    TVS_ARRAY(uint64_t) codes;
    TVS_ARRAY(int64_t) starts;
    TVS_ARRAY(uint8_t) widths;
    TVS_ARRAY(uint8_t) n_cuts;
    TVS_ARRAY(uint8_t) has_missing;
    TVS_MATRIX(double) observed;         /* (2, rows) in the order of the bits */
} tvs_sample;

/* Copies the columns of a design at the drawn rows, and the shadows behind them. */
TVS_API void tvs_copy_sample(int64_t n_padded, const tvs_design *design, const double *observed,
                             const tvs_draw *draw, const tvs_sample *sample);

/* Makes the chain a forest of stumps with means zero. `mask` holds all rows as bits; `observed`
 * (2, rows) what is known of the response: its bounds, or its grade or class counted from 1. */
TVS_API void tvs_begin(int64_t n_words, int64_t n_padded, const tvs_chain *chain,
                       const tvs_design *design, const tvs_prior *prior, const uint64_t *mask,
                       const double *observed, double precision);

/* Runs iterations until `stop` of them are done. Comes back earlier, between two iterations, when
 * the arrays of the chain could become too small in the next one. */
TVS_API void tvs_run(const tvs_generator *rng, const tvs_design *design, const tvs_prior *prior,
                     const tvs_chain *chain, const tvs_trace *trace, int64_t stop);

/* ------------------------------------------------------------------ plays */

/* How plays are run and scored, see the class BartReward in Python. */
typedef struct {
    int64_t n_candidates;                /* columns that take part in the selection */
    int64_t n_seen;                      /* rows that a play sees */
    int64_t n_forests;                   /* one, or one for every class */
    int64_t last_forest;                 /* whether the last forest decides, not the average */
    int64_t n_trees;
    int64_t n_iterations;
    int64_t n_burn;                      /* -1 for half of the iterations */
    double proposals_per_column;
    double penalty;
    int64_t shadows;
    double min_splits;
} tvs_rules;

/* The reward on one table. `table.columns` is not used: a play brings its own. */
typedef struct {
    tvs_design table;
    TVS_MATRIX(const double) observed;   /* (2, rows) in the order of the bits */
    tvs_prior prior;                     /* pairs are columns of the table here */
    double precision;                    /* 1 / sigma^2 to start from */
    TVS_ARRAY(const double) evidence;    /* by column, in nats: taken off its penalty */
    tvs_rules rules;
} tvs_reward;

/* Room for one play after the other, used by one thread. */
typedef struct {
    tvs_chain chain;
    tvs_trace trace;
    tvs_sample sample;
    tvs_draw draw;
    TVS_ARRAY(const uint64_t) mask;      /* all rows that a play sees, as bits */
    TVS_ARRAY(int64_t) order;            /* by row of the table */
    TVS_ARRAY(int64_t) columns;          /* of the play */
    TVS_ARRAY(int64_t) places;           /* 0, 1, 2, ... */
    TVS_ARRAY(double) log_weights;
    TVS_ARRAY(double) scores;
    TVS_ARRAY(double) rewards;
    TVS_ARRAY(tvs_pair) pairs;
    int64_t play;                        /* which is in progress, -1 for none */
    int64_t is_started;                  /* whether its chain has started */
    int64_t n_columns;                   /* that it plays */
} tvs_room;

/* Why a function comes back. */
enum {
    TVS_DONE,
    TVS_NO_ARM_DRAWN,                    /* the next play is better chosen by another rule */
    TVS_LOG_IS_FULL,                     /* there is no room for another play in the log */
    TVS_TABLE_TOO_SMALL,                 /* the table of chances lacks what the next play needs */
    TVS_ROOM_TOO_SMALL,                  /* the play in progress needs a larger room */
    TVS_FOREST_TOO_LARGE                 /* the chain needs larger arrays to go on */
};

/* What a play of so many columns needs room for: columns with shadows, copies of them,
 * iterations. */
TVS_API void tvs_plan(const tvs_reward *reward, int64_t n_columns, int64_t *sizes);

/* Scores the columns in room.columns, rewards 0 or 1 in room.rewards. After TVS_FOREST_TOO_LARGE
 * it goes on where it was. */
TVS_API int64_t tvs_score(const tvs_generator *rng, const tvs_reward *reward, tvs_room *room);

/* Beta posteriors of arms of one prior and threshold, and how they are chosen. */
typedef struct {
    TVS_ARRAY(int32_t) successes;
    TVS_ARRAY(int32_t) failures;
    TVS_ARRAY(float) chance_below;       /* that a draw of the arm stays below the threshold */
    TVS_ARRAY(uint8_t) passing;          /* whether the mean is above the threshold */
    TVS_MATRIX(const double) table;      /* chance_below by successes and failures, or NaN */
    double prior_a, prior_b, threshold;
} tvs_posteriors;

typedef struct {
    tvs_posteriors posteriors;
    TVS_MATRIX(const int32_t) pairs;     /* (pairs, 2): arms that are played together */
    int64_t n_candidates;                /* the first arms; those behind them are decoys */
    TVS_ARRAY(const int64_t) starts;     /* arm i plays columns[starts[i]] up to */
    TVS_ARRAY(const int64_t) columns;    /* columns[starts[i + 1]] */
    TVS_ARRAY(const int64_t) always;     /* columns that are part of every play */
} tvs_arms;

/* Plays one after the other: play k is arms[ends[k]] up to arms[ends[k + 1]]. */
typedef struct {
    TVS_ARRAY(int32_t) arms;
    TVS_ARRAY(uint8_t) rewards;
    TVS_ARRAY(int64_t) ends;
    TVS_MATRIX(uint64_t) random;         /* (plays, 5): seeds of SFC64 in three words, then state */
    int64_t n_chosen;                    /* plays that are chosen, */
    int64_t next;                        /* taken by those who score, */
    int64_t n_learned;                   /* and learned from */
    int64_t n_unchanged;                 /* plays since the model has changed */
} tvs_log;

/* Chooses plays from the arms as they are, until n are chosen in all. */
TVS_API int64_t tvs_choose(const tvs_arms *arms, tvs_log *log, int64_t n);

/* Scores plays that are chosen until none is left. Several threads may share a log, each with a
 * room of its own. To be called again after the room was made larger. */
TVS_API int64_t tvs_score_chosen(const tvs_reward *reward, const tvs_arms *arms, tvs_log *log,
                                 tvs_room *room);

/* Learns from all plays that were scored, in their order. */
TVS_API int64_t tvs_learn(const tvs_arms *arms, tvs_log *log);

/* Chooses, scores and learns, one play after the other, until n are learned from. To be called
 * again after what it asks for was done. */
TVS_API int64_t tvs_play(const tvs_reward *reward, const tvs_arms *arms, tvs_log *log,
                         tvs_room *room, int64_t n);

/* Lets the missing partners of pairs join n arms in rising order; how many there are then. */
TVS_API int64_t tvs_join_partners(int64_t n_pairs, int64_t n_room, const int32_t *pairs,
                                  int32_t *arms, int64_t n);

/* ------------------------------------------------------------------ forests */

/* A forest at rest: the nodes of tree t are starts[t] up to starts[t + 1]; a leaf has left < 0. */
typedef struct {
    TVS_ARRAY(const int64_t) starts;
    TVS_ARRAY(const int64_t) left;
    TVS_ARRAY(const int64_t) column;
    TVS_ARRAY(const uint8_t) cut;
    TVS_ARRAY(const uint8_t) missing_left;
    TVS_ARRAY(const double) value;
} tvs_forest;

/* Adds the trees' values at rows that are given as codes (columns, padded rows). */
TVS_API void tvs_evaluate_forest(int64_t n_columns, int64_t n_padded, int64_t n_rows,
                                 const tvs_forest *forest, const uint8_t *codes, double *out);

/* Adds the value of a forest at rows (rows, points) with the columns from `first` on set to
 * points: below[j, c] are, as bits, the points of a code up to c in column first + j. `nodes` and
 * `points_of` are room for as many numbers as the forest has nodes. */
TVS_API void tvs_evaluate_at_points(int64_t n_columns, int64_t n_padded, int64_t n_set,
                                    int64_t n_nodes, int64_t n_rows, int64_t n_points,
                                    const tvs_forest *forest, const uint8_t *codes, int64_t first,
                                    const int64_t *below, int64_t *nodes, int64_t *points_of,
                                    double *out);

/* ------------------------------------------------------------------ tables */

/* Cut points of columns; sizes[j] > 0 where they are listed in `halfway`. `values` are the columns
 * as numbers and `bits` the same memory as whole numbers; `seen` is a hash table, zero at first. */
TVS_API void tvs_find_cuts(int64_t n_columns, int64_t n_rows, int64_t max_cuts,
                           const double *values, const int64_t *bits, int64_t *seen,
                           uint8_t *n_cuts, double *low, double *step, int64_t *sizes,
                           double *halfway, int64_t *n_missing, uint8_t *infinite);

/* Codes of columns between their cut points. */
TVS_API void tvs_encode_columns(int64_t n_columns, int64_t n_rows, int64_t n_halfway,
                                int64_t n_padded, const double *values, const uint8_t *n_cuts,
                                const double *low, const double *step, const int64_t *starts,
                                const double *halfway, uint8_t *codes);

/* Codes by row in the order of the bits, or back: a multiple of 64. */
TVS_API void tvs_transpose_codes(int64_t n_codes, const uint8_t *codes, uint8_t *out);

/* Columns on a grid with a third of their values in few bins; zeros are not counted. */
TVS_API void tvs_find_crowded(int64_t n_columns, int64_t n_rows, int64_t n_padded,
                              const double *values, const uint8_t *codes, const double *step,
                              int64_t width, uint8_t *crowded);

/* Ranks of columns, of mean 0 and length 1, from their codes or from their order. */
TVS_API void tvs_rank_codes(int64_t n_columns, int64_t n_rows, const uint8_t *codes,
                            double *ranks);
TVS_API void tvs_rank_columns(int64_t n_columns, int64_t n_rows, const double *values,
                              const int64_t *order, double *ranks);

/* Shares of the seen values below and up to each entry of the columns, read in rising order. */
TVS_API void tvs_find_cells(int64_t n_seen, int64_t n_columns, int64_t n_rows, const double *seen,
                            const int64_t *starts, const double *values, const int64_t *order,
                            double *low, double *high);

/* The seen value with some share of the others below it, by column of `shares`. */
TVS_API void tvs_look_up(int64_t n_seen, int64_t n_columns, int64_t n_rows, const double *seen,
                         const int64_t *starts, const double *shares, double *found);

/* ------------------------------------------------------------------ screening */

/* Correlation of every column's codes with the outcome over the rows where it is present. */
TVS_API void tvs_correlate(int64_t n_columns, int64_t n_padded, int64_t n_rows,
                           const uint8_t *codes, const double *outcome, double *correlations,
                           int64_t *n_present);

/* Counts the values 0, 1, 2 and missing (3) of columns, and adds up outcomes by the last three.
 * `others` is room for a row. */
TVS_API void tvs_add_by_value(int64_t n_columns, int64_t n_rows, int64_t n_outcomes,
                              const uint8_t *values, const double *outcomes, int64_t *counts,
                              double *sums, int64_t *others);

/* Counts what the pairs of bits of each column of a .bed file stand for. */
TVS_API void tvs_count_genotypes(int64_t n_columns, int64_t n_bytes, const uint8_t *stored,
                                 int64_t *counts);

/* A weighted LASSO at one penalty: sweeps over some coefficients until none moves. Columns
 * are rows of `x`; `curvature` and `pull` are room. */
TVS_API void tvs_descend(int64_t n_columns, int64_t n_rows, int64_t n_places, const double *x,
                         const double *y, const double *weight, int64_t is_binary, double alpha,
                         int64_t max_iter, const int64_t *places, double *coef, double *eta,
                         double *curvature, double *pull);

/* ------------------------------------------------------------------ the library */

/* The highest instruction set that this processor can run: 2, 3 or 4 of x86-64, or 0. */
TVS_API int64_t tvs_level(void);

/* TVS_VERSION as the library was compiled, and a hash of the sources it was compiled from. */
TVS_API int64_t tvs_version(void);
TVS_API int64_t tvs_source(void);

/* The number of fields of a struct (its name without tvs_), its size and the offsets of its fields,
 * in the order of this file; NULL where there is none of that name. */
TVS_API const int64_t *tvs_layout(const char *name);

#ifdef __cplusplus
}
#endif
#endif
