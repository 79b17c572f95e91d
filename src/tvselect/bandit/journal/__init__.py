"""The journal: the log of plays. Counts, paths and resumed runs are read from it."""

from tvselect.bandit.journal.base import Header, Journal, JournalError, Record
from tvselect.bandit.journal.memory import MemoryJournal
from tvselect.bandit.journal.sqlite import SqliteJournal

__all__ = [
    "Header",
    "Journal",
    "JournalError",
    "MemoryJournal",
    "Record",
    "SqliteJournal",
]
