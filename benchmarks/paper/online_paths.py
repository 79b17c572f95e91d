"""The lead example on a stream: rates for batches of 100 to 1,000 rows, one pass and five."""

from __future__ import annotations

from benchmarks.paper import paths
from benchmarks.paper.edition import Edition, save
from benchmarks.paper.online_table import RULES, selector_of
from tvstudy.simulation import simulate

SIZES, PASSES, M = (100, 200, 500, 1_000), (1, 5), 1_000


def section(edition: Edition) -> list[str]:
    from matplotlib import pyplot as plt

    n_sets = edition.n_sets(10, 1)
    passes = edition.either(PASSES, (1,))
    shape = (len(passes) * len(RULES), len(SIZES))
    figure, panels = plt.subplots(
        *shape, figsize=(13, 2.4 * shape[0]), layout="constrained", sharey=True
    )
    lines = [
        "## The lead example on a stream: trajectories for s = 100 to 1,000",
        "",
        f"Liang's set-up, n=20,000, p=1,000, one play a batch of s rows, M={M:,}. The paper: small "
        "batches lose signals, more passes help. The paper's rule: ten trees of DART and the cut "
        "at 0.5; the default reward: today's, with the same M and cut (with error control: "
        f"[errors of streams](results/streams_errors.md)). {n_sets} data set(s) a row; the figure "
        "shows the first.",
        "",
        *paths.HEADER,
    ]
    rows = [(rule, n) for rule in RULES for n in passes]
    for row, (rule, n_rounds) in zip(panels, rows, strict=True):
        for ax, size in zip(row, SIZES, strict=True):
            pieces = [
                edition.piece(
                    f"online_{rule.split()[0]}_{size}_{n_rounds}_{seed}",
                    lambda rule=rule, s=size, r=n_rounds, seed=seed: paths.followed(
                        selector_of(rule, M, r, s, seed),
                        simulate("liang", 20_000, 1_000, random_state=seed),
                    ),
                )
                for seed in range(n_sets)
            ]
            title = f"{rule}, s={size:,}, {n_rounds} pass{'es' * (n_rounds > 1)}"
            paths.draw(ax, pieces[0], title)
            lines.append(paths.line(title, pieces))
    for ax in panels[:, 0]:
        ax.set_ylabel("selection rate")
    for ax in panels[-1]:
        ax.set_xlabel("play")
    return [*lines, "", save(figure, "online_paths")]
