"""Draw the pictures of these pages anew: ``python docs/pictures.py`` runs examples, writes images/.

The mail and HIV pictures need outside data; ``make study-hiv`` and ``examples/direct_mail.py``
draw those.
"""

import runpy
import sys
from pathlib import Path

import matplotlib

DOCS = Path(__file__).parent
PICTURES = {
    "plot_selection": ("paths", "rates"),
    "plot_plays": ("plays",),
    "plot_wide": ("wide",),
    "plot_lookalikes": ("lookalikes",),
    "plot_chains": ("chains",),
    "plot_decoys": ("decoys", None),
    "plot_drift": ("drift",),
    "plot_rewards": ("rewards",),
    "plot_regret": ("regret",),
}


def draw(example: str, names: tuple[str | None, ...]) -> None:
    """Run an example and keep its figures in place of showing them."""
    from matplotlib import pyplot as plt

    left = list(names)

    def keep() -> None:
        name = left.pop(0)
        if name is not None:
            plt.savefig(DOCS / "images" / f"{name}.png", dpi=120)
            print(f"Written: images/{name}.png")
        plt.close("all")

    plt.show = keep
    runpy.run_path(str(DOCS.parent / "examples" / f"{example}.py"), run_name="__main__")


if __name__ == "__main__":
    matplotlib.use("Agg")
    for example, names in PICTURES.items():
        if len(sys.argv) == 1 or example in sys.argv[1:]:
            draw(example, names)
