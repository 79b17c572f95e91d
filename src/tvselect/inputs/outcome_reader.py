"""The outcome of a stream, batch by batch."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvselect.inputs.errors import InputError
from tvselect.inputs.outcome import (
    AskedFamily,
    Outcome,
    check_family,
    checked_values,
    levels_of,
    read_outcome,
)
from tvselect.inputs.survival import is_survival, read_times


class OutcomeReader:
    """Reads the outcome of a stream batch by batch, all of one family.

    Parameters
    ----------
    family : {"auto", "gaussian", "probit", "classes", "ordinal", "counts", "survival"}
        "auto" decides with the first batch that has more than one value.
    classes : array of two labels, optional
        For probit, where they are known already.
    """

    def __init__(
        self,
        family: AskedFamily = "auto",
        classes: NDArray[Any] | None = None,
    ) -> None:
        check_family(family)
        self.family: AskedFamily = family
        self.classes = classes

    @property
    def is_settled(self) -> bool:
        """Whether no batch to come can change the family or the classes."""
        return self.family not in ("auto", "probit") or self.classes is not None

    def to_bytes(self) -> bytes:
        """What is known so far, as JSON."""
        classes = None if self.classes is None else self.classes.tolist()
        return json.dumps([self.family, classes]).encode()

    @classmethod
    def from_bytes(cls, blob: bytes) -> OutcomeReader:
        """The reader that :meth:`to_bytes` wrote down.

        Raises
        ------
        ValueError
            For anything else.
        """
        try:
            known = json.loads(blob)
        except (ValueError, RecursionError) as error:
            raise ValueError("these bytes are no stored outcome") from error
        if not isinstance(known, list) or len(known) != 2 or not _are_classes(known[1]):
            raise ValueError("these bytes are no stored outcome")
        family, classes = known
        return cls(family, None if classes is None else np.array(classes))

    def read(self, y: Any, n_rows: int) -> Outcome | None:
        """The outcome of a batch; None where it is constant: there is nothing to explain.

        Raises
        ------
        TypeError, ValueError
            As :func:`read_outcome`, and for a third class.
        """
        if self.family == "survival" or (self.family == "auto" and is_survival(y)):
            self.family = "survival"
            times = read_times(y)
            has_none = not np.isfinite(times.upper).any() or np.unique(times.lower).size == 1
            return None if has_none else read_outcome(y, n_rows, family="survival")
        values = checked_values(y, n_rows, "y")
        levels = levels_of(values, "y")
        if self.classes is not None:
            known = self.classes.tolist()  # NumPy would take the number 1 for the text "1"
            for level in (level for level in levels.tolist() if level not in known):
                are_labels = all(isinstance(label, str) for label in (level, *known))
                raise InputError(
                    f"y has the value {level!r} where the stream so far has the two classes "
                    f"{known}",
                    "for three or more classes say {classes}"
                    if are_labels
                    else "for other outcomes say {family}",
                )
        if len(levels) == 1:
            return None
        if self.classes is not None:
            return Outcome((values == self.classes[1]).astype(np.float64), "probit", self.classes)
        outcome = read_outcome(y, n_rows, family=self.family)
        if self.family in ("auto", "probit"):
            self.family = outcome.family
            self.classes = outcome.classes if outcome.family == "probit" else None
        return outcome


def _are_classes(value: Any) -> bool:
    """Whether a JSON value is no class or two."""
    if value is None:
        return True
    if not isinstance(value, list) or len(value) != 2 or value[0] == value[1]:
        return False
    kinds = {type(label) for label in value}
    if kinds == {str} or kinds == {bool}:
        return True
    return kinds <= {int, float} and all(abs(label) < 2**63 for label in value)
