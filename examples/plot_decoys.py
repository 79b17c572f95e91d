"""A stream of 30 variables and their knockoffs, five of which matter. Decoys are drawn in red.

    python examples/plot_decoys.py [folder]

Needs matplotlib: pip install 'tvselect[plot]'
"""

import sys
import tempfile
from pathlib import Path

import matplotlib

from tvselect import StreamingThompsonSelector
from tvselect.plotting import InclusionPathDisplay, InclusionProbabilityDisplay
from tvselect.simulation import simulate


def main(folder: Path) -> None:
    matplotlib.use("Agg")  # files only: no screen is needed
    data = simulate("friedman", n_rows=20_000, n_columns=30, random_state=1)
    selector = StreamingThompsonSelector(batch_size=200, decoys="knockoffs", random_state=1)
    selector.fit(data.X, data.y)
    print(f"Selected: {', '.join(selector.get_feature_names_out())}. The signals are x0 to x4.")
    print(f"Decoys above the threshold: {selector.n_decoys_selected_} of 30.")

    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in {
        "decoy_paths": InclusionPathDisplay.from_estimator(selector).figure_,
        "decoy_probabilities": InclusionProbabilityDisplay.from_estimator(selector).figure_,
    }.items():
        figure.savefig(folder / f"{name}.png", dpi=200)
        print(f"Written: {folder / name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="tvselect-")))
