"""Cores change hands: the loop of Elasticutor's Algorithm 1 (section 4.2), where moves cost something."""

from __future__ import annotations

import heapq

import numpy as np

from rheostat.elastic.allocation import Counts
from rheostat.elastic.cores import Cores, Flags, fill, sums
from rheostat.elastic.queueing import Values

Offer = tuple[float, int, int]
"""Price, node, executor."""


class Board:
    """The assignment while it changes: cores at home in an array, the few remote ones in dictionaries."""

    def __init__(self, kept: Cores, homes: Counts, wanted: Counts, nodes: Counts) -> None:
        self.homes, self.wanted = homes, wanted
        at_home = kept.node == homes[kept.executor]
        self.here = sums(kept.executor[at_home], kept.cores[at_home], len(homes))
        self.total = kept.by_executor(len(homes))
        self.free = nodes - kept.by_node(len(nodes))
        self.remote: dict[int, dict[int, int]] = {}
        for executor, node, cores in kept.part(~at_home).entries():
            self.remote.setdefault(executor, {})[node] = cores

    def leave_surplus(self, returns: Flags) -> None:
        """Executors that ought to come home give up remote cores that they do not need; then the pools are known.

        Others give remote cores first as well, if somebody asks. To give those at home, as the paper's C- suggests, is
        cheaper once, but leaves executors scattered, for which every later change is dear. What an executor at home
        has too many of goes for nothing, as if it were free: these cores and the free ones are a node's pool.
        """
        for executor in [e for e in self.remote if returns[e] and self.total[e] > self.wanted[e]]:
            self._leave(executor, int(self.total[executor] - self.wanted[executor]))
        surplus = np.maximum(self.total - self.wanted, 0)
        self.offered = np.minimum(surplus, self.total - self.here)
        self.lent = surplus - self.offered
        self.pool = self.free + sums(self.homes, self.lent, len(self.free))
        self.pool_before = self.pool.copy()

    def move_for_free(self, intensity: Values, stays: Flags) -> None:
        """Cores from the pool of a home for those who live there only, or must; most data per core first."""
        need = np.maximum(self.wanted - self.total, 0)
        takers = np.flatnonzero((need > 0) & ((self.here == self.total) | stays))
        takers = takers[np.argsort(-intensity[takers], kind="stable")]
        got = fill(self.homes[takers], need[takers], self.pool)
        self.here[takers] += got
        self.total[takers] += got
        self.pool -= sums(self.homes[takers], got, len(self.pool))

    def come_home(self, returns: Flags) -> None:
        """Replace remote cores of executors that ought to come home, as far as their homes have cores to give."""
        for executor in sorted(e for e, spread in self.remote.items() if spread and returns[e]):
            home = int(self.homes[executor])
            some = min(sum(self.remote[executor].values()), int(self.pool[home]))
            if some:
                self.pool[home] -= some
                self.here[executor] += some
                self.total[executor] += some
                self._leave(executor, some)

    def cores(self) -> Cores:
        """What came of it: cores that the pool gave and nobody had free are taken from those who lent them."""
        owed = np.maximum(self.pool_before - self.pool - self.free, 0)
        lenders = np.flatnonzero(self.lent)
        here = self.here.copy()
        here[lenders] -= fill(self.homes[lenders], self.lent[lenders], owed)
        living = np.flatnonzero(here)
        away = Cores.of((e, node, cores) for e, spread in self.remote.items() for node, cores in spread.items())
        return Cores.summed(
            np.r_[living, away.executor], np.r_[self.homes[living], away.node], np.r_[here[living], away.cores]
        )

    def _leave(self, executor: int, cores: int) -> None:
        """Give up remote cores, first where there are fewest."""
        spread = self.remote[executor]
        for node, there in sorted(spread.items(), key=lambda place: (place[1], place[0])):
            some = min(cores, there)
            cores -= some
            spread[node] -= some
            self.free[node] += some
            self.total[executor] -= some
        self.remote[executor] = {node: there for node, there in spread.items() if there}


class Market:
    """Cores change hands: who has too many offers them, who has too few takes the cheapest.

    The price of a core is the state that moves, the paper's C- for who gives and C+ for who takes. Works on lists,
    since single elements of arrays are slow.
    """

    def __init__(self, board: Board, state: Values) -> None:
        self.board, self.remote = board, board.remote
        self.state: list[float] = state.tolist()
        self.homes: list[int] = board.homes.tolist()
        self.wanted: list[int] = board.wanted.tolist()
        self.here: list[int] = board.here.tolist()
        self.total: list[int] = board.total.tolist()
        self.pool: list[int] = board.pool.tolist()
        self.offered: list[int] = board.offered.tolist()
        self.lent: list[int] = board.lent.tolist()
        self.rooms = [(-room, node) for node, room in enumerate(self.pool) if room]
        heapq.heapify(self.rooms)
        donors = np.flatnonzero(board.offered).tolist()
        # Cheapest last, where a list gives it up at once.
        self.offers = sorted((offer for donor in donors for offer in self._offers(donor)), reverse=True)
        self.remote_on: dict[int, list[Offer]] = {}
        for offer in self.offers:
            self.remote_on.setdefault(offer[1], []).append(offer)
        self.home_on: dict[int, list[int]] = {}
        for donor in donors:
            self.home_on.setdefault(self.homes[donor], []).append(donor)

    def fill_at_home(self, taker: int) -> None:
        """Give a taker what it needs from others who have too many cores, some of them on its home."""
        home = self.homes[taker]
        while (need := self.wanted[taker] - self.total[taker]) > 0:
            if offer := self._cheapest(self.remote_on.get(home, [])):
                self._give(offer[2], home, taker, need)
            elif donors := [d for d in self.home_on.get(home, []) if self._spare(d, home)]:
                self._give(min(donors, key=lambda d: (self._price(d, home), d)), home, taker, 1)
            else:
                return

    def fill(self, taker: int) -> None:
        """Give a taker what it needs from anywhere.

        There is always something: no more is wanted than there are cores, so who has too few leaves some free or with
        another.
        """
        while (need := self.wanted[taker] - self.total[taker]) > 0:
            _, _, _, node, donor = min(self._options(taker))
            if donor >= 0:
                self._give(donor, node, taker, need)
            else:
                # Having more cores there makes the next one there only cheaper: take all that are needed.
                some = min(need, self.pool[node])
                self.pool[node] -= some
                self._add(taker, node, some)

    def close(self) -> None:
        """Put the result on the board."""
        self.board.here, self.board.total, self.board.pool = (
            np.array(values, dtype=np.int64) for values in (self.here, self.total, self.pool)
        )

    def _options(self, taker: int) -> list[tuple[float, int, bool, int, int]]:
        """Bytes moved, distance, whether it is taken from somebody, the node, and from whom, or -1.

        Nodes on which the taker has no core all cost it the same, so of those only the cheapest offer and the node with
        the largest pool need a look.
        """
        home, total, spread = self.homes[taker], self.total[taker], self.remote.get(taker, {})
        # C+ is s (X - x) / (X (X + 1)): what a new core gets of the state on other nodes. Before the first core, the
        # state is at home.
        each = self.state[taker] / (total * (total + 1)) if total else self.state[taker]
        mine = [(0, home, self.here[taker] if total else 1)]
        mine += [(1, node, there) for node, there in spread.items()]
        mine += [(2, node, spread.get(node, 0)) for node in self._elsewhere() if node != home]
        found: list[tuple[float, int, bool, int, int]] = []
        for distance, node, there in mine:
            price = each * (max(total, 1) - there)
            if self.pool[node]:
                found.append((price, distance, False, node, -1))
            elif node in self.remote_on and (offer := self._cheapest(self.remote_on[node])):
                found.append((price + offer[0], distance, True, node, offer[2]))
        return found

    def _elsewhere(self) -> list[int]:
        """The node with the largest pool, and that of the cheapest offer."""
        rooms = self.rooms
        while rooms and -rooms[0][0] != (left := self.pool[rooms[0][1]]):
            if left:
                heapq.heapreplace(rooms, (-left, rooms[0][1]))
            else:
                heapq.heappop(rooms)
        offer = self._cheapest(self.offers)
        return [node for _, node in rooms[:1]] + ([offer[1]] if offer else [])

    def _offers(self, donor: int) -> list[Offer]:
        return [(self._price(donor, node), node, donor) for node in self.remote[donor]]

    def _price(self, donor: int, node: int) -> float:
        """C-, which is s (X - x) / (X (X - 1)): what goes from this core to other nodes; everything from the last."""
        total, there = self.total[donor], self._there(donor, node)
        return self.state[donor] * (total - there) / (total * (total - 1)) if total > 1 else self.state[donor]

    def _there(self, executor: int, node: int) -> int:
        return self.here[executor] if node == self.homes[executor] else self.remote[executor].get(node, 0)

    def _spare(self, donor: int, node: int) -> int:
        """How many cores an executor can give on a node."""
        lent = self.lent[donor] if node == self.homes[donor] else 0
        return min(self.offered[donor], self._there(donor, node) - lent)

    def _cheapest(self, offers: list[Offer]) -> Offer | None:
        """The last offer whose executor still has a core there to give; those before it are spent."""
        while offers:
            _, node, donor = offers[-1]
            if self.offered[donor] and node in self.remote[donor]:
                return offers[-1]
            offers.pop()
        return None

    def _give(self, donor: int, node: int, taker: int, need: int) -> None:
        some = min(need, self._spare(donor, node))
        self.offered[donor] -= some
        self._add(donor, node, -some)
        self._add(taker, node, some)

    def _add(self, executor: int, node: int, cores: int) -> None:
        self.total[executor] += cores
        if node == self.homes[executor]:
            self.here[executor] += cores
            return
        spread = self.remote.setdefault(executor, {})
        spread[node] = spread.get(node, 0) + cores
        if not spread[node]:
            del spread[node]


def trade(board: Board, state: Values, intensity: Values, stays: Flags) -> None:
    """The loop of Algorithm 1 for everyone who still needs cores, most data per core first.

    If a data-intensive executor finds no core at home, the paper doubles the threshold for all and starts again. Here
    only that executor goes elsewhere: those before it have their cores at home already, and those after it still try.
    """
    takers = np.flatnonzero(board.total < board.wanted)
    if not len(takers):
        return
    market = Market(board, state)
    for taker in takers[np.argsort(-intensity[takers], kind="stable")].tolist():
        if stays[taker]:
            market.fill_at_home(taker)
        market.fill(taker)
    market.close()
