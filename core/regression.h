// Sparse regression on given functions of columns, with spike and slab, by Gibbs sampling.
//
// The response is the sum over functions of b_j f_j, the intercept c_g of the row's group, and
// noise of variance sigma^2 / w_i. A priori b_j is 0, or from N(0, tau^2), with one tau^2 for each
// kind of functions; the odds of functions of one column are given but for a factor s, which is on
// a grid. The weight w_i is 1, or from Gamma(d / 2, d / 2), which makes the noise a t distribution
// with d degrees of freedom, d on a grid; in groups it is 1, and intercepts, from N(0, omega^2),
// are integrated out of the draws of functions. All variances are inverse gamma.
#pragma once
#include "latents.h" // for INFINITE

typedef tvs_regression Regression;
typedef tvs_regression_state State;

// Sums over the rows of w f r and of w f^2; those of w f^2 are stored where all weights are 1.
struct Moments {
    double dot, size;
};
inline Moments moments(const Regression &model, const State &state, int64_t j) {
    const float *f = &model.functions(j, 0), *residual = state.residual.data;
    const float *weights = state.weights.data;
    Floats dots[2] = {}, sizes[2] = {};
    bool is_weighted = model.tails[(int64_t)state.real->tail] != INFINITE;
    for (int64_t i = 0; i < model.functions.n_columns; i += 16)
        for (int64_t k = 0; k < 2; ++k) {
            Floats value = load<Floats>(f + i + 8 * k);
            if (is_weighted) {
                Floats weighted = value * load<Floats>(weights + i + 8 * k);
                sizes[k] += weighted * value;
                value = weighted;
            }
            dots[k] += value * load<Floats>(residual + i + 8 * k);
        }
    double dot = total(dots[0] + dots[1]);
    double size = is_weighted ? total(sizes[0] + sizes[1]) : state.sizes[j];
    for (int64_t g = 0; g < state.intercepts.size; ++g) { // what intercepts can explain
        double share = state.shares[g] * model.group_sums(j, g);
        dot -= share * state.group_sums[g];
        size -= share * model.group_sums(j, g);
    }
    return {dot, size};
}

inline void change(const Regression &model, const State &state, int64_t j, double value) {
    float more = (float)(value - state.coefficients[j]);
    state.coefficients[j] = value;
    if (more == 0.0F) return;
    for (int64_t i = 0; i < model.functions.n_columns; i += 8) {
        Floats moved =
            load<Floats>(&state.residual[i]) - more * load<Floats>(&model.functions(j, i));
        store(&state.residual[i], moved);
    }
    for (int64_t g = 0; g < state.intercepts.size; ++g)
        state.group_sums[g] -= more * model.group_sums(j, g);
}

// The law of a coefficient given all others: the log odds that it is not 0, and then a normal law.
struct Law {
    double log_odds, mean, precision;
    double draw(Random &rng) const { return mean + rng.normal() / sqrt(precision); }
};
inline Law law_of(const Regression &model, const State &state, int64_t j) {
    auto [dot, size] = moments(model, state, j);
    dot += state.coefficients[j] * size;
    double slab = 1.0 / state.slabs[model.kinds[j]], noise = state.real->precision;
    double precision = noise * size + slab, mean = noise * dot / precision;
    double rate = model.kinds[j] == TVS_ALONE ? model.rates[(int64_t)state.real->rate] : 0.0;
    return {model.log_odds[j] + rate + 0.5 * (log(slab / precision) + precision * mean * mean),
            mean, precision};
}

// Draws a coefficient given all others; where it is not its turn to come in or go, its size alone.
inline void draw_coefficient(Random &rng, const Regression &model, const State &state, int64_t j,
                             bool is_turn) {
    if (!is_turn && state.coefficients[j] == 0.0) return;
    Law law = law_of(model, state, j);
    bool is_in = !is_turn || rng.uniform() < 1.0 / (1.0 + exp(-law.log_odds));
    change(model, state, j, is_in ? law.draw(rng) : 0.0);
}

// The functions that are in and may go, listed; how many they are.
inline int64_t list_members(const Regression &model, const State &state) {
    int64_t n = 0;
    for (int64_t j = 0; j < model.kinds.size; ++j)
        if (state.coefficients[j] != 0.0 && model.log_odds[j] != INFINITE) state.members[n++] = j;
    return n;
}

// Lets members change places with neighbours that are out, by Metropolis steps with the
// coefficients integrated out.
inline void swap_neighbours(Random &rng, const Regression &model, const State &state) {
    int64_t n_in = list_members(model, state);
    auto n_near = [&](int64_t j) { return model.near_starts[j + 1] - model.near_starts[j]; };
    for (int64_t step = 0; step < n_in; ++step) {
        int64_t place = rng.below(n_in), one = state.members[place];
        if (n_near(one) == 0) continue;
        int64_t other = model.near[model.near_starts[one] + rng.below(n_near(one))];
        if (state.coefficients[other] != 0.0) continue;
        change(model, state, one, 0.0);
        Law old = law_of(model, state, one), law = law_of(model, state, other);
        double log_ratio =
            law.log_odds - old.log_odds + log((double)n_near(one) / (double)n_near(other));
        if (log(rng.uniform()) < log_ratio) state.members[place] = other;
        else law = old;
        change(model, state, state.members[place], law.draw(rng));
    }
}

// Takes one function out and draws anew which one, of those that are out, is in instead: given all
// else the draw is exact.
inline void draw_place_of_one(Random &rng, const Regression &model, const State &state) {
    int64_t n_in = list_members(model, state);
    if (n_in == 0) return;
    int64_t chosen = state.members[rng.below(n_in)];
    change(model, state, chosen, 0.0);
    double highest = -INFINITE, sum = 0.0;
    for (int64_t j = 0; j < model.kinds.size; ++j) {
        state.room[j] = state.coefficients[j] != 0.0 ? -INFINITE : law_of(model, state, j).log_odds;
        if (state.room[j] > highest) highest = state.room[j];
    }
    for (double &entry : state.room) sum += entry = exp(entry - highest);
    double level = rng.uniform() * sum;
    for (int64_t j = 0; j < model.kinds.size && level >= 0.0; ++j) {
        if (state.room[j] == 0.0) continue;
        chosen = j;
        level -= state.room[j];
    }
    change(model, state, chosen, law_of(model, state, chosen).draw(rng));
}

inline double draw_variance(Random &rng, double df, double sum) { return sum / rng.chi_square(df); }

// The variance of each kind's coefficients, those of intercepts of groups last.
inline void draw_slabs(Random &rng, const Regression &model, const State &state) {
    for (int64_t kind = 0; kind < model.slab_df.size; ++kind) {
        if (model.slab_df[kind] == INFINITE) continue;
        double df = model.slab_df[kind], sum = model.slab_sum[kind];
        for (int64_t j = 0; j < model.kinds.size; ++j) {
            if (model.kinds[j] != kind || state.coefficients[j] == 0.0) continue;
            df += 1.0;
            sum += state.coefficients[j] * state.coefficients[j];
        }
        if (kind == model.slab_df.size - 1)
            for (double intercept : state.intercepts) {
                df += 1.0;
                sum += intercept * intercept;
            }
        state.slabs[kind] = draw_variance(rng, df, sum);
    }
}

// Sums of the residuals of each group, and how much of them its intercept takes.
inline void meet_groups(const Regression &model, const State &state) {
    state.group_sums.fill(0.0);
    for (int64_t i = 0; i < model.groups.size; ++i)
        state.group_sums[model.groups[i]] += state.residual[i];
    double ratio = 1.0 / (state.slabs[model.slab_df.size - 1] * state.real->precision);
    for (int64_t g = 0; g < state.intercepts.size; ++g)
        state.shares[g] = 1.0 / (model.group_sizes[g] + ratio);
}

inline void draw_intercepts(Random &rng, const State &state) {
    for (int64_t g = 0; g < state.intercepts.size; ++g)
        state.intercepts[g] = state.shares[g] * state.group_sums[g] +
                              sqrt(state.shares[g] / state.real->precision) * rng.normal();
}

// Takes intercepts out of the residuals, or puts them back.
inline void add_intercepts(const Regression &model, const State &state, float sign) {
    for (int64_t i = 0; i < model.groups.size; ++i)
        state.residual[i] += sign * (float)state.intercepts[model.groups[i]];
}

// The factor of the odds of functions of one column.
inline void draw_rate(Random &rng, const Regression &model, const State &state) {
    double n_in = 0.0;
    for (int64_t j = 0; j < model.kinds.size; ++j)
        n_in += state.coefficients[j] != 0.0 && model.kinds[j] == TVS_ALONE;
    auto log_density = [&](int64_t k) { return n_in * model.rates[k] + model.rate_constants[k]; };
    int64_t place = (int64_t)state.real->rate;
    state.real->rate = (double)draw_place(rng, place, model.rates.size, log_density);
}

// The degrees of freedom of the noise, with the weights integrated out, then the weights.
inline void draw_weights(Random &rng, const Regression &model, const State &state) {
    int64_t n = state.scores.size;
    if (model.tails.size < 2) return;
    double noise = state.real->precision;
    auto log_density = [&](int64_t place) {
        double df = model.tails[place], sum = 0.0;
        for (int64_t i = 0; i < n; ++i) {
            double square = noise * state.residual[i] * state.residual[i];
            sum -= df == INFINITE ? 0.5 * square : 0.5 * (df + 1.0) * log1p(square / df);
        }
        return sum + (double)n * model.tail_constants[place];
    };
    int64_t place = draw_place(rng, (int64_t)state.real->tail, model.tails.size, log_density);
    double df = model.tails[place];
    state.real->tail = (double)place;
    for (int64_t i = 0; i < n; ++i) {
        double square = noise * state.residual[i] * state.residual[i];
        state.weights[i] =
            df == INFINITE ? 1.0F : (float)(rng.chi_square(df + 1.0) / (df + square));
    }
}

inline void draw_noise(Random &rng, const Regression &model, const State &state) {
    double sum = model.noise_sum;
    for (int64_t i = 0; i < state.scores.size; ++i)
        sum += (double)state.weights[i] * state.residual[i] * state.residual[i];
    state.real->precision =
        1.0 / draw_variance(rng, model.noise_df + (double)state.scores.size, sum);
}

// Counts the columns that a function is in of which is in, and adds up the scores of the rows.
inline void add_up(const Regression &model, const State &state, int64_t sweep) {
    for (int64_t j = 0; j < model.kinds.size; ++j) {
        if (state.coefficients[j] == 0.0) continue;
        state.times_in[j] += 1;
        for (int64_t k = 0; k < model.owners.n_columns; ++k) {
            int64_t owner = model.owners(j, k);
            if (owner < 0 || state.seen[owner] == sweep) continue;
            state.seen[owner] = sweep;
            state.owner_times_in[owner] += 1;
        }
    }
    for (int64_t i = 0; i < state.scores.size; ++i)
        state.scores[i] += (double)state.weights[i] * state.residual[i];
}

void tvs_regress(const tvs_generator *other, const Regression *model, const State *state,
                 int64_t n_sweeps, int64_t n_burn) {
    Random rng = Random::of(other);
    for (int64_t sweep = 0; sweep < n_sweeps; ++sweep) {
        meet_groups(*model, *state);
        for (int64_t j = 0; j < model->kinds.size; ++j) {
            bool is_turn = j < model->n_first || j % model->rest == sweep % model->rest;
            draw_coefficient(rng, *model, *state, j, is_turn);
        }
        swap_neighbours(rng, *model, *state);
        if (sweep % model->rest == 0) draw_place_of_one(rng, *model, *state);
        draw_rate(rng, *model, *state);
        draw_intercepts(rng, *state);
        draw_slabs(rng, *model, *state);
        add_intercepts(*model, *state, -1.0F);
        draw_weights(rng, *model, *state);
        draw_noise(rng, *model, *state);
        if (sweep >= n_burn) add_up(*model, *state, sweep + 1);
        add_intercepts(*model, *state, 1.0F);
    }
}
