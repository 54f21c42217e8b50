"""Options that accept one of a few strings: a ``Literal`` type for type checkers, and a check at run time."""

from __future__ import annotations

from typing import Any, Literal, get_args

from rheostat.errors import TopologyError

Kept = Literal["drop", "aside"]
"""What a source does with a row that it cannot use, after counting it: drop it, or keep it aside (``Stream.aside``)."""

Emit = Literal["append", "update"]
"""When a window emits a result: once, when it is complete (append), or in every epoch that changed it (update)."""

Clock = Literal["processing", "event"]
"""The clock by which state expires: processing time or event time."""

Over = Literal["polars", "arrow"]
"""The kind of frame that a user's function takes and returns."""

GroupingName = Literal["lpt", "posg", "round_robin"]
"""How ``apply`` deals rows to slots: the longest of an epoch first, greedily as they come (POSG), or in turn."""

CalledWith = Literal["rows", "polars", "arrow"]
"""What ``apply`` calls a function with: a row at a time, or the rows of a slot as a frame."""

LayoutChoice = Literal["auto", "split", "combined"]
"""Who aggregates rows: Spark (split), the tasks that keep the state (combined), or whichever is cheaper (auto)."""

ExplainFormat = Literal["text", "mermaid"]
"""The output format of ``explain``."""


def check_choice(where: str, option: str, value: object, choices: Any) -> None:
    """Raise ``TopologyError`` if the value is not one of the choices.

    Args:
        where: what the option belongs to, such as ``operator 'areas'``; the error starts with it.
        option: name of the option.
        value: the value that the user passed.
        choices: one of the ``Literal`` types above.

    >>> check_choice("operator 'areas'", "emit", "append", Emit)
    >>> check_choice("operator 'areas'", "emit", "complete", Emit)
    Traceback (most recent call last):
    ...
    rheostat.errors.TopologyError: operator 'areas': emit='complete' is not one of 'append', 'update'
    """
    allowed = get_args(choices)
    if value not in allowed:
        listed = ", ".join(repr(choice) for choice in allowed)
        raise TopologyError(f"{where}: {option}={value!r} is not one of {listed}")
