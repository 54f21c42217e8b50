"""The instructions to the tasks of an apply operator, as JSON in a property of the Spark job: routers, slots, and the
task that puts their output in order.

As with the other stages, the functions of tasks contain only what stays the same, so that Spark's plan can be kept.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from rheostat.state.files import Folder


@dataclass(frozen=True, kw_only=True)
class Dealing:
    """How routers deal rows by cost.

    Attributes:
        sketch: the costs of items, as ``posg.serial.to_text`` writes them.
        factors: how much longer than the mean each slot takes.
        longest_first: True for LPT, False for POSG's order of arrival.
    """

    sketch: str
    factors: tuple[float, ...]
    longest_first: bool


@dataclass(frozen=True, kw_only=True)
class ApplySpec:
    """One stage of an apply operator.

    Attributes:
        epoch: number of the epoch.
        staging: folder for its result files; None if nothing reads them.
        measuring: the slots that measure costs by item.
        dealing: how routers deal rows by cost; None if rows are dealt in turn.
        files: in the stage that puts output in order, the result files of the slots.

    >>> spec = ApplySpec(epoch=3, staging=Folder("/tmp"), measuring=(0, 1))
    >>> ApplySpec.decode(spec.encode()) == spec
    True
    """

    epoch: int
    staging: Folder | None
    measuring: tuple[int, ...] = ()
    dealing: Dealing | None = None
    files: tuple[str, ...] = ()

    def encode(self) -> str:
        """The instructions as text."""
        staging = None if self.staging is None else self.staging.uri
        dealing = None if self.dealing is None else vars(self.dealing)
        return json.dumps({**vars(self), "staging": staging, "dealing": dealing})

    @classmethod
    def decode(cls, text: str) -> ApplySpec:
        """The instructions that ``encode`` wrote."""
        value = json.loads(text)
        dealing = value["dealing"]
        return cls(
            epoch=value["epoch"],
            staging=None if value["staging"] is None else Folder(value["staging"]),
            measuring=tuple(value["measuring"]),
            dealing=None if dealing is None else Dealing(**{**dealing, "factors": tuple(dealing["factors"])}),
            files=tuple(value["files"]),
        )
