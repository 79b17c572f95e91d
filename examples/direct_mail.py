"""Who gives after a letter? A stream of 50,083 households, with knockoffs as decoys.

    python examples/direct_mail.py charity_mail.csv.gz [folder for the picture]

The data: Karlan and List (2007), "Does price matter in charitable giving?", replication files.
Needs pandas and matplotlib: pip install pandas 'tvselect[plot]'
"""

import sys
import tempfile
from pathlib import Path

import matplotlib
import numpy as np

from tvselect import StreamingThompsonSelector
from tvselect.datasets import load_direct_mail
from tvselect.plotting import InclusionPathDisplay


def main(path: str, folder: Path) -> None:
    matplotlib.use("Agg")  # files only: no screen is needed
    mail = load_direct_mail(path)
    selector = StreamingThompsonSelector(
        batch_size=2000, n_rounds=5, decoys="knockoffs", random_state=0, verbose=1
    )
    selector.fit(mail.data, mail.target)
    print(f"{selector.n_plays_} batches; {selector.stop_reason_}.")
    for j in np.flatnonzero(selector.support_):
        low, high = selector.inclusion_intervals_[j]
        name, pi = mail.feature_names[j], selector.inclusion_probabilities_[j]
        print(f"  {name:<24} {pi:.2f}  ({low:.2f} to {high:.2f})")
    n_decoys = selector.decoy_probabilities_.size
    print(f"Decoys let through: {selector.n_decoys_selected_} of {n_decoys}.")
    folder.mkdir(parents=True, exist_ok=True)
    InclusionPathDisplay.from_estimator(selector).figure_.savefig(folder / "mail.png", dpi=100)
    print(f"Written: {folder / 'mail.png'}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp()))
