"""The options that take one of a few words, as types for checkers and as a check at run time."""

from __future__ import annotations

from typing import Any, Literal, get_args

from rheostat.errors import TopologyError

Kept = Literal["drop", "aside"]
"""What a source does with a row that it cannot use: count and drop it, or count it and keep it aside."""

Emit = Literal["append", "update"]
"""When a window gives a result: once, when it is complete, or in every epoch that changed it."""

Clock = Literal["processing", "event"]
"""The time by which state expires."""

Over = Literal["polars", "arrow"]
"""The kind of frame that a user's function takes and returns."""

ExplainFormat = Literal["text", "mermaid"]
"""How a plan is drawn."""


def check_choice(where: str, option: str, given: object, choices: Any) -> None:
    """Refuse a value that is none of the choices.

    Args:
        where: who has the option, as in ``operator 'areas'``; the error begins with it.
        option: the option's name.
        given: what the user wrote.
        choices: one of the types above.

    >>> check_choice("operator 'areas'", "emit", "append", Emit)
    >>> check_choice("operator 'areas'", "emit", "complete", Emit)
    Traceback (most recent call last):
    ...
    rheostat.errors.TopologyError: operator 'areas': emit='complete' is not one of 'append', 'update'
    """
    allowed = get_args(choices)
    if given not in allowed:
        listed = ", ".join(repr(choice) for choice in allowed)
        raise TopologyError(f"{where}: {option}={given!r} is not one of {listed}")
