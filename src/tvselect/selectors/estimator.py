"""Thompson Variable Selection for wide tables, as a scikit-learn selector."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from tvselect.inputs import Numbered, Table
from tvselect.inputs.columns import SparseColumns, is_sparse
from tvselect.inputs.doubts import DoubtWarning, find_doubts
from tvselect.inputs.table import Features, as_given, is_frame, read_features
from tvselect.rewards import Data
from tvselect.selectors.support import BanditSelector
from tvselect.selectors.thompson import ThompsonFit

VALUES_AT_ONCE, MOST_VALUES = 2**18, 2**28


class ThompsonSelector(ThompsonFit, BanditSelector):
    """Select variables by Thompson sampling (Liu and Rockova 2021).

    Every variable is an arm of a bandit. A play draws a random set of variables, likely
    ones more often, and fits a model to these alone; the reward of each is 1 if it proves
    useful there, else 0. Its selection rate is the share of its plays with a reward of 1.
    Decoys, copies of the variables that know nothing of the outcome, play along. Selected
    are the variables with a selection rate above ``c`` (1/2 by default) and so far above the
    decoys that at most the share ``max_fdr`` of them is expected to be false.

    Parameters
    ----------
    reward : Reward, callable, "bart", "lasso", "importance", "pvalue" or None
        How the variables of a play are scored; None is "bart", ``BartReward.with_decoys()``, and
        ``BartReward()`` in a search without decoys. A callable
        ``(X, y, rng) -> values in [0, 1]`` sees the played columns.
    n_plays : int, default=500
    burn_in : int or "auto", default="auto"
        After so many plays the 1,000 leading arms, decoys among them, start anew from their
        prior and go on among themselves; their earlier rewards count no more. In the
        first plays hundreds of arms share a forest, and a signal may lose there as often as
        noise does. 0 is never, as in the paper; "auto" is 150 in a search of more than 1,000
        arms with decoys, else 0.
    patience : int, optional
        Stop when the selected set has not changed for that many plays.
    time_limit : float, optional
        Stop after that many seconds.
    max_fdr : float or None, default=0.1
        False discovery rate: the largest expected share of false ones among the selected
        variables. None selects the median model of the paper, which promises nothing.
    decoys : {"auto", "shuffled", "plain", "knockoffs"} or None, default="auto"
        "shuffled" are copies of the table with its rows in another order (what many columns
        owe to common factors stays), the default; "plain" keep no factors, so that columns may be
        selected for these alone; "knockoffs" also keep how a column goes with all others, for at
        most 10,000 columns. None, and "auto" without ``max_fdr``,
        plays without. See :doc:`/errors` for what each guarantees.
    cost : float or array, default=(sqrt(5) - 1) / 2
        ``C`` in (0, 1), one for all or one per column; sets the threshold
        ``c = log(1/C) / log((1 + C)/C)``, 1/2 by default. A higher cost makes a lower
        threshold.
    n_features_to_select : int, optional
        Known size of the model, in arms: at most that many are played and selected.
    prior : (float, float) or (array, array), default=(1.0, 1.0)
        Beta prior of the arms, one for all or one value per column.
    groups : mapping, sequence or "ld", optional
        Columns that make one arm: ``{"label": [columns]}``, or one label per column.
        Text and categorical columns of a data frame are one arm each. "ld" (linkage
        disequilibrium) makes one of neighbouring columns that are much alike, as variants of a
        genome are, see :func:`tvselect.omics.linkage.find_clumps`; ``claims_`` then says how
        the evidence is shared within.
    always_include : sequence, optional
        Columns that are part of every play and always selected.
    family : {"auto", "gaussian", "probit", "classes", "ordinal", "counts", "survival"}
        What the outcome is: a number, two classes, three or more, ordered grades, counts, or
        times until an event, some of them censored. "auto" finds out, see
        :func:`tvselect.inputs.read_outcome`, and warns where it has to guess.
    n_chains : int, default=1
        Independent runs, pooled by adding counts.
    n_jobs : int, optional
        Threads or processes that play at the same time.
    runner : {"threads", "processes"}, address, distributed.Client or Runner, optional
        Where plays run: threads by default; an address such as ``tcp://head-node:8786``,
        or a client, is a Dask cluster (``n_jobs`` is not used then).
    window : "auto" or int, default="auto"
        At most so many plays are chosen from one state of the arms and scored at the same
        time, never more than a tenth of the plays that are done, since burn-in once that is
        over. "auto" is 1, as in the paper, unless there are more workers than chains: 16 per
        worker then. The numbers depend on the window, not on the number, kind or speed of
        the workers.
    random_state : int, RandomState, Generator or None
    journal : path, optional
        File that keeps every play (SQLite). If it holds plays of the same data and
        settings already, the run goes on where it stopped.
    warm_start : bool, default=False
        A second ``fit`` on the same data goes on with the plays of the first.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    support_ : bool array (n_features,)
    q_values_ : float64 array (n_features,)
        The smallest false discovery rate at which each variable is selected; NaN without
        decoys, 0 for columns always included.
    expected_false_ : float
        Expected number of false ones among the selected variables; NaN without decoys.
    claims_ : tuple of Claim
        Variables that cannot be told apart on these rows, the surest first: at least one of
        each claim matters, at the claim's own q-value.
    interactions_ : tuple of Interaction
        Pairs of selected variables whose effects do not add up, the surest first, with
        q-values of their own; found out when first asked for.
    ranking_ : int64 array (n_features,)
        1 for selected variables, then by selection rate.
    decoy_test_ : SwapTest or None
        Whether a classifier can tell knockoffs from the columns.
    selection_rates_ : float64 array (n_features,)
        ``a / (a + b)``: how often the variable has a reward of 1 when it is played (with
        the prior mixed in), not a posterior probability. 1 for columns always included.
    selection_rate_intervals_ : float64 array (n_features, 2)
        2.5 % and 97.5 % quantiles of the Beta posterior of that frequency.
    n_plays_ : int
        Plays of every chain.
    stop_reason_ : StopReason
    history_ : History
    chain_supports_ : bool array (n_chains, n_features)
        What each chain alone selects.
    chain_agreement_ : float
        Mean Jaccard index of the chains' sets, pairwise; NaN for one chain.
    selection_rate_spread_ : float64 array (n_features,)
        Standard deviation of the selection rate over the chains.
    n_features_in_ : int
    feature_names_in_ : array of str, when the table has names

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect import ThompsonSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 300))
    >>> y = 10 * X[:, 3] + 5 * (X[:, 7] > 0.5) + rng.standard_normal(200)
    >>> selector = ThompsonSelector(n_plays=100, random_state=0).fit(X, y)
    >>> np.flatnonzero(selector.support_)
    array([3, 7])
    >>> selector.transform(X).shape
    (200, 2)
    """

    def _warn_of_doubts(self, data: Data) -> None:
        X = data.X
        if not isinstance(X, np.ndarray) or X.size > MOST_VALUES:
            return
        step = max(1, VALUES_AT_ONCE // len(X))
        blocks = (
            (first, np.ascontiguousarray(X[:, first : first + step].T, dtype=np.float64))
            for first in range(0, X.shape[1], step)
        )
        for doubt in find_doubts(data.names, blocks, data.outcome):
            warnings.warn(doubt.sentence, DoubtWarning, stacklevel=5)

    def _as_numbers(self, X: Any) -> Features:
        checks: dict[str, Any] = {"ensure_all_finite": False, "ensure_min_samples": 2}
        X = as_given(X)
        if is_frame(X):
            if isinstance(X, Table):
                features = super()._as_numbers(X)
            else:
                validate_data(self, X, skip_check_array=True)
                features = read_features(X)
            if isinstance(features.X, np.ndarray):
                check_array(features.X, input_name="X", **checks)
            return features
        X = validate_data(self, X, accept_sparse="csc", **checks)
        if is_sparse(X):
            X = SparseColumns(X)
        names = getattr(self, "feature_names_in_", None)
        return Features(
            X,
            Numbered(X.shape[1]) if names is None else tuple(names),
            np.arange(X.shape[1]),
        )
