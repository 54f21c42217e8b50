"""Split or combined: the two forms of a windowed component, and the rule that chooses one (Enorm section 5.1.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf


class Form(StrEnum):
    """Whether the computes and consolidates of a windowed component run apart (split) or together (combined).

    >>> Form.COMBINED.other
    <Form.SPLIT: 'split'>
    """

    SPLIT = "split"
    COMBINED = "combined"

    @property
    def other(self) -> Form:
        """The other form."""
        return Form.COMBINED if self is Form.SPLIT else Form.SPLIT


@dataclass(frozen=True)
class FormCost:
    """The cost of a form per period.

    Attributes:
        cpu: seconds of CPU.
        latency: seconds of latency that migrations cause.
    """

    cpu: float
    latency: float


@dataclass(frozen=True)
class FormChoice:
    """The form that a component should have.

    Attributes:
        form: the best form.
        saved: seconds of CPU that it saves per period; negative if the latency bound forces a more expensive form.
        reason: why, as text with figures.
    """

    form: Form
    saved: float
    reason: str


def cheaper_form(
    costs: Mapping[Form, FormCost],
    now: Form,
    latency_bound: float = inf,
    margin: float = 0.0,
    change_cost: float = 0.0,
) -> FormChoice:
    """The form with the lowest CPU cost whose latency is within the bound.

    A form that exceeds the bound is left at any cost. If both forms are within the bound, the form changes only if that
    saves CPU; if both exceed it, the one with less latency is taken.

    Args:
        costs: the cost of either form, from any model.
        now: the current form.
        latency_bound: the largest acceptable latency of migrations per period, in seconds.
        margin: the share of the current CPU cost that a change must save, so that the form does not oscillate with
            small changes of the measurements. Not in the paper.
        change_cost: seconds of CPU that the change itself costs and must save within a period. Not in the paper.

    >>> costs = {Form.SPLIT: FormCost(1.0, 0.0), Form.COMBINED: FormCost(0.9, 0.0)}
    >>> [cheaper_form(costs, Form.SPLIT, margin=margin).form.value for margin in (0.0, 0.2)]
    ['combined', 'split']
    """
    here, there = costs[now], costs[now.other]
    numbers = "; ".join(f"{form} {c.cpu:.3g} s of CPU, {c.latency:.3g} s of latency" for form, c in costs.items())
    if there.latency > latency_bound:
        both_exceed = here.latency > latency_bound
        best = now.other if both_exceed and there.latency < here.latency else now
        return FormChoice(best, here.cpu - costs[best].cpu, f"{now.other} exceeds the latency bound: {numbers}")
    if here.latency > latency_bound:
        return FormChoice(now.other, here.cpu - there.cpu, f"{now} exceeds the latency bound: {numbers}")
    if here.cpu - there.cpu > margin * here.cpu + change_cost:
        return FormChoice(now.other, here.cpu - there.cpu, f"{now.other} saves CPU: {numbers}")
    return FormChoice(now, 0.0, f"{now.other} does not save enough CPU: {numbers}")
