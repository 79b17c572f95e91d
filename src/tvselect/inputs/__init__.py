"""What users hand in, checked once and early: tables, outcomes, weights.

Every error names the column, row or parameter and says what to do.
"""

from tvselect.inputs.errors import ColumnTypeError, InputError, SourceError
from tvselect.inputs.outcome import Outcome, OutcomeReader, read_outcome
from tvselect.inputs.table import Numbered, Table, read_table
from tvselect.inputs.text import TextColumn

__all__ = [
    "ColumnTypeError",
    "InputError",
    "Numbered",
    "Outcome",
    "OutcomeReader",
    "SourceError",
    "Table",
    "TextColumn",
    "read_outcome",
    "read_table",
]
