"""Examine as its definitions read: one shard and one interval after the other, and everything worked out anew."""

from __future__ import annotations

from itertools import pairwise
from math import inf, isnan, nan

import numpy as np

from rheostat.elastic.streamswitch.readings import Metrics, Readings


class PlainRate:
    """Rows per useful second of one slot (section 4.2)."""

    def __init__(self, assumed: float = nan) -> None:
        self.mean, self.measured, self.useful, self.stalled = assumed, False, 0.0, 0.0

    def interval(self, done: float, useful: float, waiting: bool, seconds: float) -> None:
        if isnan(done):
            return
        if done == 0:
            self.useful += 0.0 if isnan(useful) else useful
            self.stalled = self.stalled + seconds if waiting else 0.0
            return
        sample = done / (self.useful + useful) if self.useful + useful > 0 else nan
        self.useful = self.stalled = 0.0
        if sample < 1e12:
            self.mean = self.mean * 7 / 8 + sample / 8 if self.measured else sample
            self.measured = True


class PlainExamination:
    """The counters of every shard; None is where a counter is missing."""

    def __init__(self, shards: int, window: float, patience: int) -> None:
        self.window, self.patience, self.ends = window, patience, [0.0]
        self.arrived: list[list[float | None]] = [[0.0] for _ in range(shards)]
        self.completed: list[list[float | None]] = [[0.0] for _ in range(shards)]
        self.routings = [[-1] * shards]
        self.arrival, self.restarted = [0.0] * shards, [-inf] * shards
        self.rates: dict[int, PlainRate] = {}

    def advance(self, metrics: Metrics) -> None:
        if not self.ends[-1] + 1e-6 <= metrics.time < 2.0**53:
            return
        self.ends.append(metrics.time)
        for shard in range(len(self.arrived)):
            self._count(shard, float(metrics.arrived[shard]), float(metrics.completed[shard]))
        base = self._base()
        for shard, counter in enumerate(self.arrived):
            now, before = counter[-1], counter[base]
            if now is not None and before is not None:
                self.arrival[shard] = (now - before) / (self.ends[-1] - self.ends[base])
        self._serve(metrics)
        self._forget(base)

    def readings(self) -> Readings:
        slots, shards, base = sorted(self.rates), range(len(self.arrived)), self._base()
        gaps = [max(_gap(self.arrived[s]), _gap(self.completed[s])) for s in shards]
        backlog = [max(_latest(self.arrived[s]) - _latest(self.completed[s]), 0.0) for s in shards]
        waits = {s: [self._waited(s, row) for row in range(base + 1, len(self.ends))] for s in shards}
        done = {s: [_less(b, a) for a, b in pairwise(self.completed[s][base:])] for s in shards}
        starved = [s for s in shards if sum(done[s]) == 0 and backlog[s] > 0 and gaps[s] == 0]
        age = {s: self._age(s) for s in starved}
        of_shards = [age[s] / backlog[s] if s in age else _ratio(sum(waits[s]), sum(done[s])) for s in shards]
        latency, last, span = [], self.routings[-1], self.ends[-1] - self.ends[base] or 1.0
        for slot in slots:
            mine = [(s, i) for i, row in enumerate(self.routings[base + 1 :]) for s in shards if row[s] == slot]
            completed = _ratio(sum(waits[s][i] for s, i in mine), sum(done[s][i] for s, i in mine))
            stuck = [s for s in starved if last[s] == slot]
            latency.append(max(completed, _ratio(sum(age[s] for s in stuck), sum(backlog[s] for s in stuck))))
        arrival = [max(self.arrival[s], backlog[s] / span) if s in age else self.arrival[s] for s in shards]
        usual, service = self._speeds(slots)
        blind = tuple(s for s in shards if gaps[s] > self.patience)
        return Readings(
            time=self.ends[-1],
            routing=tuple(last),
            slots=tuple(slots),
            arrival=np.array(arrival),
            latency=np.array(latency),
            service=np.array(service),
            usual=np.array(usual),
            shard_latency=np.array(of_shards),
            backlog=np.array(backlog),
            blind=blind,
            problem=self._problem(gaps, slots, service),
        )

    def _base(self) -> int:
        limit = self.ends[-1] - self.window * (1 - 1e-9)
        return max([i for i, end in enumerate(self.ends) if end <= limit], default=0)

    def _count(self, shard: int, arrived: float, completed: float) -> None:
        """Section 4.3: what is missing, what goes back, what starts again; then interpolation."""
        came, went = self.arrived[shard], self.completed[shard]
        now = arrived if 0 <= arrived <= 2.0**53 else None
        done = completed if 0 <= completed <= 2.0**53 else None
        back = now is not None and now < _latest(came), done is not None and done < _latest(went)
        late = max(_gap(came), _gap(went)) >= self.patience
        if any(back) and late and now is not None and done is not None:
            came[:] = [now] * len(self.ends)
            went[:] = [min(now, done)] * len(self.ends)
            self.restarted[shard] = self.ends[-1]
            return
        now, done = None if back[0] else now, None if back[1] else done
        if now is not None and done is not None:
            done = min(done, max(now, _latest(went)))
        for history, value in ((came, now), (went, done)):
            first, start = len(history) - _gap(history) - 1, _latest(history)
            history.append(value)
            if value is not None:
                share = [(end - self.ends[first]) / (self.ends[-1] - self.ends[first]) for end in self.ends[first:-1]]
                history[first:-1] = [start + (value - start) * s for s in share]

    def _forget(self, base: int) -> None:
        """The intervals before the window whose rows were all completed when it began, if nothing is missing since.

        It makes a difference to shards that start again: what waits there counts as waiting since the first interval.
        """
        done = [history[base] if history[base] is not None else _latest(history) for history in self.completed]
        first = 0
        while first < base and all(
            counter[first] is not None and _less(counter[first], most) <= 0
            for counter, most in zip(self.arrived, done, strict=True)
        ):
            first += 1
        known = len(self.ends) - 1 - max(_gap(history) for history in self.arrived + self.completed)
        first = min(first, known)
        for history in (self.ends, self.routings, *self.arrived, *self.completed):
            del history[:first]  # type: ignore[attr-defined]

    def _waited(self, shard: int, row: int) -> float:
        """A row waits through an interval if it had arrived by the end of the one before, and is not completed."""
        before, after = self.completed[shard][row - 1], self.completed[shard][row]
        past = self.arrived[shard][:row]
        if before is None or after is None or None in past:
            return 0.0
        present = [min(max(a, before), after) - before for a in past if a is not None]
        return sum((b - a) * p for (a, b), p in zip(pairwise(self.ends), present, strict=False))

    def _age(self, shard: int) -> float:
        waiting = [max(_less(a, _latest(self.completed[shard])), 0.0) for a in self.arrived[shard]]
        return sum((b - a) * w for (a, b), w in zip(pairwise(self.ends), waiting, strict=False))

    def _serve(self, metrics: Metrics) -> None:
        assert isinstance(metrics.useful, dict)
        seconds, slots, origins = self.ends[-1] - self.ends[-2], set(metrics.routing), self.routings[-1]
        rates, means = {}, {slot: rate.mean for slot, rate in self.rates.items()}
        for slot in slots:
            mine = [s for s, other in enumerate(metrics.routing) if other == slot]
            counted = [(self.completed[s][-2], self.completed[s][-1]) for s in mine]
            missing = any(a is None or b is None for a, b in counted)
            done = nan if missing else sum(_less(b, a) for a, b in counted)
            waiting, left = (sum(_less(self.arrived[s][i], self.completed[s][i]) for s in mine) > 0 for i in (-2, -1))
            useful = metrics.useful.get(slot, nan)
            if not 0 < useful < inf:
                useful = seconds if waiting and left and done > 0 else nan
            known = [mean for o, mean in means.items() if o in {origins[s] for s in mine} and not isnan(mean)]
            rates[slot] = self.rates.get(slot) or PlainRate(float(np.mean(known)) if known else nan)
            rates[slot].interval(done, min(useful, seconds), waiting, seconds)
        self.rates = rates
        self.routings = [[slot if slot in slots else -1 for slot in row] for row in self.routings]
        self.routings.append([int(slot) for slot in metrics.routing])

    def _speeds(self, slots: list[int]) -> tuple[list[float], list[float]]:
        means = [self.rates[s].mean for s in slots]
        known = [m for m in means if not isnan(m)]
        usual = [float(np.mean(known)) if known and isnan(m) else m for m in means]
        stalled = [self.rates[s].stalled for s in slots]
        most = [1 / s if s >= self.window else nan for s in stalled]
        service = [float(np.fmin(u, m)) for u, m in zip(usual, most, strict=True)]
        return (usual if known else service), service

    def _problem(self, gaps: list[int], slots: list[int], service: list[float]) -> str:
        missing = [gap for gap in gaps if 0 < gap <= self.patience]
        young = sum(self.ends[-1] - since < self.window for since in self.restarted)
        if not slots:
            return "nothing has been measured yet"
        if missing:
            gap = f"for {max(missing)} intervals; waiting for up to {self.patience}"
            return f"counters of {len(missing)} shards are missing {gap}"
        if young:
            return f"counters of {young} shards started again less than {self.window:g} s ago"
        if any(isnan(s) for s in service):
            return "no service rate is known yet: no slot has reported useful time and completed rows"
        return ""


def _gap(history: list[float | None]) -> int:
    return next(i for i, value in enumerate(reversed(history)) if value is not None)


def _latest(history: list[float | None]) -> float:
    return next(value for value in reversed(history) if value is not None)


def _less(a: float | None, b: float | None) -> float:
    return 0.0 if a is None or b is None else a - b


def _ratio(above: float, below: float) -> float:
    return above / below if below > 0 else 0.0
