"""What an error means to someone at the command line, in one line."""

from __future__ import annotations

OPTIONS = {
    "columns": "--exclude",
    "family": "--family gaussian",
    "batch_size": "--batch-size",
    "delimiter": "--sep",
    "format": "save it as .csv, .tsv, .parquet, .feather or .arrow",
    "stream": "say --stream",
}
"""How parameters of Python are spelt here."""


def explain(error: Exception) -> str:
    """What is wrong and what to do about it."""
    from tvselect.inputs.errors import InputError
    from tvselect.runners import WorkerError

    if isinstance(error, MemoryError):
        return "the table does not fit into memory; say --stream"
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror.lower()}"
    text = error.worded(OPTIONS) if isinstance(error, InputError) else str(error)
    text = " ".join(text.split())
    if isinstance(error, OSError | ValueError | TypeError | ModuleNotFoundError | WorkerError):
        return text
    kind = type(error).__name__
    return f"this should not happen ({kind}: {text}); run again with --debug and tell us"
