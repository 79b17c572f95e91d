"""``make paper``: compute what is missing, write docs/paper.md."""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from tqdm import tqdm

from benchmarks.judging import warm_up
from benchmarks.paper import (
    hiv,
    importances,
    mail,
    offline_paths,
    online_paths,
    online_table,
    studies,
    subsets,
)
from benchmarks.paper.edition import Edition
from benchmarks.records import ROOT, heading
from tvselect import StreamingThompsonSelector
from tvselect.records import write_text

SECTIONS = {
    "importances": importances.section,
    "offline paths": offline_paths.section,
    "subsets": subsets.section,
    "online paths": online_paths.section,
    "online table": online_table.section,
    "offline study": studies.offline,
    "online study": studies.online,
    "hiv": hiv.section,
    "mail": mail.section,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="finished pieces")
    parser.add_argument("--quick", action="store_true", help="minutes instead of hours")
    parser.add_argument("-n", type=int, help="data sets at most")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--hiv", help="folder of the HIV-1 data")
    parser.add_argument("--mail", help="file of the mail experiment")
    options = parser.parse_args()
    matplotlib.use("Agg")
    edition = Edition(
        options.folder, options.quick, options.jobs, options.n, options.hiv, options.mail
    )
    command = "make paper"
    command += " QUICK=1" if options.quick else f" N={options.n}" if options.n else ""
    lines = [
        *heading("The paper, figure by figure", command),
        "Every figure and table of Liu and Rockova, *Variable Selection via Thompson Sampling*, "
        "in its order, made by its rule and by today's default. Seconds of CPU.",
    ]
    if options.quick:
        lines += ["", "This is the quick edition: fewer data sets, iterations and methods."]
    warm_up()
    X = np.random.default_rng(0).random((100, 5))
    StreamingThompsonSelector(batch_size=50, max_fdr=None, random_state=0).fit(X, X[:, 0])
    for make in (progress := tqdm(SECTIONS.items())):
        progress.set_description(make[0])
        lines += ["", *make[1](edition)]
    write_text(ROOT / "docs" / "paper.md", "\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
