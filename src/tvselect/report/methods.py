"""How to report a run: paragraphs for a paper, what to cite, and a checklist with its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvselect.report import sentences
from tvselect.words import counted, level, listed, percent, plural

if TYPE_CHECKING:
    from tvselect.report.findings import Findings

MOST_LISTED = 50
REWARDS = {
    "BartReward": "a short run of Bayesian additive regression trees",
    "LassoReward": "a LASSO",
    "ImportanceReward": "the importances of a model",
    "PValueReward": "tests of each column by itself",
}
METHOD = (
    "Liu, Y. and Ročková, V. (2023). Variable Selection via Thompson Sampling. Journal of the "
    "American Statistical Association 118(541), 287-304. doi:10.1080/01621459.2021.1928514"
)
SHUFFLED = (
    "Bates, S., Candès, E., Lei, L., Romano, Y. and Sesia, M. (2023). Testing for Outliers with "
    "Conformal p-Values. The Annals of Statistics 51(1), 149-178."
)
E_VALUES = (
    "Wang, R. and Ramdas, A. (2022). False Discovery Rate Control with E-values. Journal of the "
    "Royal Statistical Society: Series B 84(3), 822-852."
)
KNOCKOFFS = (
    "Candès, E., Fan, Y., Janson, L. and Lv, J. (2018). Panning for Gold: 'Model-X' Knockoffs for "
    "High Dimensional Controlled Variable Selection. Journal of the Royal Statistical Society: "
    "Series B 80(3), 551-577."
)


def methods_paragraph(f: Findings) -> str:
    """What was done, for the section Methods of a paper."""
    asked = f.asked
    said = [
        "Variables were selected by Thompson Variable Selection (Liu and Ročková 2023) with "
        f"tvselect {f.versions.get('tvselect', '(version not known)')}.",
        f"The outcome was {f.target} ({sentences.values_of(f)}).",
    ]
    n_rows = asked.n_rows or (f.summary and not asked.is_stream and f.summary.n_rows)
    table = f"The table had {counted(n_rows, 'row')} and " if n_rows else "The table had "
    table += f"{counted(f.n_columns, 'column')} besides it"
    if n_out := sum(f.left_out.values()):
        reasons = ", ".join(f"{reason}: {n:,}" for reason, n in f.left_out.items())
        table += f", after {counted(n_out, 'column')} {'was' if n_out == 1 else 'were'} left out"
        table += f" beforehand ({reasons})"
    said.append(f"{table}.")
    if f.always:
        names = listed(f.always, quoted=False)
        said.append(f"{names} {'was' if len(f.always) == 1 else 'were'} part of every play.")
    if f.n_variables + len(f.always) != f.n_columns:
        said.append(f"Columns of a group count as one: {f.n_variables:,} variables.")
    if rows := sentences.describe_rows(asked):
        said.append(rows)
    kind = asked.reward.partition("(")[0]
    reward = REWARDS.get(kind, "a score")
    chains = f" in each of {f.n_chains} chains" if f.n_chains > 1 else ""
    batch = f" of {asked.batch_size:,} rows" if asked.batch_size else ""
    on = f"one batch{batch} and a" if asked.is_stream else "a"
    said.append(
        f"The search made {counted(f.n_plays, 'play')}{chains}, each play {reward} on {on} random "
        f"subset of the columns ({asked.reward}), with seed {asked.seed}; it ended because "
        f"{sentences.why_stopped(f.stop_reason, asked)}."
    )
    said += _error_control(f)
    if untried := sentences.describe_untried(f):
        said.append(untried)
    if f.claims:
        said.append(
            "Columns with a rank correlation of 0.6 or more with a leading column were claimed "
            "together."
        )
    return " ".join(said)


def _error_control(f: Findings) -> list[str]:
    control, said = f.control, []
    if control.n_decoys:
        how = {
            "shuffled": "shuffled apart from what they share with common factors",
            "plain": "shuffled",
            "knockoffs": "second-order knockoffs on normal scores",
        }.get(control.kind or "", "without a signal of their own")
        each = "A copy of every column (a decoy)"
        if control.n_copies > 1:
            each = f"{control.n_copies} copies of every column (decoys)"
        said.append(f"{each}, {how}, took part in the search.")
    if control.max_fdr is None:
        said.append(
            "Columns with a selection rate above the threshold were selected: the median model, "
            "which makes no statement about false selections."
        )
        return said
    limit = f"a false discovery rate of {control.max_fdr:g}"
    if f.asked.is_stream:
        said.append(
            f"Columns were selected at {limit} by the e-BH rule (Wang and Ramdas 2022) on e-values "
            "of the wins of each column against its decoys, every row counted once."
        )
    else:
        cite = "Candès et al. 2018" if control.kind == "knockoffs" else "Bates et al. 2023"
        said.append(
            f"Columns were selected at {limit}: those with a selection rate above the threshold "
            f"and a q-value of at most {control.max_fdr:g}, where the q-value compares the numbers "
            f"of decoys and of columns that do as well ({cite})."
        )
        if control.second_opinion:
            said.append(
                "Beside the trees, a Bayesian regression with spike and slab was asked about all "
                "columns at once (lines, bends and products of two columns). A column counts as "
                "selected if either selects it; the false ones that both expect are added up in "
                "its q-value. Between columns alike, the regression decided."
            )
        elif f.asked.order is not None:
            said.append(
                "No regression was asked beside the trees, as rows follow each other in time."
            )
    said.append(
        "This bounds the share of columns without any relation to the outcome; a column that is "
        "correlated with a signal may be selected in its place."
    )
    if control.unproven:
        said.append("This is unproven here, as rows seem to depend on each other.")
    return said


def results_paragraph(f: Findings) -> str:
    """What was found, for the section Results of a paper."""
    control, n = f.control, f.n_selected
    base = sentences.describe_base(f)
    if f.is_nothing:
        limit = level(control.max_fdr or 0)
        said = [f"No column could be told from the decoys at a false discovery rate of {limit}."]
        if f.best is not None:
            decoy = "" if control.highest is None else f", of the best decoy {control.highest:.2f}"
            said.append(
                f"The best was {f.best.name} (q = {level(f.best.q_value)}, selection rate "
                f"{f.best.selection_rate:.2f}{decoy}). This does not exclude weaker effects."
            )
        return " ".join(filter(None, (base, *said)))
    at = f" at a false discovery rate of {control.max_fdr:g}" if control.max_fdr is not None else ""
    false = control.expected_false
    expected = "" if false is None else f"; the expected number of false ones is {false:.2g}"
    were = "was" if n == 1 else "were"
    said = [
        f"Of {counted(f.n_variables, 'variable')}, {n:,} {were} selected for {f.target}{at}"
        f"{expected}: {_selected(f)}."
    ]
    if f.claims:
        sets = "; ".join(map(str, f.claims[:MOST_LISTED]))
        said.append(
            f"At least one of each set matters, which these rows do not tell apart: {sets}."
            if control.max_fdr is not None
            else f"These columns cannot be told apart on these rows: {sets}."
        )
    if f.interactions:
        pairs = (f"{' x '.join(p.names)} (q = {level(p.q_value)})" for p in f.interactions)
        said.append(f"Effects do not add up for {', '.join(pairs)}.")
    if (worth := f.worth) is not None:
        scores = ((worth.selected, "the selected"), (worth.all, "all"), (worth.none, "no"))
        shown = (f"{sum(s) / len(s):.3f} from {who}" for s, who in scores if s)
        said.append(
            f"On held-out rows, with the selection made again in each of {len(worth.none)} parts, "
            f"{worth.score} was {', '.join(shown)} columns."
        )
    return " ".join(filter(None, (base, *said)))


def _selected(f: Findings) -> str:
    shown = []
    for v in f.of_role("selected")[:MOST_LISTED]:
        q = "" if v.q_value is None else f"q = {level(v.q_value)}, "
        shown.append(f"{v.name} ({q}selection rate {v.selection_rate:.2f})")
    more = f.n_selected - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def citations(f: Findings) -> list[str]:
    """What to cite: the method, the package, and what the error control rests on."""
    version = f.versions.get("tvselect", "(not known)")
    package = "Thompson Variable Selection for Python [software]"
    cited = [METHOD, f"The tvselect developers. tvselect: {package}. Version {version}."]
    if f.asked.is_stream and f.control.max_fdr is not None:
        cited.append(E_VALUES)
    elif f.control.kind != "knockoffs" and f.control.max_fdr is not None:
        cited.append(SHUFFLED)
    if f.control.kind == "knockoffs":
        cited.append(KNOCKOFFS)
    return cited


def checklist(f: Findings) -> dict[str, str]:
    """What a reader wants to know, with the answers that the run has."""
    asked, control = f.asked, f.control
    before = sum(f.left_out.values())
    n_rows = f.summary.n_rows if f.summary else asked.n_rows
    limit = "none: the median model" if control.max_fdr is None else percent(control.max_fdr)
    answers = {
        "Versions": ", ".join(f"{name} {number}" for name, number in f.versions.items()),
        "Command": f.about.command,
        "Rows": "" if n_rows is None else f"{n_rows:,}",
        "Columns": f"{f.n_columns:,}" + (f", {before:,} more left out" if before else ""),
        "Outcome": f"{f.target}: {sentences.values_of(f)}",
        "Rows that belong together": sentences.describe_rows(asked)
        or "none named: taken as independent",
        "Seed": str(asked.seed),
        "Plays and chains": f"{f.n_plays:,} {plural('play', f.n_plays)}, "
        f"{f.n_chains} {plural('chain', f.n_chains)}; window {asked.window}",
        "Why it stopped": sentences.why_stopped(f.stop_reason, asked),
        "Reward": asked.reward,
        "Largest share of false selections": limit,
        "Decoys": sentences.describe_decoys(f) if control.n_decoys else "none",
        "False selections to expect": "not known"
        if control.expected_false is None
        else f"{control.expected_false:.2g}",
        "Selected": _selected(f) if f.n_selected else sentences.NOTHING if f.is_nothing else "none",
        "Cannot be told apart": "; ".join(map(str, f.claims)) or "none",
        "Agreement of chains": "one chain" if f.agreement is None else percent(f.agreement),
        "Checked with other seeds": "no (tvs stability)"
        if f.stability is None
        else f"{len(f.stability.seeds)}, mean Jaccard index {f.stability.jaccard:.2f}",
        "Checked on held-out rows": "no (tvs worth)" if f.worth is None else f.worth.score,
        "Fingerprint of data and settings": asked.fingerprint or "none of a stream",
        "Effects": "fitted to the rows of the selection" if f.effects else "not measured",
        "Settings fixed before the outcome was looked at": "only you know",
        "Other runs that were made, and why": "only you know",
        "Where the table and the folder of the run can be had": "only you know",
    }
    return {question: answer for question, answer in answers.items() if answer}


def describe_methods(findings: Findings) -> str:
    """How to report a run, as text: paragraphs for Methods and Results, citations, a checklist.

    Parameters
    ----------
    findings : Findings
        What :func:`gather` found.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from tvselect import ThompsonSelector
    >>> from tvselect.report import gather
    >>> X = np.random.default_rng(0).random((100, 5))
    >>> selector = ThompsonSelector("lasso", n_plays=20, random_state=0).fit(X, X[:, 3])
    >>> print(describe_methods(gather(selector, target="price"))[:70])  # doctest: +ELLIPSIS
    Methods...
    <BLANKLINE>
    Variables were selected by Thompson Variable Selection (Liu a
    """
    parts = {
        "Methods": methods_paragraph(findings),
        "Results": results_paragraph(findings),
        "To cite": "\n".join(citations(findings)),
        "Checklist": "\n".join(f"- {key}: {text}" for key, text in checklist(findings).items()),
    }
    text = "\n\n".join(f"{title}\n\n{part}" for title, part in parts.items())
    return text.replace("\N{NO-BREAK SPACE}", " ")
