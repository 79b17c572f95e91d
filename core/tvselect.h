/* The native core of tvselect: Bayesian additive regression trees, and plays of Thompson Variable
 * Selection made of them.
 *
 * The core computes on arrays that the caller owns. It allocates nothing, keeps nothing between two
 * calls, throws nothing and starts no threads; calls on different arrays may run side by side. All
 * numbers are 64 bits wide unless an array says otherwise, matrices are stored row by row, and
 * "room" is memory whose contents do not matter. Nothing is checked here: the caller (for Python
 * src/tvselect/core.py) makes sure of sizes and types. There is one library for each instruction
 * set; all of them give the same bits. */
#ifndef TVSELECT_H
#define TVSELECT_H
#include <stdint.h>

#if defined(_WIN32)
#define TVS_API __declspec(dllexport)
#else
#define TVS_API __attribute__((visibility("default")))
#endif
#define TVS_VERSION 4 /* changes with whatever a caller has to know of */
#ifndef TVS_SOURCE
#define TVS_SOURCE 0
#endif

/* An array is a pointer with its size, a matrix one with the number of its rows and columns. Both
 * are handed over by value; in C++ they know what they hold. */
#ifdef __cplusplus
#include "arrays.h"
#define ARRAY(type) Array<type>
#define MATRIX(type) Matrix<type>
extern "C" {
#else
typedef struct { const void *data; int64_t size; } tvs_array;
typedef struct { const void *data; int64_t n_rows, n_columns; } tvs_matrix;
#define ARRAY(type) tvs_array
#define MATRIX(type) tvs_matrix
#endif

/* Random numbers from elsewhere: NumPy's bitgen_t. */
typedef struct {
    void *state;
    uint64_t (*next_uint64)(void *state);
    uint32_t (*next_uint32)(void *state);
    double (*next_double)(void *state);
} tvs_generator;

typedef struct { int64_t first, second; } tvs_pair;

/* A table. Codes have 1, 2 or 8 bits (widths), see bits.h; 255 is a missing value. The forest
 * counts columns in the order of `columns`, which are places in the table. */
typedef struct {
    ARRAY(const uint64_t) codes;        /* one column of the table after the other */
    ARRAY(const int64_t) starts;        /* by column of the table: its first word, and so on */
    ARRAY(const uint8_t) widths, n_cuts, has_missing;
    ARRAY(const int64_t) columns;       /* that may be split on */
    int64_t n_rows;
} tvs_design;

/* What is known of the response: its values, bounds of them, a grade, or a class. */
enum { TVS_OBSERVED, TVS_BOUNDS, TVS_GRADES, TVS_CLASSES };

/* The prior, in units of the working response. */
typedef struct {
    ARRAY(const double) split_log_odds; /* by depth d: log(p_d (1 - p_{d+1})^2 / (1 - p_d)) */
    int64_t min_leaf;
    double leaf_precision;              /* 1 / tau^2 */
    double noise_df, noise_sum;         /* nu, nu lambda */
    int64_t free_noise, latent;         /* whether the noise variance is drawn; TVS_OBSERVED ... */
    ARRAY(const double) cuts;           /* first cut points of grades, or offsets of classes */
    int64_t burn, sparse_from;          /* iterations before averages, before the Dirichlet prior */
    ARRAY(const double) shares;         /* theta / q on its grid */
    MATRIX(const double) log_shares;    /* log(theta / q + m) for m = 0, 1, ... */
    ARRAY(const double) column_log_weights; /* what a forest weighs for every column it uses */
    double pair_share;                  /* share of proposals that add or remove two splits */
    ARRAY(const tvs_pair) pairs;        /* columns that half of these proposals are about */
    int64_t latent_sweeps;              /* iterations from one draw of the latents to the next */
    ARRAY(const double) cut_steps;      /* standard deviations of the steps of cut points */
    ARRAY(const double) ratios;         /* grid of rho, the variance of groups over sigma^2 */
} tvs_prior;

/* Children come in pairs (left, left + 1); a leaf has left == 0. */
typedef struct { int32_t parent, left, column, cut, missing_left, depth, leaf, unused; } tvs_node;
typedef struct {
    MATRIX(tvs_node) nodes;             /* by tree */
    ARRAY(int64_t) splits;              /* how many, by tree */
} tvs_trees;

typedef struct { int32_t tree, node; } tvs_owner;
/* All leaves of the forest. There is room for a multiple of eight. */
typedef struct {
    int64_t *size;                      /* number of leaves */
    ARRAY(tvs_owner) owners;            /* tree and node of each leaf */
    MATRIX(uint64_t) masks;             /* (words, leaves): rows of each leaf as bits */
    MATRIX(int32_t) gram;               /* rows that two leaves share */
    ARRAY(double) sums, means;          /* sum of the response over a leaf's rows, leaf mean */
    ARRAY(double) fitted;               /* sum of the forest over a leaf's rows */
} tvs_leaves;

/* Splits on a column now, the iteration since which that holds, and sums over the draws after
 * burn-in of the number of splits and of "there is one". */
typedef struct { int64_t count, since, total, present; } tvs_column_count;
typedef struct { int64_t n_splits, concentration, accepted, n_done; } tvs_totals;
typedef struct {
    ARRAY(tvs_column_count) columns;
    ARRAY(int64_t) ladder;              /* by m: columns with more than m splits */
    tvs_totals *whole;                  /* splits, place of theta on its grid, iterations done */
} tvs_tally;

typedef struct { double precision, squares; } tvs_noise;
/* The response by row, in the order of the bits. */
typedef struct {
    ARRAY(double) values;               /* what the forest models now */
    MATRIX(double) observed;            /* lower bound, upper bound, grade or class (-1: none) */
    ARRAY(double) fit;                  /* the forest, when latents were drawn last */
    ARRAY(double) cuts;                 /* cut points between grades */
    ARRAY(double) spread;               /* values in the order in which they are added up */
    tvs_noise *real;                    /* 1 / sigma^2 and the sum of squared values */
} tvs_response;

typedef struct {
    ARRAY(uint64_t) rows;               /* of a proposed left child */
    ARRAY(int32_t) shared;              /* how many of them each leaf has */
} tvs_proposal;

/* Rows of a group within one word, as bits; how many such parts, and the place of rho. */
typedef struct { int64_t word, group; uint64_t rows; } tvs_part;
typedef struct { int64_t n_parts, ratio; } tvs_group_numbers;
/* Groups of rows, see groups.h: none, or room for a multiple of eight. */
typedef struct {
    tvs_group_numbers *whole;
    ARRAY(tvs_part) parts;
    MATRIX(double) rows;                /* (leaves, groups): rows of a group that a leaf has */
    MATRIX(double) of_split;            /* (2, groups): the same of a proposed split's children */
    ARRAY(double) sizes, weights;       /* n_g, rho / (1 + rho n_g) */
    ARRAY(double) rest;                 /* sum of the response minus the forest over its rows */
} tvs_groups;

typedef struct {
    tvs_trees trees;
    tvs_leaves leaves;
    tvs_tally tally;
    tvs_response response;
    tvs_proposal proposal;
    tvs_groups groups;
} tvs_chain;

/* One value per iteration. */
typedef struct {
    ARRAY(double) precision, theta, ratio;
    ARRAY(int64_t) n_splits;
} tvs_trace;

/* Which rows a chain sees, and which columns it sees a second time, each in an order of its own. */
typedef struct {
    ARRAY(int64_t) rows, shadows;
    MATRIX(int64_t) shuffled;           /* (shadows, rows) */
} tvs_draw;

/* Room for copies of columns at these rows, with eight bits a row. */
typedef struct {
    ARRAY(uint64_t) codes;
    ARRAY(int64_t) starts;
    ARRAY(uint8_t) widths, n_cuts, has_missing;
    MATRIX(double) observed;            /* (2, rows) in the order of the bits */
    ARRAY(int32_t) groups;              /* of each row, or empty */
} tvs_sample;

/* Copies the columns of a table at the drawn rows, the groups of these where there are groups, and
 * the shadows behind them. */
TVS_API void tvs_copy_sample(const tvs_design *table, MATRIX(const double) observed,
                             const tvs_draw *draw, const tvs_sample *sample,
                             ARRAY(const int32_t) groups);
/* Makes the chain a forest of stumps with means zero, whatever its arrays held before. `observed`
 * (2, rows) is what is known of the response: its bounds, or its grade or class counted from 1.
 * The rows of a group stand together in `groups`. */
TVS_API void tvs_begin(const tvs_chain *chain, const tvs_design *design, const tvs_prior *prior,
                       MATRIX(const double) observed, ARRAY(const int32_t) groups,
                       double precision);
/* Runs iterations until `stop` of them are done. Comes back earlier, between two iterations, when
 * the arrays of the chain could become too small in the next one. */
TVS_API void tvs_run(const tvs_generator *rng, const tvs_design *design, const tvs_prior *prior,
                     const tvs_chain *chain, const tvs_trace *trace, int64_t stop);

/* How plays are run and scored, see the class BartReward in Python. */
typedef struct {
    int64_t n_candidates, n_seen;       /* columns in the selection, rows that a play sees */
    int64_t n_forests, last_forest;     /* one, or one a class; whether the last decides alone */
    int64_t n_trees, n_iterations;
    int64_t n_burn;                     /* -1 for half of the iterations */
    double proposals_per_column, penalty;
    int64_t shadows;
    double min_splits;
} tvs_rules;

/* The reward on one table. `table.columns` is not used: a play brings its own. */
typedef struct {
    tvs_design table;
    MATRIX(const double) observed;      /* (2, rows) in the order of the bits */
    tvs_prior prior;                    /* pairs are columns of the table here */
    double precision;                   /* 1 / sigma^2 to start from */
    ARRAY(const double) evidence;       /* by column, in nats: taken off its penalty */
    ARRAY(const int32_t) groups;        /* of each row, or empty */
    ARRAY(const int64_t) by_group;      /* the rows in the order of their groups */
    tvs_rules rules;
} tvs_reward;

/* Room for one play after the other, used by one thread. */
typedef struct {
    tvs_chain chain;
    tvs_trace trace;
    tvs_sample sample;
    tvs_draw draw;
    ARRAY(int64_t) order;               /* by row of the table */
    ARRAY(int64_t) columns, places;     /* of the play; 0, 1, 2, ... */
    ARRAY(double) log_weights, scores, rewards;
    ARRAY(tvs_pair) pairs;
    int64_t play;                       /* which is in progress, -1 for none */
    int64_t is_started, n_columns;      /* whether its chain has started; columns that it plays */
} tvs_room;

/* Why a function comes back. */
enum {
    TVS_DONE,
    TVS_NO_ARM_DRAWN,                   /* the next play is better chosen by another rule */
    TVS_LOG_IS_FULL,                    /* there is no room for another play in the log */
    TVS_TABLE_TOO_SMALL,                /* the table of chances lacks what the next play needs */
    TVS_ROOM_TOO_SMALL,                 /* the play in progress needs a larger room */
    TVS_FOREST_TOO_LARGE                /* the chain needs larger arrays to go on */
};

/* What a play of so many columns needs room for: columns with shadows, their copies, iterations. */
TVS_API void tvs_plan(const tvs_reward *reward, int64_t n_columns, int64_t *sizes);
/* Scores room.columns, rewards 0 or 1; after TVS_FOREST_TOO_LARGE it goes on where it was. */
TVS_API int64_t tvs_score(const tvs_generator *rng, const tvs_reward *reward, tvs_room *room);

/* Beta posteriors of arms of one prior and threshold, and how they are chosen. */
typedef struct {
    ARRAY(int32_t) successes, failures;
    ARRAY(float) chance_below;          /* that a draw of the arm stays below the threshold */
    ARRAY(uint8_t) passing;             /* whether the mean is above the threshold */
    MATRIX(const double) table;         /* chance_below by successes and failures, or NaN */
    double prior_a, prior_b, threshold;
} tvs_posteriors;

typedef struct {
    tvs_posteriors posteriors;
    MATRIX(const int32_t) pairs;        /* (pairs, 2): arms that are played together */
    int64_t n_candidates;               /* the first arms; those behind them are decoys */
    ARRAY(const int64_t) starts, columns; /* arm i plays columns from starts[i] to starts[i + 1] */
    ARRAY(const int64_t) always;        /* columns that are part of every play */
} tvs_arms;

/* Plays one after the other: play k is arms[ends[k]] up to arms[ends[k + 1]]. */
typedef struct {
    ARRAY(int32_t) arms;
    ARRAY(uint8_t) rewards;
    ARRAY(int64_t) ends;
    MATRIX(uint64_t) random;            /* (plays, 5): seeds of SFC64 in three words, then state */
    int64_t n_chosen, next, n_learned;  /* plays chosen, taken by those who score, learned from */
    int64_t n_unchanged;                /* plays since the model has changed */
} tvs_log;

/* Chooses plays from the arms as they are, until n are chosen in all. */
TVS_API int64_t tvs_choose(const tvs_arms *arms, tvs_log *log, int64_t n);
/* Scores plays that are chosen until none is left. Several threads may share a log, each with a
 * room of its own. To be called again after the room was made larger. */
TVS_API int64_t tvs_score_chosen(const tvs_reward *reward, const tvs_arms *arms, tvs_log *log,
                                 tvs_room *room);
/* Learns from all plays that were scored, in their order. */
TVS_API int64_t tvs_learn(const tvs_arms *arms, tvs_log *log);
/* Algorithm 1: chooses, scores and learns, one play after the other, until n are learned from. To
 * be called again after what it asks for was done. */
TVS_API int64_t tvs_play(const tvs_reward *reward, const tvs_arms *arms, tvs_log *log,
                         tvs_room *room, int64_t n);
/* Lets the missing partners of pairs join arms in rising order; how many there are then. */
TVS_API int64_t tvs_join_partners(MATRIX(const int32_t) pairs, ARRAY(int32_t) arms, int64_t n_arms);

/* A forest at rest: the nodes of tree t are starts[t] up to starts[t + 1]; a leaf has left < 0. */
typedef struct {
    ARRAY(const int64_t) starts, left, column;
    ARRAY(const uint8_t) cut, missing_left;
    ARRAY(const double) value;
} tvs_forest;

/* Adds the value of a forest at rows (rows, points), by codes (columns, padded rows), with columns
 * from `first` on set to points: below(j, c) are, as bits, the points of a code up to c in column
 * first + j. `nodes` and `points_of` are room for as many numbers as there are nodes. */
TVS_API void tvs_evaluate_at_points(const tvs_forest *forest, MATRIX(const uint8_t) codes,
                                    int64_t first, MATRIX(const int64_t) below,
                                    ARRAY(int64_t) nodes, ARRAY(int64_t) points_of,
                                    MATRIX(double) out);

/* Cut points of columns: halfway between few distinct values, sizes[j] > 0 of them in `halfway`,
 * else n_cuts[j] on a grid: low + step, low + 2 step, ... */
TVS_API void tvs_find_cuts(MATRIX(const double) values, ARRAY(uint8_t) n_cuts, ARRAY(double) low,
                           ARRAY(double) step, ARRAY(int64_t) sizes, MATRIX(double) halfway,
                           ARRAY(int64_t) n_missing, ARRAY(uint8_t) infinite);
/* Codes of columns between their cut points; where there are none the codes stay as they are. */
TVS_API void tvs_encode_columns(MATRIX(const double) values, ARRAY(const uint8_t) n_cuts,
                                ARRAY(const double) low, ARRAY(const double) step,
                                ARRAY(const int64_t) starts, ARRAY(const double) halfway,
                                MATRIX(uint8_t) codes);
/* Codes by row in the order of the bits, or back: every 64 of them are a square, transposed. */
TVS_API void tvs_transpose_codes(ARRAY(const uint8_t) codes, ARRAY(uint8_t) out);
/* Columns on a grid with a third of their values in `width` bins; zeros are not counted. */
TVS_API void tvs_find_crowded(MATRIX(const double) values, MATRIX(const uint8_t) codes,
                              ARRAY(const double) step, int64_t width, ARRAY(uint8_t) crowded);
/* Ranks of columns, of mean 0 and length 1, from their codes or from their order; equal values
 * share the mean of their ranks. */
TVS_API void tvs_rank_codes(MATRIX(const uint8_t) codes, MATRIX(double) ranks);
TVS_API void tvs_rank_columns(MATRIX(const double) values, MATRIX(const int64_t) order,
                              MATRIX(double) ranks);
/* Shares of the seen values below and up to each entry of the columns, read in rising order; unless
 * more than one, and more than a fiftieth, are equal to it: the point in the middle of both. */
TVS_API void tvs_find_cells(ARRAY(const double) seen, ARRAY(const int64_t) starts,
                            MATRIX(const double) values, MATRIX(const int64_t) order,
                            MATRIX(double) low, MATRIX(double) high);
/* The seen value with some share of the others below it, by column of `shares`. */
TVS_API void tvs_look_up(ARRAY(const double) seen, ARRAY(const int64_t) starts,
                         MATRIX(const double) shares, MATRIX(double) found);

/* Correlation of every column's codes with the outcome over the rows where it is present. */
TVS_API void tvs_correlate(MATRIX(const uint8_t) codes, ARRAY(const double) outcome,
                           ARRAY(double) correlations, ARRAY(int64_t) n_present);
/* Counts the values 0, 1, 2 and missing (3) of columns, and adds up outcomes by the last three;
 * sums (columns, 4, outcomes). `others` is room for a row. */
TVS_API void tvs_add_by_value(MATRIX(const uint8_t) values, MATRIX(const double) outcomes,
                              MATRIX(int64_t) counts, MATRIX(double) sums, ARRAY(int64_t) others);
/* Counts what the pairs of bits of each column of a .bed file stand for: copies of the first
 * allele, 3 for missing. */
TVS_API void tvs_count_genotypes(MATRIX(const uint8_t) stored, MATRIX(int64_t) counts);
/* For each column the two after it whose product with it goes furthest with signs of the rows: the
 * sum of the products of all four, and places of both, 0 at first. Bits of rows are one where a
 * column is above its middle; there are a multiple of eight columns. Triples are looked at whose sum
 * over the first 128 rows is `least` standard errors from 0. `room` is for a word each. */
TVS_API void tvs_screen_triples(MATRIX(const uint64_t) halves, ARRAY(const uint64_t) signs,
                                int64_t n_rows, double least, ARRAY(uint64_t) room,
                                ARRAY(int64_t) furthest, MATRIX(int64_t) partners);
/* A weighted LASSO at one penalty: sweeps over some coefficients until none moves. Columns are rows
 * of `x`, weights sum to one, `eta` is the linear predictor; `curvature` and `pull` are room. */
TVS_API void tvs_descend(MATRIX(const double) x, ARRAY(const double) y, ARRAY(const double) weight,
                         int64_t is_binary, double alpha, int64_t max_iter,
                         ARRAY(const int64_t) places, ARRAY(double) coef, ARRAY(double) eta,
                         ARRAY(double) curvature, ARRAY(double) pull);

/* Which slab a function has: those always in, of one column, of several; intercepts have the last. */
enum { TVS_ALWAYS, TVS_ALONE, TVS_TOGETHER, TVS_OF_GROUPS };
/* Sparse regression on functions of columns, see regression.h. Rows are padded to a multiple of
 * eight: functions are 0 there. */
typedef struct {
    MATRIX(const float) functions;      /* (functions, padded rows) */
    ARRAY(const double) log_odds;       /* that a function is in, a priori; infinite: always */
    ARRAY(const uint8_t) kinds;         /* TVS_ALWAYS and so on */
    MATRIX(const int32_t) owners;       /* columns that a function is of, or -1 */
    ARRAY(const double) slab_df, slab_sum; /* inverse gamma of tau^2 by kind; df infinite: fixed */
    double noise_df, noise_sum;         /* inverse gamma of sigma^2 */
    int64_t n_first, rest;              /* functions that may come and go in every sweep; others in one of so many */
    ARRAY(const int64_t) near_starts, near; /* neighbours of a function, each of which has it, too */
    ARRAY(const double) tails, tail_constants; /* degrees of freedom; logs of their densities at 0 */
    ARRAY(const double) rates, rate_constants; /* log of the factor s; log density without any in */
    ARRAY(const int32_t) groups;        /* of each row, or empty; the noise is normal then */
    MATRIX(const float) group_sums;     /* (functions, groups): sums of functions */
    ARRAY(const double) group_sizes;    /* rows of each group */
} tvs_regression;

typedef struct { double precision, tail, rate; } tvs_regression_noise;
typedef struct {
    tvs_regression_noise *real;         /* 1 / sigma^2, places of the degrees of freedom and of s */
    ARRAY(double) coefficients;         /* 0 where a function is out */
    ARRAY(double) slabs;                /* tau^2 by kind */
    ARRAY(float) residual, weights;     /* by padded row; weights are 0 at the padding */
    ARRAY(double) intercepts;           /* by group */
    ARRAY(double) group_sums, shares;   /* by group: residuals, how much of them an intercept takes */
    ARRAY(double) sizes;                /* by function: sum of squares over the rows */
    ARRAY(double) room;                 /* by function */
    ARRAY(int64_t) members;             /* by function: room */
    ARRAY(int64_t) times_in;            /* by function, sweeps after burn-in */
    ARRAY(int64_t) owner_times_in, seen; /* by column: with any function in; room, 0 at first */
    ARRAY(double) scores;               /* by row, sum of weight times residual */
} tvs_regression_state;

/* Makes sweeps of the sampler; those after n_burn are counted. */
TVS_API void tvs_regress(const tvs_generator *rng, const tvs_regression *model,
                         const tvs_regression_state *state, int64_t n_sweeps, int64_t n_burn);

/* The highest instruction set that this processor can run: 2, 3 or 4 of x86-64, or 0. */
TVS_API int64_t tvs_level(void);
/* TVS_VERSION as the library was compiled, and a hash of the sources it was compiled from. */
TVS_API int64_t tvs_version(void);
TVS_API int64_t tvs_source(void);
/* The size of reward, room, arms, log or forest, which hold all other structs; 0 of others. */
TVS_API int64_t tvs_size_of(const char *name);
#undef ARRAY
#undef MATRIX
#ifdef __cplusplus
}
#endif
#endif
