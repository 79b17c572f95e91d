"""HIV-1 drug resistance: which mutations matter, and how many are known to be treatment-selected.

``make study-hiv HIV=folder`` prints the tables and records them with two figures. Positions are
compared with the treatment-selected ones of Rhee et al. (2005), a proxy of the truth that was made
from other data. Without a folder the files are downloaded.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import matplotlib
import numpy as np
from tqdm import tqdm

from benchmarks.records import ROOT, heading, record
from tvselect import BartReward, ThompsonSelector
from tvstudy.baselines import BartBaseline, KnockoffFilter, LassoBaseline, SpikeSlabLasso
from tvstudy.datasets import fetch_hiv, validated

DRAWN = ("LPV", "SQV")
FEWEST = "spike-and-slab LASSO"
LEVELS = (0.02, 0.05, 0.1, 0.2)
AT_LEVEL = {level: f"TVS, q <= {level}" for level in LEVELS}
AT_FEWEST = "TVS, its best, as many columns"


def methods() -> dict[str, Any]:
    return {
        "TVS": ThompsonSelector(n_plays=500, random_state=0),
        "TVS paper, M=1,000": ThompsonSelector(
            BartReward.paper(1000), n_plays=500, max_fdr=None, random_state=0
        ),
        "DART, 50 trees": BartBaseline.dart(random_state=0),
        "knockoffs fixed-X, q=0.2": KnockoffFilter("fixed", q=0.2, random_state=0),
        "knockoffs fixed-X, q=0.1": KnockoffFilter("fixed", q=0.1, random_state=0),
        "LASSO, CV": LassoBaseline("min", random_state=0),
        "LASSO, 1 s.e.": LassoBaseline("1se", random_state=0),
        "spike-and-slab LASSO": SpikeSlabLasso(random_state=0),
    }


def count(names: tuple[str, ...], columns: Any, known: set[int]) -> tuple[int, int]:
    """Positions of some columns, and how many of these are known."""
    result = validated([names[j] for j in columns], known)
    return len(result.found), len(result.validated)


def row(name: str, by_drug: dict[str, tuple[int, int]]) -> str:
    cells = " | ".join(f"{n} / {good}" for n, good in by_drug.values())
    shares = [good / n for n, good in by_drug.values() if n]
    share = f"{np.mean(shares):.2f}" if shares else "-"
    mean = np.mean([n for n, _ in by_drug.values()])
    return f"| {name} | {cells} | {mean:.1f} | {share} |"


def draw_paths(
    selector: ThompsonSelector, names: tuple[str, ...], known: set[int], ax: Any
) -> None:
    """Selection rates over the plays, treatment-selected positions in blue."""
    paths = selector.result_.trajectories(range(len(names)))
    for j, name in enumerate(names):
        good = int(name[1:].split(".")[0]) in known
        chosen = bool(selector.support_[j])
        colour = "tab:blue" if good else "tab:red"
        ax.plot(
            paths[:, j], color=colour if chosen or good else "0.8",
            alpha=1.0 if chosen else 0.25, linewidth=1.2 if chosen else 0.5,
        )  # fmt: skip
    ax.axhline(0.5, color="0.3", linestyle=":")
    ax.set(xlabel="play", ylabel="selection rate")


def draw_bars(found: dict[str, tuple[int, int]], ax: Any) -> None:
    """Positions that methods find, treatment-selected ones in blue."""
    good = [n_known for _, n_known in found.values()]
    other = [n - n_known for n, n_known in found.values()]
    ax.barh(list(found), good, color="tab:blue", label="treatment-selected")
    ax.barh(list(found), other, left=good, color="tab:red", label="not on the list")
    ax.set_xlabel("positions")
    ax.invert_yaxis()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", help="where the files are, or are downloaded to")
    hiv = fetch_hiv("PI", data_home=parser.parse_args().folder)
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    ThompsonSelector(n_plays=2, random_state=0).fit(np.eye(40), np.arange(40.0))  # loads
    known = set(hiv.treatment_selected)
    found: dict[str, dict[str, tuple[int, int]]] = {name: {} for name in methods()}
    cut: dict[str, dict[str, tuple[int, int]]] = {
        name: {} for name in (*AT_LEVEL.values(), AT_FEWEST)
    }
    expected: dict[str, float] = {}
    seconds: dict[str, list[float]] = {name: [] for name in methods()}
    figure, panels = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
    for drug in tqdm(hiv.drugs, unit=" drugs"):
        problem = hiv.problem(drug)
        fitted = methods()
        for name, method in fitted.items():
            started = time.perf_counter()
            method.fit(problem.X, problem.y)
            seconds[name].append(time.perf_counter() - started)
            chosen = np.flatnonzero(method.get_support())
            found[name][drug] = count(problem.names, chosen, known)
            if name == FEWEST:
                rates = fitted["TVS"].selection_rates_
                best = np.argsort(-rates, kind="stable")[: chosen.size]
                q = fitted["TVS"].q_values_
                for level, at_level in AT_LEVEL.items():
                    cut[at_level][drug] = count(problem.names, np.flatnonzero(q <= level), known)
                expected[drug] = fitted["TVS"].expected_false_
                cut[AT_FEWEST][drug] = count(problem.names, best, known)
            if drug in DRAWN and name == "TVS":
                draw_paths(method, problem.names, known, panels[0, DRAWN.index(drug)])
                panels[0, DRAWN.index(drug)].set_title(f"{drug}: Thompson Variable Selection")
    for place, drug in enumerate(DRAWN):
        draw_bars({name: by_drug[drug] for name, by_drug in found.items()}, panels[1, place])
        panels[1, place].set_title(f"{drug}: positions found")
    figure.legend(*panels[1, 1].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    (ROOT / "docs" / "images").mkdir(parents=True, exist_ok=True)
    figure.savefig(ROOT / "docs" / "images" / "hiv.png", dpi=100)

    lines = [
        *heading("HIV-1 drug resistance: seven protease inhibitors", "make study-hiv HIV=..."),
        "Positions found, and of these treatment-selected ones (validated). Share: validated of "
        "found, mean over the drugs in which the method finds something.",
        "",
        "| method | " + " | ".join(hiv.drugs) + " | mean found | share validated | seconds |",
        "|---|" + "---|" * (len(hiv.drugs) + 3),
    ]
    lines += [f"{row(name, found[name])} {np.mean(seconds[name]):.1f} |" for name in found]
    lines += [
        "",
        "The same run of TVS, cut at other q-values, and at as many columns (not positions) as "
        f"the {FEWEST} finds, by the order of selection rate. Expected number of false columns "
        "among those selected at 0.1: "
        f"{', '.join(f'{drug} {n:.1f}' for drug, n in expected.items())}.",
        "",
        "| cut | " + " | ".join(hiv.drugs) + " | mean found | share validated |",
        "|---|" + "---|" * (len(hiv.drugs) + 2),
        *(row(name, cut[name]) for name in cut),
    ]
    lines += ["", "![Trajectories and positions found for LPV and SQV](../images/hiv.png)"]
    record("hiv.md", lines)


if __name__ == "__main__":
    main()
