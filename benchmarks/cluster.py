"""A Dask cluster of worker processes on this machine: throughput, and what a remote play costs.

``make bench-cluster`` prints the tables and records them. One worker and two take turns on the
same job with the same window, so that both make the same plays. The cost of a remote play is
measured with workers that do nothing, and from it and the times of real plays follows, on paper,
what 10, 100 and 1,000 workers would do.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle
import distributed
import numpy as np

from benchmarks.records import heading, record
from benchmarks.stream import N_COLUMNS, make_files
from tvselect import Search, StreamingThompsonSelector, ThompsonSelector
from tvselect.bandit.arms import Arms
from tvselect.bandit.chain import PLAYS_PER_PENDING, PendingPlay, Play, ThompsonChain
from tvselect.bandit.oracle import Oracle
from tvselect.selectors.search import PLAYS_PER_WORKER
from tvselect.workers import open_runner
from tvstudy.simulation import simulate

WINDOW = 2 * PLAYS_PER_WORKER
LEAD = ("friedman", 300, 10_000)
SIZES_ON_PAPER = (2, 10, 100, 1_000)
PLAYS_ON_PAPER = (500, 5_000, 50_000)


@contextmanager
def workers(n: int) -> Iterator[distributed.Client]:
    """A client of so many worker processes of one thread each."""
    with (
        distributed.LocalCluster(
            n_workers=n, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(n)
        yield client


def offline(client: distributed.Client, n_chains: int, n_plays: int) -> Any:
    d = simulate(*LEAD, random_state=1)
    selector = ThompsonSelector(
        n_plays=n_plays,
        search=Search(n_chains=n_chains, window=WINDOW, runner=client),
        random_state=0,
    )
    return selector.fit(d.X, d.y)


def stream(client: distributed.Client, files: list[str]) -> Any:
    selector = StreamingThompsonSelector(
        search=Search(window=WINDOW, runner=client), random_state=0
    )
    columns = [f"x{j}" for j in range(N_COLUMNS)]
    return selector.fit_source(files, target="y", columns=columns)


class Compared(NamedTuple):
    """A row of the table, what was fitted, and the fewest seconds with one worker and with two."""

    row: str
    fitted: Any
    one: float
    two: float


def compare(name: str, job: Any, repeats: int, warm_up: Any) -> Compared:
    """One worker and two, in turns."""
    seconds: dict[int, list[float]] = {1: [], 2: []}
    models = []
    for _ in range(repeats):
        for n in seconds:
            with workers(n) as client:
                warm_up(client)
                started = time.perf_counter()
                fitted = job(client)
                seconds[n].append(time.perf_counter() - started)
                models.append(tuple(np.flatnonzero(fitted.get_support())))
    ratios = [one / two for one, two in zip(seconds[1], seconds[2], strict=True)]
    one, two = min(seconds[1]), min(seconds[2])
    n_plays = int(fitted.n_plays_) * fitted.result_.n_chains
    same = "yes" if len(set(models)) == 1 else "NO"
    row = (
        f"| {name} | {n_plays:,} | {one:.1f} | {two:.1f} | {one / two:.2f} | "
        f"{min(ratios):.2f} to {max(ratios):.2f} | {same} |"
    )
    print(row, flush=True)
    return Compared(row, fitted, one, two)


def loopback_bytes() -> int:
    lines = Path("/proc/net/dev").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.strip().startswith("lo:"))


def nothing(pending: PendingPlay) -> Play:
    """What a worker sends back, without any work."""
    rewards = np.zeros(pending.arms.size, dtype=np.bool_)
    return Play(pending.number, pending.arms, rewards, 0.0, pending.chain)


def remote_play(n_arms: int, n_rounds: int = 200) -> dict[str, float]:
    """Bytes and seconds of a remote play of so many arms, and of choosing and learning here."""
    arms = Arms(10_000)
    chain = ThompsonChain(arms, Oracle(n_wanted=n_arms), entropy=1, window=WINDOW)
    chain.n_plays = 1_000
    pending = chain.ask()
    one = cloudpickle.dumps(pending[0])
    back = cloudpickle.dumps(nothing(pending[0]))
    with workers(2) as client, open_runner(client).bind(nothing) as run:
        run(pending)
        before, started = loopback_bytes(), time.process_time()
        for _ in range(n_rounds):
            run(pending)
        busy = (time.process_time() - started) / n_rounds
        wire = (loopback_bytes() - before) / (n_rounds * len(pending))
        started = time.perf_counter()
        for _ in range(n_rounds):
            run(pending[:1])
        alone = (time.perf_counter() - started) / n_rounds
    driver = min(choose_and_learn(chain) for _ in range(20))
    return {
        "arms": float(np.mean([play.arms.size for play in pending])),
        "payload": len(one) + len(back),
        "wire": wire,
        "alone": alone,
        "share": busy / 2,
        "driver": driver,
    }


def choose_and_learn(chain: ThompsonChain) -> float:
    """Seconds per play of what the driver does itself."""
    started = time.perf_counter()
    pending = chain.ask()
    for play in pending:
        chain.tell(nothing(play))
    return (time.perf_counter() - started) / len(pending)


def on_paper(
    play_seconds: Sequence[float], cost: Mapping[str, float], n_workers: int, n_plays: int
) -> float:
    """Seconds of a run: windows as they grow, the slowest share of each, and the driver.

    The driver hands out the shares one after the other and chooses and learns; a window is over
    when its slowest share is there and back. No workers: play by play in this process.
    """
    rng = np.random.default_rng(0)
    times = np.asarray(play_seconds)
    done, seconds = 0, 0.0
    widest = PLAYS_PER_WORKER * n_workers
    while done < n_plays:
        size = min(max(1, min(widest, done // PLAYS_PER_PENDING)), n_plays - done)
        near = times[min(done, len(times) - 1) :][:50]
        near = near if done < len(times) else times[len(times) // 2 :]
        drawn = rng.choice(near, size)
        shares = np.array_split(drawn, min(max(1, n_workers), size))
        seconds += max(share.sum() for share in shares) + cost["driver"] * size
        if n_workers:
            seconds += cost["alone"] + cost["share"] * len(shares)
        done += size
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000, help="of the stream")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    lines = [
        *heading("A Dask cluster on one machine", "make bench-cluster"),
        f"Worker processes of one thread each, {options.repeats} runs with one and with two of "
        f"them in turns, window {WINDOW} for both. Seconds and ratio of the fastest; then the "
        "smallest and largest ratio of neighbours. Offline: the lead example (Friedman's function, "
        "n=300, p=10,000, default reward of 1,000 iterations). Stream: one pass over Parquet files "
        f"of {options.rows:,} rows x {N_COLUMNS} columns, which every worker opens itself.",
        "",
        "| job | plays | one worker, s | two workers, s | ratio | between | same model |",
        "|---|---|---|---|---|---|---|",
    ]

    def small(client: distributed.Client) -> None:
        offline(client, 1, 30)

    for name, n_chains, n_plays in (
        ("offline, one chain", 1, 500),
        ("offline, two chains", 2, 500),
        ("offline, one chain", 1, 2_000),
    ):
        compared = compare(
            name,
            lambda client, k=n_chains, n=n_plays: offline(client, k, n),
            options.repeats,
            small,
        )
        lines.append(compared.row)
    play_seconds = [play.seconds for play in compared.fitted.result_.journal.plays(0)]
    with tempfile.TemporaryDirectory() as folder:
        make_files(Path(folder), options.rows)
        files = sorted(map(str, Path(folder).glob("*.parquet")))
        lines.append(compare("stream", lambda client: stream(client, files), 1, small).row)

    lines += [
        "",
        "## What a remote play costs",
        "",
        f"Two workers that do nothing, windows of {WINDOW} plays. Payload: the pickled turn and "
        "its answer. Wire: all bytes that the loopback device counted, from the driver over the "
        "scheduler to a worker and back. Alone: a window of one play, there and back. Per share: "
        "processor time of the driver, and of the scheduler that lives in its process, for the "
        "plays of one worker in a window. Driver: choosing and learning, 10,000 arms.",
        "",
        "| arms of the play | payload, bytes | wire, bytes | alone, ms | per share, ms "
        "| driver per play, ms |",
        "|---|---|---|---|---|---|",
    ]
    costs = [remote_play(n) for n in (30, 1_000, 5_000)]
    lines += [
        f"| {c['arms']:,.0f} | {c['payload']:,.0f} | {c['wire']:,.0f} | {1e3 * c['alone']:.1f} | "
        f"{1e3 * c['share']:.1f} | {1e3 * c['driver']:.2f} |"
        for c in costs
    ]
    cost = costs[0]
    typical = float(np.median(play_seconds))
    lines += [
        "",
        "## On paper: more workers",
        "",
        "Plays per second, from the measured times of the plays of the lead example "
        f"(median {1e3 * typical:.1f} ms) and of plays a hundred times as long, the windows as "
        "they grow (never more than a tenth of the plays done), the slowest share of every "
        "window, and the costs of a play of 30 arms. In brackets: times the rate of one process "
        "without a cluster.",
        "",
        "| a play | plays | no cluster | "
        + " | ".join(f"{n:,} workers" for n in SIZES_ON_PAPER)
        + " |",
        "|---|---|---|" + "---|" * len(SIZES_ON_PAPER),
    ]
    for factor in (1, 100):
        times = [factor * s for s in play_seconds]
        for n_plays in PLAYS_ON_PAPER:
            rates = [n_plays / on_paper(times, cost, n, n_plays) for n in (0, *SIZES_ON_PAPER)]
            cells = " | ".join(f"{rate:,.1f} ({rate / rates[0]:.1f})" for rate in rates)
            lines.append(f"| {1e3 * factor * typical:,.0f} ms | {n_plays:,} | {cells} |")
    per_share = cost["share"] + PLAYS_PER_WORKER * cost["driver"]
    busy = [PLAYS_PER_WORKER * factor * typical / per_share for factor in (1, 100)]
    lines += [
        "",
        f"A share is {PLAYS_PER_WORKER} plays: the driver is busy all the time, and more workers "
        f"bring nothing, from about {busy[0]:,.0f} workers with plays of {1e3 * typical:,.0f} ms "
        f"and from about {busy[1]:,.0f} with plays of {1e5 * typical:,.0f} ms. Before that it is "
        f"the tenth: until {PLAYS_PER_WORKER * PLAYS_PER_PENDING} plays per worker are done, not "
        "all workers have something to do.",
    ]
    record("cluster.md", lines)


if __name__ == "__main__":
    main()
