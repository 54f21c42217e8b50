"""How many slots a query starts with, and how many its policy may use: what ``start(slots=...)`` means."""

from __future__ import annotations

from dataclasses import dataclass

from rheostat.elastic.routing.table import check_slots
from rheostat.errors import ConfigurationError


@dataclass(frozen=True)
class SlotChoice:
    """The slots of every component with keys.

    Attributes:
        wanted: the number to start with; None to keep that of the checkpoint.
        default: the number for a component that the checkpoint does not have.
        allowed: the fewest and most that the policy may use; None if there is no range.
    """

    wanted: int | None
    default: int
    allowed: tuple[int, int] | None = None

    @classmethod
    def of(
        cls, slots: int | tuple[int, int] | None, *, policy: str, scales: bool, cores: int, shards: int
    ) -> SlotChoice:
        """Return the choice for the value of ``slots``.

        A new checkpoint begins with as many slots as Spark has cores, within the range. What rows cost is not known
        then; slots that are not needed are given up within seconds, but rows that wait for too few are late at once.

        Args:
            slots: a number to start with, the fewest and most, or None.
            policy: name of the policy.
            scales: True if the policy changes the number of slots within a range.
            cores: the number of cores that Spark has.
            shards: the number of shards, which is the most that a component can have.

        Raises:
            ConfigurationError: the value makes no sense, or does not fit the policy or the shards.

        >>> SlotChoice.of((1, 16), policy="drs", scales=True, cores=4, shards=256)
        SlotChoice(wanted=None, default=4, allowed=(1, 16))
        >>> SlotChoice.of(8, policy="drs", scales=True, cores=4, shards=256)
        SlotChoice(wanted=8, default=8, allowed=(1, 8))
        >>> SlotChoice.of(None, policy="static", scales=False, cores=4, shards=256)
        SlotChoice(wanted=None, default=4, allowed=None)
        """
        most = min(cores, shards)
        if slots is None:
            return cls(None, most, (1, most) if scales else None)
        if isinstance(slots, tuple):
            fewest, highest = _checked_range(slots, policy, scales, shards)
            return cls(None, min(max(most, fewest), highest), (fewest, highest))
        check_slots(slots, shards)
        return cls(slots, slots, (1, max(slots, most)) if scales else None)

    def clamp(self, slots: int) -> int:
        """Return the number to start with, for a component that had ``slots`` in the checkpoint.

        >>> SlotChoice(None, 2, (2, 8)).clamp(16), SlotChoice(3, 3).clamp(16), SlotChoice(None, 4).clamp(16)
        (8, 3, 16)
        """
        if self.wanted is not None:
            return self.wanted
        return slots if self.allowed is None else min(max(slots, self.allowed[0]), self.allowed[1])


def _checked_range(slots: tuple[int, int], policy: str, scales: bool, shards: int) -> tuple[int, int]:
    if len(slots) != 2:
        raise ConfigurationError(f"slots={slots}: pass a number, or a pair with the fewest and the most, as in (1, 16)")
    for number in slots:
        check_slots(number, shards)
    fewest, most = slots
    if fewest > most:
        raise ConfigurationError(f"slots={slots}: the fewest come first, as in ({most}, {fewest})")
    if not scales:
        raise ConfigurationError(
            f"slots={slots}: policy {policy!r} takes no range of slots: "
            "pass one number, or a policy that changes it within a range, such as policy='streamswitch'"
        )
    return slots
