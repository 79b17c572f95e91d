// Plays of Thompson sampling: arms are chosen, their columns scored by a short chain, and the arms
// learn from it.
#pragma once

#include "gibbs.h"

namespace tvselect {
namespace {

constexpr double SHADOWS_BEATEN = 0.9;
constexpr int MOST_REDRAWS = 100;
constexpr int64_t MANY_ROWS = 10000; // from which on NumPy chooses rows in another way

// How a play of so many columns is run. Shadows, shuffled copies of columns, fill a small play up;
// log_penalty is taken from the log prior of a forest for every column that it uses.
struct Schedule {
    int64_t n_iterations, n_burn, n_shadows, n_in_play;
    int64_t n_copies; // 0 where columns are read from the table
    double log_penalty;
};

inline Schedule schedule(const tvs_reward &reward, int64_t n_columns) {
    const tvs_rules &rules = reward.rules;
    Schedule play{};
    play.n_iterations = rules.n_iterations;
    double proposed =
        ceil(2.0 * rules.proposals_per_column * (double)n_columns / (double)rules.n_trees);
    if ((double)play.n_iterations < proposed) play.n_iterations = (int64_t)proposed;
    play.n_burn = rules.n_burn < 0 ? play.n_iterations / 2 : rules.n_burn;
    play.n_shadows = rules.shadows > n_columns ? rules.shadows - n_columns : 0;
    play.n_in_play = n_columns + play.n_shadows;
    bool has_copies =
        play.n_shadows > 0 || rules.n_seen < reward.table.n_rows || rules.n_forests > 1;
    play.n_copies = has_copies ? play.n_in_play : 0;
    double rarity = (double)rules.n_candidates / (double)play.n_in_play;
    play.log_penalty = rules.penalty * log(rarity > 1.0 ? rarity : 1.0);
    return play;
}

// Writes down the known pairs of a play as places among its columns, while there is room.
inline int64_t find_pairs(Array<const int64_t> columns, Array<const tvs_pair> known,
                          Array<tvs_pair> found) {
    int64_t n_found = 0;
    for (const tvs_pair &pair : known) {
        if (n_found == found.size) break;
        tvs_pair places{-1, -1};
        for (int64_t place = 0; place < columns.size; ++place) {
            if (columns[place] == pair.first)
                places.first = place;
            else if (columns[place] == pair.second)
                places.second = place;
        }
        if (places.first >= 0 && places.second >= 0) found[n_found++] = places;
    }
    return n_found;
}

// Generator.choice(n_rows, rows.size, replace=False, shuffle=False), or all rows.
inline void draw_rows(Random &rng, int64_t n_rows, Array<int64_t> rows, Array<int64_t> order) {
    int64_t n_left = n_rows - rows.size;
    if (n_left > 0 && n_rows > MANY_ROWS && rows.size > n_rows / 20) {
        for (int64_t i = 0; i < n_rows; ++i) order[i] = i;
        for (int64_t i = n_rows - 1; i >= n_left; --i) {
            int64_t j = rng.below(i + 1);
            int64_t row = order[j];
            order[j] = order[i];
            order[i] = row;
            rows[i - n_left] = row;
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

// Draws the shadows and the rows of a play; every forest of several classes sees the same rows.
inline void draw_sample(Random &rng, const tvs_draw &draw, Array<const int64_t> columns,
                        Array<int64_t> order, int64_t n_rows, int64_t n_seen) {
    for (int64_t &shadow : draw.shadows) shadow = columns[rng.below(columns.size)];
    draw_rows(rng, n_rows, draw.rows.first(n_seen), order);
    for (int64_t k = 0; k < draw.shadows.size; ++k) {
        for (int64_t i = 0; i < n_seen; ++i) draw.shuffled(k, i) = draw.rows[i];
        rng.shuffle(draw.shuffled[k].first(n_seen));
    }
    for (int64_t i = n_seen; i < draw.rows.size; ++i) {
        draw.rows[i] = draw.rows[i - n_seen];
        for (int64_t k = 0; k < draw.shadows.size; ++k)
            draw.shuffled(k, i) = draw.shuffled(k, i - n_seen);
    }
}

// Quantile of some values, as NumPy interpolates it; sorts them.
inline double quantile_of(Array<double> values, double share) {
    sort_in_place(values);
    double place = share * (double)(values.size - 1);
    int64_t low = (int64_t)place;
    double weight = place - (double)low;
    if (low + 1 >= values.size) return values[low];
    double step = values[low + 1] - values[low];
    if (weight >= 0.5) return values[low + 1] - step * (1.0 - weight);
    return values[low] + step * weight;
}

// Rewards columns of enough splits per forest, more than nine in ten shadows have.
inline void score_average(const Tally &tally, int64_t burn, double min_splits, Array<double> scores,
                          Array<double> rewards) {
    for (int64_t k = 0; k < scores.size; ++k) scores[k] = mean_splits(tally, k, burn);
    for (int64_t k = 0; k < rewards.size; ++k) rewards[k] = scores[k] >= min_splits;
    if (scores.size == rewards.size) return;
    double bar = quantile_of(scores.from(rewards.size), SHADOWS_BEATEN);
    for (int64_t k = 0; k < rewards.size; ++k)
        if (!(scores[k] > bar)) rewards[k] = 0.0;
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
    Array<double> rewards;

    Play(const tvs_reward &reward, const tvs_room &room)
        : reward(reward), room(room), plan(schedule(reward, room.n_columns)), of_play(reward.table),
          draw(room.draw), prior(reward.prior), rewards(room.rewards.first(room.n_columns)) {
        of_play.columns = room.columns.first(room.n_columns);
        design = of_play;
        int64_t n_drawn = plan.n_copies > 0 ? reward.rules.n_forests * reward.rules.n_seen : 0;
        draw.rows = room.draw.rows.first(n_drawn);
        draw.shadows = room.draw.shadows.first(plan.n_shadows);
        if (plan.n_copies > 0) {
            const tvs_sample &sample = room.sample;
            design = {sample.codes,  sample.starts,      sample.widths,
                      sample.n_cuts, sample.has_missing, room.places.first(plan.n_in_play),
                      n_drawn};
        }
        prior.burn = plan.n_burn;
        if (prior.sparse_from < plan.n_burn / 2) prior.sparse_from = plan.n_burn / 2;
        prior.column_log_weights = room.log_weights;
        int64_t n_pairs = find_pairs(of_play.columns, reward.prior.pairs, room.pairs);
        prior.pairs = room.pairs.first(n_pairs);
        if (n_pairs == 0) prior.pair_share = 0.0;
    }

    // The log weight of a column in the prior is its penalty, less the evidence for it.
    void weigh_columns() const {
        for (int64_t k = 0; k < plan.n_in_play; ++k) {
            double weight = -plan.log_penalty;
            if (k < room.n_columns) weight = reward.evidence[of_play.columns[k]] - plan.log_penalty;
            room.log_weights[k] = weight < 0.0 ? weight : 0.0;
        }
    }

    void start(Random &rng) const {
        weigh_columns();
        Matrix<const double> observed = reward.observed;
        if (plan.n_copies > 0) {
            const tvs_rules &rules = reward.rules;
            draw_sample(rng, draw, of_play.columns, room.order, of_play.n_rows, rules.n_seen);
            copy_sample(of_play, observed, draw, room.sample);
            const Matrix<double> &sampled = room.sample.observed;
            observed = {sampled.data, sampled.n_rows, sampled.n_columns};
        }
        begin(room.chain, design, prior, room.mask, observed, reward.precision);
    }

    // Runs the chain to its end and scores it; false when it needs room to go on.
    bool finish(Random &rng) const {
        run(rng, design, prior, room.chain, room.trace, plan.n_iterations);
        const Tally &tally = room.chain.tally;
        if (tally.whole->n_done < plan.n_iterations) return false;
        if (reward.rules.last_forest)
            for (int64_t k = 0; k < rewards.size; ++k) rewards[k] = tally.columns[k].count > 0;
        else
            score_average(tally, plan.n_burn, reward.rules.min_splits,
                          room.scores.first(plan.n_in_play), rewards);
        return true;
    }
};

// Whether there is room for a play of room.n_columns columns.
inline bool has_room(const tvs_reward &reward, const tvs_room &room) {
    Schedule plan = schedule(reward, room.n_columns);
    return plan.n_in_play <= room.scores.size && plan.n_copies <= room.sample.starts.size &&
           plan.n_iterations <= room.trace.theta.size;
}

// Scores the columns in room.columns; goes on with a play that has started.
inline int64_t score(Random &rng, const tvs_reward &reward, tvs_room &room) {
    if (!room.is_started && !has_room(reward, room)) return TVS_ROOM_TOO_SMALL;
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

// Lets the missing partners of pairs join arms in rising order; how many there are then.
inline int64_t join_partners(Matrix<const int32_t> pairs, Array<int32_t> arms, int64_t n_arms) {
    for (int64_t k = 0; k < pairs.n_rows; ++k) {
        int32_t first = pairs(k, 0), second = pairs(k, 1);
        bool has_first = false, has_second = false;
        for (int64_t place = 0; place < n_arms; ++place) {
            has_first |= arms[place] == first;
            has_second |= arms[place] == second;
        }
        if (has_first == has_second) continue;
        int32_t partner = has_first ? second : first;
        int64_t place = n_arms++;
        for (; place > 0 && arms[place - 1] > partner; --place) arms[place] = arms[place - 1];
        arms[place] = partner;
    }
    return n_arms;
}

// Chooses the next play: the arms whose draw reaches their threshold, and the partners of pairs.
// An empty choice is drawn again.
inline int64_t choose(const tvs_arms &arms, tvs_log &log) {
    Array<const float> bounds = arms.posteriors.chance_below;
    int64_t play = log.n_chosen;
    Array<int32_t> found = log.arms.from(log.ends[play]);
    if (found.size < bounds.size) return TVS_LOG_IS_FULL;
    Random rng = Random::seeded(log.random[play].data);
    int64_t n_found = 0;
    for (int tries = 0; tries < MOST_REDRAWS && n_found == 0; ++tries)
        n_found = floats_reaching(rng, bounds, found.data);
    if (n_found == 0) return TVS_NO_ARM_DRAWN;
    n_found = join_partners(arms.pairs, found, n_found);
    log.ends[play + 1] = log.ends[play] + n_found;
    rng.store(log.random[play].data);
    log.n_chosen += 1;
    return TVS_DONE;
}

inline void take(Array<int64_t> found, int64_t &n_found, int64_t column) {
    if (n_found < found.size) found[n_found] = column;
    n_found += 1;
}

// Writes down the columns of some arms, as far as there is room; how many there are.
inline int64_t list_columns(const tvs_arms &source, Array<const int32_t> arms,
                            Array<int64_t> found) {
    int64_t n_found = 0;
    for (int32_t arm : arms)
        for (int64_t k = source.starts[arm]; k < source.starts[arm + 1]; ++k)
            take(found, n_found, source.columns[k]);
    for (int64_t column : source.always) take(found, n_found, column);
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

// Takes the next play that is chosen and that no other thread has taken; whether there is one.
inline bool take_play(tvs_log &log, tvs_room &room) {
    room.play = __atomic_fetch_add(&log.next, 1, __ATOMIC_RELAXED);
    if (room.play < log.n_chosen) return true;
    __atomic_fetch_sub(&log.next, 1, __ATOMIC_RELAXED);
    room.play = -1;
    return false;
}

// Scores plays that are chosen until none is left.
inline int64_t score_chosen(const tvs_reward &reward, const tvs_arms &arms, tvs_log &log,
                            tvs_room &room) {
    while (room.play >= 0 || take_play(log, room)) {
        int64_t first = log.ends[room.play], last = log.ends[room.play + 1];
        Array<int32_t> of_play = log.arms.between(first, last);
        if (!room.is_started) room.n_columns = list_columns(arms, of_play, room.columns);
        uint64_t *state = log.random[room.play].data;
        Random rng = Random::stored(state);
        int64_t status = score(rng, reward, room);
        rng.store(state);
        if (status != TVS_DONE) return status;
        reward_arms(arms, of_play, room.rewards, log.rewards.between(first, last));
        room.play = -1;
    }
    return TVS_DONE;
}

// Counts the rewards of a play and brings its arms up to date, from the table of chances; how many
// of the candidates have passed their threshold, up or down, or -1 when the table does not hold all
// that is needed: then nothing is done.
inline int64_t count_rewards(Array<const int32_t> arms, Array<const uint8_t> rewards,
                             const tvs_posteriors &of, int64_t n_candidates) {
    for (int64_t k = 0; k < arms.size; ++k) {
        int64_t s = of.successes[arms[k]] + rewards[k], f = of.failures[arms[k]] + !rewards[k];
        if (s >= of.table.n_rows || f >= of.table.n_columns || of.table(s, f) != of.table(s, f))
            return -1;
    }
    int64_t n_changed = 0;
    for (int64_t k = 0; k < arms.size; ++k) {
        int32_t i = arms[k];
        of.successes[i] += rewards[k];
        of.failures[i] += !rewards[k];
        of.chance_below[i] = (float)of.table(of.successes[i], of.failures[i]);
        double a = of.prior_a + of.successes[i], b = of.prior_b + of.failures[i];
        bool is_passing = a / (a + b) > of.threshold;
        n_changed += is_passing != (of.passing[i] != 0) && i < n_candidates;
        of.passing[i] = is_passing;
    }
    return n_changed;
}

// Learns from all plays that were scored, in their order.
inline int64_t learn(const tvs_arms &arms, tvs_log &log) {
    while (log.n_learned < log.n_chosen) {
        int64_t first = log.ends[log.n_learned], last = log.ends[log.n_learned + 1];
        int64_t n_changed =
            count_rewards(log.arms.between(first, last), log.rewards.between(first, last),
                          arms.posteriors, arms.n_candidates);
        if (n_changed < 0) return TVS_TABLE_TOO_SMALL;
        log.n_unchanged = n_changed > 0 ? 0 : log.n_unchanged + 1;
        log.n_learned += 1;
    }
    return TVS_DONE;
}

// Algorithm 1, as far as it needs nobody else: chooses, scores and learns until n plays are made.
inline int64_t play(const tvs_reward &reward, const tvs_arms &arms, tvs_log &log, tvs_room &room,
                    int64_t n) {
    int64_t status = TVS_DONE;
    while (status == TVS_DONE && log.n_learned < n) {
        if (log.n_chosen == log.n_learned) status = choose(arms, log);
        if (status == TVS_DONE) status = score_chosen(reward, arms, log, room);
        if (status == TVS_DONE) status = learn(arms, log);
    }
    return status;
}

} // namespace
} // namespace tvselect
