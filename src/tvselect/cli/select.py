"""``tvs select``: find the columns that explain a target."""

from __future__ import annotations

import secrets
import shlex
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from importlib import import_module
from typing import TYPE_CHECKING

from tvselect.cli.parser import Options
from tvselect.cli.results import show
from tvselect.cli.terminal import Terminal
from tvselect.words import counted

if TYPE_CHECKING:
    from tvselect.runs.plan import Plan, Settings

SEED_BITS = 32
MARKS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "blank": " ", "space": " "}


def select(options: Options, terminal: Terminal) -> int:
    """Look at the table, say what was decided, search, show what was found."""
    from tvselect.report import prepare
    from tvselect.runs.errors import RunError
    from tvselect.runs.folder import new_folder
    from tvselect.runs.inspection import (
        TableOptions,
        inspect_table,
        refuse_what_the_reward_cannot_take,
    )
    from tvselect.runs.plan import Settings, describe_plan, doubts_of, make_reward
    from tvselect.sources.addresses import argument_without_secrets

    wants_stream = bool(options.batch_size or options.rounds)
    if options.iterations is not None and options.reward != "bart":
        raise RunError(f"--iterations is for --reward bart, not {options.reward}; leave it out")
    if options.stream is False and wants_stream:
        raise RunError("--batch-size and --rounds are for streams; drop --no-stream")
    if options.decoys == "none" and options.max_fdr is not None:
        raise RunError(
            f"--max-fdr {options.max_fdr:g} cannot be kept with --decoys none; leave that out, or "
            "say --max-fdr none"
        )
    if options.event is not None and options.time is None:
        raise RunError("--event needs --time, the column of the times")
    if options.time is not None and options.family is not None:
        raise RunError("--time is a family of its own; leave --family out")
    given = {field.name: getattr(options, field.name) for field in fields(Settings)}
    settings = Settings(
        **{
            "seed": secrets.randbits(SEED_BITS),
            **{name: value for name, value in given.items() if value is not None},
            "max_fdr": options.max_fdr,
        }
    )
    if options.cluster is not None:
        from tvselect.runners import open_runner

        open_runner(options.cluster).close()  # a wrong address shows before a table is read
    if not options.no_report:
        prepare()
    with ThreadPoolExecutor(1) as aside:  # libraries are loaded while the table is read
        loading = aside.submit(import_module, "tvselect.runs.play")
        plan, files, table = inspect_table(
            options.table,
            TableOptions(
                target=options.target or options.time,
                event=options.event,
                stream=True if wants_stream else options.stream,
                family="survival" if options.time else options.family,
                exclude=tuple(options.exclude),
                include=tuple(options.include),
                always=tuple(options.always),
                groups=options.groups,
                delimiter=mark(options.sep),
                decimal=options.decimal,
                sheet=options.sheet,
                transpose=options.transpose,
                phenotypes=options.phenotypes,
                layer=options.layer,
                covariates=tuple(options.covariates),
            ),
        )
    start = loading.result().start
    reward = make_reward(settings, plan.stream)
    refuse_what_the_reward_cannot_take(plan, settings.reward, reward)
    if settings.batch_size < reward.min_rows:
        raise RunError(
            f"--batch-size {settings.batch_size} is too small: --reward {settings.reward} needs "
            f"at least {reward.min_rows} rows"
        )
    if plan.stream and options.plays is not None:
        per_round = -(-plan.n_rows // settings.batch_size)
        rounds = max(settings.rounds, -(-options.plays // per_round))
        settings = replace(settings, rounds=rounds)
    for sentence in describe_plan(plan):
        terminal.say(f"  {sentence}")
    if plan.facts.left_out:
        terminal.say("  (--include NAME keeps a column, --exclude NAME leaves one out)")
    for doubt in doubts_of(plan):
        terminal.warn(doubt)
    terminal.say(f"  {_the_search(plan, settings, options.cluster)}")
    folder = new_folder(options.out, options.table)
    result = start(
        plan,
        settings,
        folder,
        files=files,
        table=table,
        command=shlex.join(["tvs", *map(argument_without_secrets, options.arguments)]),
        cluster=options.cluster,
        with_page=not options.no_report,
        verbose=int(terminal.is_live),
    )
    return show(result, terminal)


def _the_search(plan: Plan, settings: Settings, cluster: str | None) -> str:
    chains = f"{settings.chains} chains of " if settings.chains > 1 else ""
    if plan.stream:
        n_batches = -(-plan.n_rows // settings.batch_size) * settings.rounds
        each, rounds = counted(settings.batch_size, "row"), counted(settings.rounds, "round")
        what = f"{counted(n_batches, 'play')} of {each}, {rounds}"
    else:
        what = counted(settings.plays, "play")
    place = f" on {cluster}" if cluster else ""
    by = {"bart": "BART", "lasso": "LASSO", "pvalue": "p-values"}.get(settings.reward, "importance")
    search = f"Search: {chains}{what}{place}, scored by {by}; seed {settings.seed}."
    if settings.max_fdr is None:
        return f"{search} Error control is off (--max-fdr none)."
    return f"{search} On average at most {100 * settings.max_fdr:g} % of the selected false."


def mark(sep: str | None) -> str | None:
    """The delimiter that a word or an escaped letter stands for."""
    return MARKS.get(sep or "", sep)
