"""Elasticutor's placement with plain dictionaries: every step looks at all executors and nodes, without indexes."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from rheostat.elastic.elasticutor.allocation import share

Assignment = dict[tuple[int, int], int]
"""Cores by executor and node."""


class Plain:
    """Executors with cores on nodes, while these change hands (section 4.2)."""

    def __init__(
        self,
        wanted: Sequence[int],
        nodes: Sequence[int],
        homes: Sequence[int],
        current: Assignment,
        state: Sequence[float],
        traffic: Sequence[float],
        threshold: float,
        horizon: float,
    ) -> None:
        fits = sum(wanted) <= sum(nodes)
        self.nodes, self.state, self.everyone = nodes, state, range(len(wanted))
        self.wanted = list(wanted) if fits else share(wanted, sum(nodes)).tolist()
        self.intensity = [flow / max(want, 1) for flow, want in zip(traffic, self.wanted, strict=True)]
        self.local = [each > threshold for each in self.intensity]
        self.returns = [self.local[e] and traffic[e] * horizon > state[e] for e in self.everyone]
        self.cores = self._existing(current, homes)
        self.homes = self._replace_lost_homes(homes)

    def _existing(self, current: Assignment, homes: Sequence[int]) -> Assignment:
        """Return the cores that still exist: remote ones are lost first, then those with little data."""
        kept, left = {}, list(self.nodes)
        for e, n in sorted(current, key=lambda place: (place[1] != homes[place[0]], -self.intensity[place[0]], place)):
            kept[e, n] = min(current[e, n], left[n])
            left[n] -= kept[e, n]
        return {place: cores for place, cores in kept.items() if cores}

    def _replace_lost_homes(self, homes: Sequence[int]) -> list[int]:
        """Replace a home that is gone by the node with most of the executor's cores, or else by that with most room."""
        found = [home if 0 <= home < len(self.nodes) and self.nodes[home] else -1 for home in homes]
        alive = [n for n, cores in enumerate(self.nodes) if cores]
        for e in self.everyone:
            if found[e] < 0:
                mine = [(-cores, n) for (owner, n), cores in self.cores.items() if owner == e]
                found[e] = min(mine)[1] if mine else -1
        settled = [(e, home) for e, home in enumerate(found) if home >= 0]
        room = {n: self.nodes[n] - sum(self.wanted[e] for e, home in settled if home == n) for n in alive}
        for e in sorted((e for e in self.everyone if found[e] < 0), key=lambda e: -self.wanted[e]):
            found[e] = min(alive, key=lambda n: (-room[n], n), default=0)
            if alive:
                room[found[e]] -= max(self.wanted[e], 1)
        return found

    def at(self, e: int, n: int) -> int:
        return self.cores.get((e, n), 0)

    def total(self, e: int) -> int:
        return sum(cores for (owner, _), cores in self.cores.items() if owner == e)

    def remote(self, e: int) -> list[int]:
        return [n for (owner, n), cores in self.cores.items() if owner == e and n != self.homes[e] and cores]

    def add(self, e: int, n: int, cores: int) -> None:
        self.cores[e, n] = self.at(e, n) + cores

    def leave(self, e: int, cores: int) -> None:
        """Give up remote cores, first where there are fewest."""
        for n in sorted(self.remote(e), key=lambda n: (self.at(e, n), n)):
            some = min(cores, self.at(e, n))
            cores -= some
            self.add(e, n, -some)

    def solve(self) -> Assignment:
        for e in self.everyone:
            if self.returns[e]:
                self.leave(e, max(self.total(e) - self.wanted[e], 0))
        surplus = [max(self.total(e) - self.wanted[e], 0) for e in self.everyone]
        away = [sum(self.at(e, n) for n in self.remote(e)) for e in self.everyone]
        self.offered = [min(some, far) for some, far in zip(surplus, away, strict=True)]
        self.lent = [some - offered for some, offered in zip(surplus, self.offered, strict=True)]
        used = [sum(c for (_, n), c in self.cores.items() if n == node) for node in range(len(self.nodes))]
        self.pool = [cores - taken for cores, taken in zip(self.nodes, used, strict=True)]
        for e in self.everyone:
            if self.lent[e]:
                self.pool[self.homes[e]] += self.lent[e]
        by_data = sorted(self.everyone, key=lambda e: -self.intensity[e])
        for e in by_data:
            if self.local[e] or not self.remote(e):
                self.from_pool(e, self.homes[e])
        offers = [(self.price(e, n), n, e) for e in self.everyone if self.offered[e] for n in self.remote(e)]
        for e in by_data:
            if self.local[e]:
                self.fill_at_home(e, offers)
            self.fill(e, offers)
        for e in self.everyone:
            if self.returns[e] and self.remote(e):
                some = min(sum(self.at(e, n) for n in self.remote(e)), self.pool[self.homes[e]])
                self.add(e, self.homes[e], some)
                self.pool[self.homes[e]] -= some
                self.leave(e, some)
        # Where more was taken from a pool than was free, executors lose what they lent, the first executors first.
        for node, cores in enumerate(self.nodes):
            over = sum(c for (_, n), c in self.cores.items() if n == node) - cores
            for e in self.everyone:
                some = max(0, min(over, self.lent[e] if self.homes[e] == node else 0))
                self.add(e, node, -some)
                over -= some
        return {place: cores for place, cores in self.cores.items() if cores}

    def price(self, e: int, n: int) -> float:
        """Return C-: the state that moves if a core is given up; all of it with the last core."""
        total = self.total(e)
        return self.state[e] * (total - self.at(e, n)) / (total * (total - 1)) if total > 1 else self.state[e]

    def from_pool(self, e: int, n: int) -> None:
        need = max(self.wanted[e] - self.total(e), 0)
        if need:
            some = min(need, self.pool[n])
            self.pool[n] -= some
            self.add(e, n, some)

    def give(self, donor: int, n: int, taker: int, most: int) -> None:
        some = min(most, self.offered[donor], self.at(donor, n))
        self.offered[donor] -= some
        self.add(donor, n, -some)
        self.add(taker, n, some)

    def fill_at_home(self, e: int, offers: list[tuple[float, int, int]]) -> None:
        home = self.homes[e]
        while (need := self.wanted[e] - self.total(e)) > 0:
            remote = [o for o in offers if o[1] == home and self.offered[o[2]] and self.at(o[2], home)]
            others = [d for d in self.everyone if self.homes[d] == home and self.offered[d]]
            spare = [(self.price(d, home), d) for d in others if self.at(d, home) > self.lent[d]]
            if remote:
                self.give(min(remote)[2], home, e, need)
            elif spare:
                self.give(min(spare)[1], home, e, 1)
            else:
                return

    def fill(self, e: int, offers: list[tuple[float, int, int]]) -> None:
        home = self.homes[e]
        while (need := self.wanted[e] - self.total(e)) > 0:
            total, good = self.total(e), [o for o in offers if self.offered[o[2]] and self.at(o[2], o[1])]
            each = self.state[e] / (total * (total + 1)) if total else self.state[e]
            far = {min(good)[1]} if good else set()
            far |= {max(range(len(self.pool)), key=lambda n: (self.pool[n], -n))}
            options = []
            for node in {home, *self.remote(e), *far}:
                distance = 0 if node == home else 1 if self.at(e, node) else 2
                there = self.at(e, node) if total else int(node == home)
                cheapest = min((o for o in good if o[1] == node), default=(inf, node, -1))
                given = 0.0 if self.pool[node] else cheapest[0]
                if given < inf:
                    plus = each * (max(total, 1) - there)
                    options.append((plus + given, distance, not self.pool[node], node, cheapest[2]))
            _, _, taken, node, donor = min(options)
            if taken:
                self.give(donor, node, e, need)
            else:
                self.from_pool(e, node)
