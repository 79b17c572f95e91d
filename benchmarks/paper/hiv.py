"""HIV-1 resistance to LPV: rates over the plays, and positions found by each method."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.hiv import count, draw_bars, draw_paths, methods
from benchmarks.paper.edition import Edition, save
from tvstudy.datasets import fetch_hiv

DRUG = "LPV"
DRAWN = ("TVS", "TVS paper, M=1,000")


def section(edition: Edition) -> list[str]:
    title = f"## HIV-1 drug resistance: {DRUG}"
    if edition.hiv is None:
        return [title, "", "Not made: `make paper HIV=folder` says where the data are."]
    from matplotlib import pyplot as plt

    hiv = fetch_hiv("PI", data_home=edition.hiv)
    problem, known = hiv.problem(DRUG), set(hiv.treatment_selected)
    figure, panels = plt.subplots(1, 3, figsize=(14, 4), layout="constrained")
    found: dict[str, tuple[int, int]] = {}
    seconds: dict[str, float] = {}
    for name, method in methods().items():
        started = time.process_time()
        method.fit(problem.X, problem.y)
        seconds[name] = time.process_time() - started
        found[name] = count(problem.names, np.flatnonzero(method.get_support()), known)
        if name in DRAWN:
            ax = panels[DRAWN.index(name)]
            draw_paths(method, problem.names, known, ax)
            ax.set_title(name)
    draw_bars(found, panels[-1])
    panels[-1].set_title("positions found")
    panels[-1].legend()
    return [
        title,
        "",
        "The paper: TVS has one position that is not treatment-selected and good power, LASSO has "
        "more, many of them not on the list. Rates over the plays (blue: treatment-selected "
        "positions; red: selected, but not on the list), and positions found. All seven drugs: "
        "[HIV-1](results/hiv.md).",
        "",
        "| method | positions | treatment-selected | seconds |",
        "|---|---|---|---|",
        *(
            f"| {name} | {n} | {n_known} | {seconds[name]:.1f} |"
            for name, (n, n_known) in found.items()
        ),
        "",
        save(figure, "hiv"),
    ]
