"""The lead example offline: rates over the plays for M = 100, 500 and 1,000."""

from __future__ import annotations

from benchmarks.paper import paths
from benchmarks.paper.edition import Edition, save
from tvselect import BartReward, ThompsonSelector
from tvstudy.simulation import simulate

ITERATIONS = (100, 500, 1_000)
N_PLAYS = 500


def by_the_paper(m: int, seed: int) -> ThompsonSelector:
    """Ten trees, rewarded by the last forest, the cut at a half."""
    return ThompsonSelector(BartReward.paper(m), n_plays=N_PLAYS, max_fdr=None, random_state=seed)


def by_default(m: int, seed: int) -> ThompsonSelector:
    """As it comes, with other iterations."""
    selector = ThompsonSelector(n_plays=N_PLAYS, random_state=seed)
    return selector.set_params(reward__n_iterations=m)


RULES = {"the paper's rule": by_the_paper, "today's default": by_default}


def section(edition: Edition) -> list[str]:
    from matplotlib import pyplot as plt

    n_sets = edition.n_sets(20, 2)
    figure, panels = plt.subplots(
        len(RULES), len(ITERATIONS), figsize=(12, 6), layout="constrained", sharex=True, sharey=True
    )
    lines = [
        "## The lead example offline: trajectories for M = 100, 500, 1,000",
        "",
        "Friedman's function, n=300, p=10,000, independent columns, 500 plays. The paper: with "
        "M=100 the five signals cross 0.5 by about play 300, no noise does, under 40 s; with "
        "M=1,000 after about 200 plays, under two minutes. The paper's rule: ten trees, a column "
        "is rewarded when the last forest splits on it, the model is what is above 0.5. Today's "
        "default: its own reward with M iterations, and a model with an expected share of false "
        "ones of at most 0.1; after 150 plays the leading columns start again. Grey: the 200 noise "
        f"columns that were played most. {n_sets} data set(s) a row; the figure shows the first.",
        "",
        *paths.HEADER,
    ]
    for row, (rule, selector_of) in zip(panels, RULES.items(), strict=True):
        for ax, m in zip(row, ITERATIONS, strict=True):
            pieces = [
                edition.piece(
                    f"offline_{selector_of.__name__}_{m}_{seed}",
                    lambda make=selector_of, m=m, seed=seed: paths.followed(
                        make(m, seed), simulate("friedman", 300, 10_000, random_state=seed)
                    ),
                )
                for seed in range(n_sets)
            ]
            paths.draw(ax, pieces[0], f"{rule}, M={m:,} ({pieces[0]['seconds']:.1f} s)")
            lines.append(paths.line(f"{rule}, M={m:,}", pieces))
    for ax in panels[:, 0]:
        ax.set_ylabel("selection rate")
    for ax in panels[-1]:
        ax.set_xlabel("play")
    return [*lines, "", save(figure, "offline_paths")]
