"""Which of 10,000 columns matter? 300 rows, Friedman's function: five of them do.

y = 10 sin(pi x0 x1) + 20 (x2 - 0.5)^2 + 10 x3 + 5 x4 + noise
"""

import time

import numpy as np
from sklearn.datasets import make_friedman1

from tvselect import ThompsonSelector

N_ROWS, N_COLUMNS, N_PLAYS = 300, 10_000, 300


def main() -> None:
    X, y = make_friedman1(N_ROWS, N_COLUMNS, noise=1.0, random_state=2021)
    print(f"{N_ROWS} rows x {N_COLUMNS:,} columns; the signals are x0, x1, x2, x3 and x4.")
    started = time.perf_counter()
    selector = ThompsonSelector(n_plays=N_PLAYS, random_state=0, verbose=1).fit(X, y)
    seconds = time.perf_counter() - started

    rates, intervals = selector.selection_rates_, selector.selection_rate_intervals_
    played = [play.arms.size for play in selector.result_.plays]
    print(f"\n{N_PLAYS} plays in {seconds:.1f} s.")
    print(f"Columns played at once: {played[0]:,} at first, {played[-1]} in the end.\n")
    print("variable    selection rate    95 % interval")
    for j in np.argsort(-rates, kind="stable")[:8]:
        bar = "#" * round(20 * rates[j])
        mark = "selected" if selector.support_[j] else ""
        low, high = intervals[j]
        print(f"x{j:<8} {rates[j]:.2f} {bar:<20}  {low:.2f} to {high:.2f}  {mark}")


if __name__ == "__main__":
    main()
