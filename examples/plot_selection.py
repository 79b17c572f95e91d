"""Select from 500 variables, five of which matter, and draw what was found.

    python examples/plot_selection.py [folder]

Needs matplotlib: pip install 'tvselect[plot]'
"""

import sys
import tempfile
from pathlib import Path

import matplotlib

from tvselect import ThompsonSelector
from tvselect.plotting import InclusionPathDisplay, InclusionProbabilityDisplay
from tvselect.simulation import simulate


def main(folder: Path) -> None:
    matplotlib.use("Agg")  # files only: no screen is needed
    data = simulate("friedman", n_rows=200, n_columns=500, random_state=1)
    selector = ThompsonSelector(n_plays=100, random_state=1, verbose=1).fit(data.X, data.y)
    print(f"Selected: {', '.join(selector.get_feature_names_out())}. The signals are x0 to x4.")

    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in {
        "paths": InclusionPathDisplay.from_estimator(selector).figure_,
        "probabilities": InclusionProbabilityDisplay.from_estimator(selector).figure_,
    }.items():
        figure.savefig(folder / f"{name}.png", dpi=200)
        print(f"Written: {folder / name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="tvselect-")))
