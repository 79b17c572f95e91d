"""What a fit found about every feature, column by column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tvselect.selectors.base import BanditFit
    from tvselect.selectors.history import History


class FeatureFindings(NamedTuple):
    """One entry per feature, the best first."""

    column: NDArray[np.int64]  #: Its place in the table
    name: list[str]
    selected: NDArray[np.bool_]
    q_value: NDArray[np.float64]  #: NaN without decoys
    selection_rate: NDArray[np.float64]
    low: NDArray[np.float64]  #: Of its 95 % interval
    high: NDArray[np.float64]
    times_played: NDArray[np.int32]
    ranking: NDArray[np.int64]
    claim: NDArray[np.int64]  #: Number of its claim, from 1; 0 for none
    e_value: NDArray[np.float64] | None  #: None where there are no e-values
    selected_since: NDArray[np.int64] | None  #: Batch; 0 for those that are not selected


def feature_findings(fit: BanditFit) -> FeatureFindings:
    """What a fit found, by rank, then by q-value and selection rate."""
    history = fitted_history(fit)
    rates, q = fit.selection_rates_, fit.q_values_
    order = np.lexsort([-rates, q, fit.ranking_])
    claim = np.zeros(rates.size, dtype=np.int64)
    for number, found in enumerate(getattr(fit, "claims_", ()), start=1):
        claim[list(found.columns)] = number
    e_values, since = getattr(fit, "e_values_", None), getattr(fit, "selected_since_", None)
    return FeatureFindings(
        column=order,
        name=[str(history.names[j]) for j in order.tolist()],
        selected=fit.support_[order],
        q_value=q[order],
        selection_rate=rates[order],
        low=fit.selection_rate_intervals_[order, 0],
        high=fit.selection_rate_intervals_[order, 1],
        times_played=history.layout.by_feature(history.times_played, history.n_plays)[order],
        ranking=fit.ranking_[order],
        claim=claim[order],
        e_value=None if e_values is None else e_values[order],
        selected_since=None
        if since is None
        else np.where(fit.support_, since, 0)[order].astype(np.int64),
    )


def fitted_history(fit: BanditFit) -> History:
    """The read-out of a fit.

    Raises
    ------
    sklearn.exceptions.NotFittedError
    """
    if not hasattr(fit, "history_"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(fit, "history_")
    return fit.history_


def to_frame(fit: BanditFit) -> Any:
    """The same as a pandas data frame, its index the place in the table."""
    try:
        import pandas as pd
    except ModuleNotFoundError:
        raise ModuleNotFoundError("to_frame needs pandas: pip install pandas") from None
    found = feature_findings(fit)
    columns = {name: values for name, values in found._asdict().items() if values is not None}
    index = pd.Index(columns.pop("column"), name="column")
    frame = pd.DataFrame(columns, index=index)
    for name in {"claim", "selected_since"} & columns.keys():
        frame[name] = frame[name].astype("Int64").mask(frame[name] == 0)
    return frame
