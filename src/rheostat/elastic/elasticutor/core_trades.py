"""The steps of Algorithm 1: moves that cost nothing for all executors at once, the others on a market."""

from __future__ import annotations

import numpy as np

from rheostat.arrays import Flags, Floats, Ints
from rheostat.elastic.elasticutor.core_market import ENTRIES, CoreMarket, exchange
from rheostat.elastic.elasticutor.cores import Cores, fill, sums
from rheostat.elastic.elasticutor.prices import give_prices


class CoreTrades:
    """The cores of all executors while they change hands.

    ``placement.place`` calls ``give_up_surplus``, ``take_from_pools``, ``trade``, ``return_home`` and ``cores`` in that
    order.

    Attributes:
        homes: the home node of each executor.
        wanted: the number of cores that each executor should have.
        at_home: the number of cores at home, by executor.
        total: the number of all cores, by executor.
        away: the remote cores.
        free: the number of free cores, by node.
        offered: the number of cores that each executor gives if another needs them, its cores in pools not counted.
        lent: the number of cores at home that each executor has in the pool of its home.
        pool: the number of cores that cost nothing, by node.
        pool_before: ``pool`` before any core was taken from it.
    """

    def __init__(self, kept: Cores, homes: Ints, wanted: Ints, nodes: Ints) -> None:
        """Start from the current cores.

        Args:
            kept: the current cores that still exist.
            homes: the home node of each executor.
            wanted: the number of cores that each executor should have.
            nodes: the number of cores of each node.
        """
        self.homes, self.wanted = homes, wanted
        at_home = kept.node == homes[kept.executor]
        self.at_home = sums(kept.executor[at_home], kept.cores[at_home], len(homes))
        self.total = kept.by_executor(len(homes))
        self.free = nodes - kept.by_node(len(nodes))
        self.away = kept.part(~at_home)

    def give_up_surplus(self, returns: Flags) -> None:
        """Take surplus remote cores from executors that should return home, and compute offers and pools.

        Other executors also give remote cores first, but only when another executor needs them. The paper's C- suggests
        giving those at home, which is cheaper at once but leaves executors scattered over nodes, and then every later
        change is expensive. The surplus of an executor that has only cores at home costs nothing. These cores and the
        free ones are the pool of a node.

        Args:
            returns: True for executors that should return home.
        """
        self._give_up_remote(np.where(returns, np.maximum(self.total - self.wanted, 0), 0))
        surplus = np.maximum(self.total - self.wanted, 0)
        self.offered = np.minimum(surplus, self.total - self.at_home)
        self.lent = surplus - self.offered
        self.pool = self.free + sums(self.homes, self.lent, len(self.free))
        self.pool_before = self.pool.copy()

    def take_from_pools(self, intensity: Floats, local: Flags) -> None:
        """Give cores from the pool at home to executors that have only cores at home, or are local.

        Args:
            intensity: bytes per second and core of each executor. The largest are served first.
            local: True for executors above the locality threshold.
        """
        need = np.maximum(self.wanted - self.total, 0)
        takers = np.flatnonzero((need > 0) & ((self.at_home == self.total) | local))
        takers = takers[np.argsort(-intensity[takers], kind="stable")]
        taken = fill(self.homes[takers], need[takers], self.pool)
        self.at_home[takers] += taken
        self.total[takers] += taken
        self.pool -= sums(self.homes[takers], taken, len(self.pool))

    def trade(self, state: Floats, intensity: Floats, local: Flags) -> None:
        """Run the loop of Algorithm 1 for all executors that still need cores.

        If a local executor finds no core at home, the paper doubles the threshold for all executors and starts again.
        Here only that executor takes remote cores: those before it already have theirs at home, and those after it
        still try. ``printed_placement`` follows the paper.

        Args:
            state: bytes of state of each executor.
            intensity: bytes per second and core of each executor. The largest are served first.
            local: True for executors above the locality threshold.
        """
        takers = np.flatnonzero(self.total < self.wanted)
        if not len(takers):
            return
        market = self._market(state, int((self.wanted - self.total)[takers].sum()))
        exchange(market, takers[np.argsort(-intensity[takers], kind="stable")], local)
        used = slice(int(market.sizes[ENTRIES]))
        self.away = Cores.summed(market.owners[used], market.nodes[used], market.cores[used])

    def return_home(self, returns: Flags) -> None:
        """Replace remote cores by cores from the pool at home, as many as the pool has.

        Args:
            returns: True for executors that should return home.
        """
        remote = np.where(returns, self.total - self.at_home, 0)
        replaced = fill(self.homes, remote, self.pool)
        self.pool -= sums(self.homes, replaced, len(self.pool))
        self.at_home += replaced
        self.total += replaced
        self._give_up_remote(replaced)

    def cores(self) -> Cores:
        """Return the resulting cores.

        Where more cores were taken from a pool than were free, executors lose the cores that they had lent to it.
        """
        owed = np.maximum(self.pool_before - self.pool - self.free, 0)
        at_home = self.at_home - fill(self.homes, self.lent, owed)
        executors = np.flatnonzero(at_home)
        return Cores.summed(
            np.r_[executors, self.away.executor],
            np.r_[self.homes[executors], self.away.node],
            np.r_[at_home[executors], self.away.cores],
        )

    def _give_up_remote(self, cores: Ints) -> None:
        """Take up to ``cores`` remote cores from each executor, first from nodes on which it has fewest."""
        away = self.away
        entries = np.flatnonzero(cores[away.executor])
        if not len(entries):
            return
        entries = entries[np.lexsort((away.node[entries], away.cores[entries]))]
        left = away.cores.copy()
        left[entries] -= fill(away.executor[entries], left[entries], cores)
        given_up = away.cores - left
        self.free += sums(away.node, given_up, len(self.free))
        self.total -= sums(away.executor, given_up, len(self.total))
        self.away = Cores(away.executor, away.node, left).part(left > 0)

    def _market(self, state: Floats, need: int) -> CoreMarket:
        """Return a market with offers by price, by node and by home. It changes the arrays of this object.

        Args:
            state: bytes of state of each executor.
            need: the number of cores needed, and so the most entries that the market adds.
        """
        nodes, size, away = len(self.free), len(self.homes), self.away
        owners, places, counts = (
            np.concatenate([column, np.zeros(need, dtype=np.int64)])
            for column in (away.executor, away.node, away.cores)
        )
        offers = np.flatnonzero(self.offered[away.executor] > 0)
        donor, total = away.executor[offers], self.total[away.executor[offers]]
        prices = give_prices(state[donor], total, away.cores[offers])
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
            at_home=self.at_home,
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
            home_prices=np.full(len(donors), np.inf),
            trees=trees,
            # Keys as ``key_of`` computes them. A sorted array is a heap.
            pool_heap=np.sort(-self.pool[with_pool] * nodes + with_pool),
            own_entry=np.zeros(nodes, dtype=np.int64),
            own_entries=np.zeros(nodes, dtype=np.int64),
            sizes=np.array([len(away.executor), 0, len(with_pool), 0]),
        )
