"""The errors that Rheostat raises on purpose. Each message says what is wrong, where, and what to do."""

from __future__ import annotations

import ast
import re
import traceback
from typing import Self

_BEGIN, _END = "--- in your function ---", "--- end ---"
_FAILED = re.compile(
    rf"operator ('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\") failed: (.*?)(?:\n{_BEGIN}\n(.*?)\n{_END}|$)", re.DOTALL
)


class RheostatError(Exception):
    """Base class: catch this to catch everything Rheostat raises on purpose.

    >>> import rheostat as rh
    >>> try:
    ...     rh.tumbling("1 month")
    ... except rh.RheostatError as error:
    ...     print(type(error).__name__)
    TopologyError
    """


class TopologyError(RheostatError):
    """The topology as written cannot run: a wrong column, name, window or connection.

    >>> import rheostat as rh
    >>> rh.tumbling()
    Traceback (most recent call last):
    ...
    rheostat.errors.TopologyError: tumbling() needs at least one size, as in tumbling('10 minutes')
    """


class ConfigurationError(RheostatError):
    """A setting has an invalid value: a policy's parameter, an option of ``start``, or a key in a scenario file.

    >>> import rheostat as rh
    >>> issubclass(rh.ConfigurationError, rh.RheostatError)
    True
    """


class OperatorError(RheostatError):
    """A user's function failed inside an operator, or returned something that the operator cannot use.

    Attributes:
        operator: name of the operator whose function failed.

    >>> OperatorError("rate", "ZeroDivisionError: division by zero").operator
    'rate'
    """

    def __init__(self, operator: str, message: str) -> None:
        super().__init__(f"operator {operator!r} failed: {message}")
        self.operator = operator

    @classmethod
    def caused_by(cls, operator: str, what: str, error: BaseException) -> Self:
        """Return the error for an exception that a user's function raised.

        The message contains the traceback, because Spark passes only the text of an error from a worker to the driver.

        Args:
            operator: name of the operator.
            what: the step that failed, such as ``merge of aggregate 'vwap'``; empty if there is only one.
            error: the exception.

        >>> try:
        ...     1 / 0
        ... except ZeroDivisionError as error:
        ...     print(str(OperatorError.caused_by("rate", "", error)).splitlines()[0])
        operator 'rate' failed: ZeroDivisionError: division by zero
        """
        trace = "".join(traceback.format_exception(error)).rstrip()
        prefix = f"{what}: " if what else ""
        return cls(operator, f"{prefix}{type(error).__name__}: {error}\n{_BEGIN}\n{trace}\n{_END}")

    @classmethod
    def found_in(cls, text: str) -> Self | None:
        """Return the operator error contained in the text of another error, or None if there is none."""
        match = _FAILED.search(text)
        if match is None:
            return None
        operator, message, trace = match.groups()
        if trace:
            return cls(ast.literal_eval(operator), f"{message}\n{_BEGIN}\n{trace}\n{_END}")
        return cls(ast.literal_eval(operator), message.split("\n", 1)[0])


class CheckpointError(RheostatError):
    """The checkpoint cannot be used: it is damaged, has a newer format, or was written by another topology.

    >>> import rheostat as rh
    >>> issubclass(rh.CheckpointInUseError, rh.CheckpointError)
    True
    """


class CheckpointInUseError(CheckpointError):
    """Another running query uses the checkpoint. Stop that query first, or start with another folder.

    >>> import rheostat as rh
    >>> issubclass(rh.CheckpointInUseError, rh.RheostatError)
    True
    """


class SetupError(RheostatError):
    """Something that Rheostat needs is not installed, such as Java or a package that an extra provides.

    >>> from rheostat.extras import missing
    >>> print(missing("sortedcontainers", "rh.ordered_map"))
    rh.ordered_map needs the package sortedcontainers: install it with pip install "rheostat[maps]"
    """
