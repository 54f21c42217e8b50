"""Every error Rheostat raises on purpose; each message says what is wrong, where, and what to do."""

from __future__ import annotations


class RheostatError(Exception):
    """Base class: catch this to catch everything Rheostat raises on purpose."""


class TopologyError(RheostatError):
    """The topology as written cannot run: a wrong column, name, window or connection."""


class OperatorError(RheostatError):
    """A user's own function failed inside an operator.

    Attributes:
        operator: name of the operator whose function failed.
    """

    def __init__(self, operator: str, message: str) -> None:
        super().__init__(f"operator {operator!r} failed: {message}")
        self.operator = operator


class CheckpointError(RheostatError):
    """The checkpoint cannot be used as it is: damaged, of a newer format, or written by another topology."""


class CheckpointInUseError(CheckpointError):
    """Another running query owns the checkpoint."""


class SetupError(RheostatError):
    """The machine lacks something Rheostat needs, such as Java."""
