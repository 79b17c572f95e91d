// Plays of Thompson sampling: arms are chosen, scored by a short chain, and learn from it.
#pragma once
#include "gibbs.h"

// How a play of so many columns is run. Shadows, shuffled copies of columns, fill a small play up;
// log_penalty is taken from the log prior of a forest for every column that it uses.
struct Schedule {
    int64_t n_iterations, n_burn, n_shadows, n_in_play;
    int64_t n_copies; // 0 where columns are read from the table
    double log_penalty;

    Schedule(const tvs_reward &reward, int64_t n_columns) {
        const tvs_rules &of = reward.rules;
        n_iterations = of.n_iterations;
        double least = ceil(2.0 * of.proposals_per_column * (double)n_columns / (double)of.n_trees);
        if ((double)n_iterations < least) n_iterations = (int64_t)least;
        n_burn = of.n_burn < 0 ? n_iterations / 2 : of.n_burn;
        n_shadows = of.shadows > n_columns ? of.shadows - n_columns : 0;
        n_in_play = n_columns + n_shadows;
        bool has_copies = n_shadows > 0 || of.n_seen < reward.table.n_rows || of.n_forests > 1 ||
                          reward.groups.size > 0;
        n_copies = has_copies ? n_in_play : 0;
        double rarity = (double)of.n_candidates / (double)n_in_play;
        log_penalty = of.penalty * log(rarity > 1.0 ? rarity : 1.0);
    }
};

// Writes down the known pairs of a play as places among its columns, while there is room.
inline int64_t find_pairs(Array<const int64_t> columns, Array<const tvs_pair> known,
                          Array<tvs_pair> found) {
    int64_t n_found = 0;
    for (int64_t k = 0; k < known.size && n_found < found.size; ++k) {
        tvs_pair pair = known[k], places{-1, -1};
        for (int64_t place = 0; place < columns.size; ++place) {
            if (columns[place] == pair.first) places.first = place;
            else if (columns[place] == pair.second) places.second = place;
        }
        if (places.first >= 0 && places.second >= 0) found[n_found++] = places;
    }
    return n_found;
}

// Generator.choice(n_rows, rows.size, replace=False, shuffle=False), or all rows. NumPy chooses
// most of many rows in another way.
inline void draw_rows(Random &rng, int64_t n_rows, Array<int64_t> rows, Array<int64_t> order) {
    int64_t n_left = n_rows - rows.size;
    if (n_left > 0 && n_rows > 10000 && rows.size > n_rows / 20) {
        for (int64_t i = 0; i < n_rows; ++i) order[i] = i;
        for (int64_t i = n_rows - 1; i >= n_left; --i) {
            swap(order[rng.below(i + 1)], order[i]);
            rows[i - n_left] = order[i];
        }
        return;
    }
    order.fill(0);
    for (int64_t k = 0; k < rows.size; ++k) {
        int64_t row = n_left > 0 ? rng.below(n_left + k + 1) : k;
        if (order[row]) row = n_left + k;
        rows[k] = row;
        order[row] = 1;
    }
}

// Puts drawn rows in the order in which all of them are given.
inline void put_in_order(Array<const int64_t> all, Array<int64_t> rows, Array<int64_t> is_drawn) {
    is_drawn.fill(0);
    for (int64_t row : rows) is_drawn[row] = 1;
    int64_t n_found = 0;
    for (int64_t row : all)
        if (is_drawn[row]) rows[n_found++] = row;
}

// Draws the shadows and the rows of a play; every forest of several classes sees the same rows, and
// those of a group stand together.
inline void draw_sample(Random &rng, const tvs_draw &draw, Array<const int64_t> columns,
                        Array<int64_t> order, Array<const int64_t> by_group, int64_t n_rows,
                        int64_t n_seen) {
    for (int64_t &shadow : draw.shadows) shadow = columns[rng.below(columns.size)];
    draw_rows(rng, n_rows, draw.rows.first(n_seen), order);
    if (by_group.size > 0) put_in_order(by_group, draw.rows.first(n_seen), order);
    for (int64_t i = n_seen; i < draw.rows.size; ++i) draw.rows[i] = draw.rows[i - n_seen];
    for (int64_t k = 0; k < draw.shadows.size; ++k) {
        Array<int64_t> shuffled = draw.shuffled[k];
        for (int64_t i = 0; i < n_seen; ++i) shuffled[i] = draw.rows[i];
        rng.shuffle(shuffled.first(n_seen));
        for (int64_t i = n_seen; i < draw.rows.size; ++i) shuffled[i] = shuffled[i - n_seen];
    }
}

// Quantile of some values, as NumPy interpolates it; sorts them.
inline double quantile_of(Array<double> values, double share) {
    sort_in_place(values);
    double place = share * (double)(values.size - 1);
    int64_t low = (int64_t)place, high = low + 1 < values.size ? low + 1 : low;
    double weight = place - (double)low, step = values[high] - values[low];
    return weight < 0.5 ? values[low] + step * weight : values[high] - step * (1.0 - weight);
}

// Rewards columns of enough splits per forest, more than nine in ten shadows have.
inline void score_average(const Tally &tally, int64_t burn, double min_splits, Array<double> scores,
                          Array<double> rewards) {
    int64_t n_done = tally.whole->n_done, n_draws = n_done - burn > 1 ? n_done - burn : 1;
    for (int64_t k = 0; k < scores.size; ++k) {
        close_span(tally, k, n_done, burn);
        scores[k] = (double)tally.columns[k].total / (double)n_draws;
    }
    Array<double> of_shadows = scores.from(rewards.size);
    double bar = of_shadows.size > 0 ? quantile_of(of_shadows, 0.9) : -1.0;
    for (int64_t k = 0; k < rewards.size; ++k)
        rewards[k] = scores[k] >= min_splits && scores[k] > bar;
}

// A play on the columns in room.columns, in a room that is large enough for it.
struct Play {
    const tvs_reward &reward;
    const tvs_room &room;
    Schedule plan;
    Design of_play; // the columns in the table
    Design design;  // what the chain sees: these columns, or their copies and the shadows
    tvs_draw draw;
    Prior prior;

    Play(const tvs_reward &reward, const tvs_room &room)
        : reward(reward), room(room), plan(reward, room.n_columns), of_play(reward.table),
          draw(room.draw), prior(reward.prior) {
        of_play.columns = room.columns.first(room.n_columns);
        design = of_play;
        if (plan.n_copies > 0) {
            draw.rows = room.draw.rows.first(reward.rules.n_forests * reward.rules.n_seen);
            draw.shadows = room.draw.shadows.first(plan.n_shadows);
            auto &[codes, starts, widths, n_cuts, has_missing, observed, groups] = room.sample;
            Array<const int64_t> places = room.places.first(plan.n_in_play);
            design = {codes, starts, widths, n_cuts, has_missing, places, draw.rows.size};
        }
        prior.burn = plan.n_burn;
        if (prior.sparse_from < plan.n_burn / 2) prior.sparse_from = plan.n_burn / 2;
        prior.column_log_weights = room.log_weights;
        prior.pairs = room.pairs.first(find_pairs(of_play.columns, prior.pairs, room.pairs));
        if (prior.pairs.size == 0) prior.pair_share = 0.0;
    }

    // The log weight of a column in the prior is its penalty, less the evidence for it.
    void start(Random &rng) const {
        for (int64_t k = 0; k < plan.n_in_play; ++k) {
            double evidence = k < room.n_columns ? reward.evidence[of_play.columns[k]] : 0.0;
            double weight = evidence - plan.log_penalty;
            room.log_weights[k] = weight < 0.0 ? weight : 0.0;
        }
        Matrix<const double> observed = reward.observed;
        if (plan.n_copies > 0) {
            int64_t n_seen = reward.rules.n_seen;
            draw_sample(rng, draw, of_play.columns, room.order, reward.by_group, of_play.n_rows,
                        n_seen);
            tvs_copy_sample(&of_play, observed, &draw, &room.sample, reward.groups);
            observed = room.sample.observed;
        }
        tvs_begin(&room.chain, &design, &prior, observed, room.sample.groups, reward.precision);
    }

    // Runs the chain to its end and scores it; false when it needs room to go on.
    bool finish(Random &rng) const {
        run(rng, design, prior, room.chain, room.trace, plan.n_iterations);
        const Tally &tally = room.chain.tally;
        Array<double> rewards = room.rewards.first(room.n_columns);
        if (tally.whole->n_done < plan.n_iterations) return false;
        if (reward.rules.last_forest)
            for (int64_t k = 0; k < rewards.size; ++k) rewards[k] = tally.columns[k].count > 0;
        else
            score_average(tally, plan.n_burn, reward.rules.min_splits,
                          room.scores.first(plan.n_in_play), rewards);
        return true;
    }
};

// Scores the columns in room.columns; goes on with a play that has started.
inline int64_t score(Random &rng, const tvs_reward &reward, tvs_room &room) {
    Schedule plan(reward, room.n_columns);
    if (plan.n_in_play > room.scores.size || plan.n_copies > room.sample.starts.size ||
        plan.n_iterations > room.trace.theta.size)
        return TVS_ROOM_TOO_SMALL;
    Play play(reward, room);
    if (!room.is_started) play.start(rng);
    room.is_started = !play.finish(rng);
    return room.is_started ? TVS_FOREST_TOO_LARGE : TVS_DONE;
}

// Places of the floats that reach their bounds. The state is kept apart in the loop: stored at
// every step, it would take four times as long.
inline int64_t floats_reaching(Random &rng, Array<const float> bounds, int32_t *found) {
    Random local = rng;
    int64_t n_found = 0;
    for (int64_t i = 0; i < bounds.size; ++i) {
        found[n_found] = (int32_t)i;
        n_found += local.uniform_float() >= bounds[i];
    }
    rng = local;
    return n_found;
}

// Writes down the columns of some arms, as far as there is room; how many there are.
inline int64_t list_columns(const tvs_arms &source, Array<const int32_t> arms,
                            Array<int64_t> found) {
    int64_t n_found = 0;
    auto take = [&](Array<const int64_t> columns) {
        for (int64_t column : columns)
            if (n_found++ < found.size) found[n_found - 1] = column;
    };
    for (int32_t arm : arms)
        take(source.columns.between(source.starts[arm], source.starts[arm + 1]));
    take(source.always);
    return n_found;
}

// An arm gets what its best column gets.
inline void reward_arms(const tvs_arms &source, Array<const int32_t> arms,
                        Array<const double> of_columns, Array<uint8_t> rewards) {
    int64_t place = 0;
    for (int64_t k = 0; k < arms.size; ++k) {
        rewards[k] = false;
        for (int64_t n = source.starts[arms[k] + 1] - source.starts[arms[k]]; n > 0; --n)
            rewards[k] |= of_columns[place++] > 0.0;
    }
}

void tvs_plan(const tvs_reward *reward, int64_t n_columns, int64_t *sizes) {
    Schedule plan(*reward, n_columns);
    sizes[0] = plan.n_in_play;
    sizes[1] = plan.n_copies;
    sizes[2] = plan.n_iterations;
}

int64_t tvs_score(const tvs_generator *rng, const tvs_reward *reward, tvs_room *room) {
    Random random = Random::of(rng);
    return score(random, *reward, *room);
}

int64_t tvs_join_partners(Matrix<const int32_t> pairs, Array<int32_t> arms, int64_t n_arms) {
    for (int64_t k = 0; k < pairs.n_rows; ++k) {
        bool has_first = false, has_second = false;
        for (int32_t arm : arms.first(n_arms)) {
            has_first |= arm == pairs(k, 0);
            has_second |= arm == pairs(k, 1);
        }
        if (has_first == has_second) continue;
        int32_t partner = has_first ? pairs(k, 1) : pairs(k, 0);
        int64_t place = n_arms++;
        for (; place > 0 && arms[place - 1] > partner; --place) arms[place] = arms[place - 1];
        arms[place] = partner;
    }
    return n_arms;
}

// Arms whose draw reaches their threshold, and partners of pairs. An empty choice is drawn again.
int64_t tvs_choose(const tvs_arms *arms, tvs_log *log, int64_t n) {
    Array<const float> bounds = arms->posteriors.chance_below;
    for (int64_t play = log->n_chosen; play < n; ++play) {
        Array<int32_t> found = log->arms.from(log->ends[play]);
        if (found.size < bounds.size) return TVS_LOG_IS_FULL;
        Random rng = Random::seeded(log->random[play].data);
        int64_t n_found = 0;
        for (int tries = 0; tries < 100 && n_found == 0; ++tries)
            n_found = floats_reaching(rng, bounds, found.data);
        if (n_found == 0) return TVS_NO_ARM_DRAWN;
        log->ends[play + 1] = log->ends[play] + tvs_join_partners(arms->pairs, found, n_found);
        rng.store(log->random[play].data);
        log->n_chosen = play + 1;
    }
    return TVS_DONE;
}

int64_t tvs_score_chosen(const tvs_reward *reward, const tvs_arms *arms, tvs_log *log,
                         tvs_room *room) {
    while (true) {
        if (room->play < 0) room->play = __atomic_fetch_add(&log->next, 1, __ATOMIC_RELAXED);
        if (room->play >= log->n_chosen) break;
        int64_t first = log->ends[room->play], last = log->ends[room->play + 1];
        Array<int32_t> of_play = log->arms.between(first, last);
        if (!room->is_started) room->n_columns = list_columns(*arms, of_play, room->columns);
        uint64_t *state = log->random[room->play].data;
        Random rng = Random::stored(state);
        int64_t status = score(rng, *reward, *room);
        rng.store(state);
        if (status != TVS_DONE) return status;
        reward_arms(*arms, of_play, room->rewards, log->rewards.between(first, last));
        room->play = -1;
    }
    __atomic_fetch_sub(&log->next, 1, __ATOMIC_RELAXED); // there was none to take
    room->play = -1;
    return TVS_DONE;
}

int64_t tvs_learn(const tvs_arms *arms, tvs_log *log) {
    const tvs_posteriors &of = arms->posteriors;
    for (; log->n_learned < log->n_chosen; log->n_learned += 1) {
        int64_t first = log->ends[log->n_learned], last = log->ends[log->n_learned + 1];
        for (int64_t k = first; k < last; ++k) {
            int32_t i = log->arms[k];
            int64_t s = of.successes[i] + log->rewards[k], f = of.failures[i] + !log->rewards[k];
            if (s >= of.table.n_rows || f >= of.table.n_columns || of.table(s, f) != of.table(s, f))
                return TVS_TABLE_TOO_SMALL;
        }
        int64_t n_changed = 0;
        for (int64_t k = first; k < last; ++k) {
            int32_t i = log->arms[k];
            of.successes[i] += log->rewards[k];
            of.failures[i] += !log->rewards[k];
            of.chance_below[i] = (float)of.table(of.successes[i], of.failures[i]);
            double a = of.prior_a + of.successes[i], b = of.prior_b + of.failures[i];
            bool is_passing = a / (a + b) > of.threshold;
            n_changed += is_passing != (of.passing[i] != 0) && i < arms->n_candidates;
            of.passing[i] = is_passing;
        }
        log->n_unchanged = n_changed > 0 ? 0 : log->n_unchanged + 1;
    }
    return TVS_DONE;
}

int64_t tvs_play(const tvs_reward *reward, const tvs_arms *arms, tvs_log *log, tvs_room *room,
                 int64_t n) {
    int64_t status = TVS_DONE;
    while (status == TVS_DONE && log->n_learned < n) {
        if (log->n_chosen == log->n_learned) status = tvs_choose(arms, log, log->n_chosen + 1);
        if (status == TVS_DONE) status = tvs_score_chosen(reward, arms, log, room);
        if (status == TVS_DONE) status = tvs_learn(arms, log);
    }
    return status;
}
