"""An assignment of cores while it changes: what costs nothing for all executors at once, the rest on a market."""

from __future__ import annotations

import numpy as np

from rheostat.arrays import Flags, Floats, Ints
from rheostat.elastic.elasticutor.core_market import USED, CoreMarket, exchange
from rheostat.elastic.elasticutor.cores import Cores, fill, sums


class Board:
    """The assignment while it changes: cores at home by executor, and the remote ones as entries, executor by executor.

    Attributes:
        here: cores at home, by executor.
        total: all cores, by executor.
        away: the remote ones.
        free: cores that nobody has, by node.
    """

    def __init__(self, kept: Cores, homes: Ints, wanted: Ints, nodes: Ints) -> None:
        self.homes, self.wanted = homes, wanted
        at_home = kept.node == homes[kept.executor]
        self.here = sums(kept.executor[at_home], kept.cores[at_home], len(homes))
        self.total = kept.by_executor(len(homes))
        self.free = nodes - kept.by_node(len(nodes))
        self.away = kept.part(~at_home)

    def leave_surplus(self, returns: Flags) -> None:
        """Executors that ought to come home give up remote cores that they do not need; then the pools are known.

        Others give remote cores first as well, if somebody asks. To give those at home, as the paper's C- suggests, is
        cheaper once, but leaves executors scattered, for which every later change is dear. What an executor at home
        has too many of goes for nothing, as if it were free: these cores and the free ones are a node's pool.
        """
        self._leave(np.where(returns, np.maximum(self.total - self.wanted, 0), 0))
        surplus = np.maximum(self.total - self.wanted, 0)
        self.offered = np.minimum(surplus, self.total - self.here)
        self.lent = surplus - self.offered
        self.pool = self.free + sums(self.homes, self.lent, len(self.free))
        self.pool_before = self.pool.copy()

    def move_for_free(self, intensity: Floats, stays: Flags) -> None:
        """Cores from the pool of a home for those who live there only, or must; most data per core first."""
        need = np.maximum(self.wanted - self.total, 0)
        takers = np.flatnonzero((need > 0) & ((self.here == self.total) | stays))
        takers = takers[np.argsort(-intensity[takers], kind="stable")]
        got = fill(self.homes[takers], need[takers], self.pool)
        self.here[takers] += got
        self.total[takers] += got
        self.pool -= sums(self.homes[takers], got, len(self.pool))

    def trade(self, state: Floats, intensity: Floats, stays: Flags) -> None:
        """The loop of Algorithm 1 for everyone who still needs cores, most data per core first.

        If a data-intensive executor finds no core at home, the paper doubles the threshold for all and starts again.
        Here only that executor goes elsewhere: those before it have their cores at home already, and those after it
        still try. ``printed`` does as the paper.
        """
        takers = np.flatnonzero(self.total < self.wanted)
        if not len(takers):
            return
        market = self._market(state, int((self.wanted - self.total)[takers].sum()))
        exchange(market, takers[np.argsort(-intensity[takers], kind="stable")], stays)
        used = slice(int(market.sizes[USED]))
        self.away = Cores.summed(market.owners[used], market.nodes[used], market.cores[used])

    def come_home(self, returns: Flags) -> None:
        """Replace remote cores of executors that ought to come home, as far as their homes have cores to give."""
        remote = np.where(returns, self.total - self.here, 0)
        some = fill(self.homes, remote, self.pool)
        self.pool -= sums(self.homes, some, len(self.pool))
        self.here += some
        self.total += some
        self._leave(some)

    def cores(self) -> Cores:
        """What came of it: cores that the pool gave and nobody had free are taken from those who lent them."""
        owed = np.maximum(self.pool_before - self.pool - self.free, 0)
        here = self.here - fill(self.homes, self.lent, owed)
        living = np.flatnonzero(here)
        return Cores.summed(
            np.r_[living, self.away.executor],
            np.r_[self.homes[living], self.away.node],
            np.r_[here[living], self.away.cores],
        )

    def _leave(self, cores: Ints) -> None:
        """Every executor gives up some of its remote cores, as far as it has any, first where there are fewest."""
        away = self.away
        fewest = np.flatnonzero(cores[away.executor])
        if not len(fewest):
            return
        fewest = fewest[np.lexsort((away.node[fewest], away.cores[fewest]))]
        left = away.cores.copy()
        left[fewest] -= fill(away.executor[fewest], left[fewest], cores)
        gone = away.cores - left
        self.free += sums(away.node, gone, len(self.free))
        self.total -= sums(away.executor, gone, len(self.total))
        self.away = Cores(away.executor, away.node, left).part(left > 0)

    def _market(self, state: Floats, need: int) -> CoreMarket:
        """Offers by price, by node and by home. Works on the board's own arrays, and has room for as many new entries
        as there are cores needed."""
        nodes, size, away = len(self.free), len(self.homes), self.away
        owners, places, counts = (
            np.concatenate([column, np.zeros(need, dtype=np.int64)])
            for column in (away.executor, away.node, away.cores)
        )
        offers = np.flatnonzero(self.offered[away.executor] > 0)
        donor, total = away.executor[offers], self.total[away.executor[offers]]
        # The paper's C-, as the market has it for cores at home.
        prices = np.where(
            total > 1, state[donor] * (total - away.cores[offers]) / np.maximum(total * (total - 1), 1), state[donor]
        )
        order = np.lexsort((donor, away.node[offers], prices))
        offers, prices = offers[order], prices[order]
        by_node = np.argsort(away.node[offers], kind="stable")
        ends = np.cumsum(np.bincount(away.node[offers], minlength=nodes))
        donors = np.flatnonzero(self.offered)
        donors = donors[np.argsort(self.homes[donors], kind="stable")]
        per_home = np.bincount(self.homes[donors], minlength=nodes)
        first_donors = np.concatenate([[0], np.cumsum(per_home)])
        donor_places = np.zeros(size, dtype=np.int64)
        donor_places[donors] = np.arange(len(donors))
        first, count = first_donors[self.homes[donors]], per_home[self.homes[donors]]
        trees = np.repeat(first, 2)
        trees[first + count + np.arange(len(donors))] = np.arange(len(donors))
        with_pool = np.flatnonzero(self.pool)
        return CoreMarket(
            homes=self.homes,
            wanted=self.wanted,
            state=state,
            here=self.here,
            total=self.total,
            pool=self.pool,
            offered=self.offered,
            lent=self.lent,
            starts=np.searchsorted(away.executor, np.arange(size + 1)),
            owners=owners,
            nodes=places,
            cores=counts,
            offers=offers,
            prices=prices,
            by_node=by_node,
            cursors=np.concatenate([[0], ends[:-1]]),
            ends=ends,
            donors=donors,
            first_donors=first_donors,
            donor_places=donor_places,
            asked=np.full(len(donors), np.inf),
            trees=trees,
            # A sorted array is a heap.
            rooms=np.sort(-self.pool[with_pool] * nodes + with_pool),
            mine=np.zeros(nodes, dtype=np.int64),
            spots=np.zeros(nodes, dtype=np.int64),
            sizes=np.array([len(away.executor), 0, len(with_pool), 0]),
        )
