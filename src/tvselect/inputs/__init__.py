"""What users hand in, checked once and early: tables, outcomes, seeds.

Every error names the column, row or parameter and says what to do.
"""

from tvselect.inputs.errors import ColumnTypeError, InputError, SourceError
from tvselect.inputs.names import Numbered
from tvselect.inputs.outcome import Outcome, read_outcome
from tvselect.inputs.outcome_reader import OutcomeReader
from tvselect.inputs.table import Table, read_table
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
