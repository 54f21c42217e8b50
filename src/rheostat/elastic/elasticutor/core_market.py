"""The market on which executors with too few cores take the cheapest ones of others (Elasticutor section 4.2).

This is the loop of Algorithm 1, compiled. The price of a core is the number of bytes of state that move: the paper's C-
for the executor that gives the core, the donor, and C+ for the one that gets it, the taker. Remote cores are kept in
entries: an executor, a node that is not its home, and the number of its cores there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rheostat.arrays import Flags, Floats, Ints
from rheostat.jit import compiled

NOBODY = -1
"""Returned instead of an offer or a node if there is none."""

ENTRIES, FIRST_OFFER, HEAP, OWN = 0, 1, 2, 3
"""Places in ``CoreMarket.sizes``: entries in use, first offer with cores left, nodes in the heap, own entries."""


class CoreMarket(NamedTuple):
    """The cores while they change hands, and indexes that find the cheapest one fast. All arrays change in place.

    Attributes:
        homes: the home node of each executor.
        wanted: the number of cores that each executor should have.
        state: bytes of state of each executor.
        at_home: the number of cores at home, by executor.
        total: the number of all cores, by executor.
        pool: the number of cores of each node that cost nothing.
        offered: the number of cores that each executor has to give, its cores in pools not counted.
        lent: the number of cores at home that each executor has in the pool of its home.
        starts: where the entries of each executor begin. New entries are appended after all of these.
        owners: the executor of each entry.
        nodes: the node of each entry.
        cores: the number of cores of each entry.
        offers: the entries whose executor has cores to give, cheapest first.
        prices: the price of each offer, in bytes.
        by_node: places in ``offers``, node by node, cheapest first.
        cursors: the place in ``by_node`` of each node's first offer with cores left.
        ends: the place in ``by_node`` where the offers of each node end.
        donors: the executors with cores to give, home by home.
        first_donors: where the donors of each home begin.
        donor_places: the place of each executor in ``donors``.
        home_prices: the price of a core at home of each donor; infinite if it has none to give.
        trees: for each home a tournament tree of its donors by price, with two places for each donor.
        pool_heap: a heap of the nodes by pool, largest pool first, as keys from ``key_of``.
        own_entry: the entry of the present taker on each node, plus 1; 0 if it has none.
        own_entries: the entries of the present taker on nodes that may have cores to give.
        sizes: how much of some arrays is in use; see ``ENTRIES``, ``FIRST_OFFER``, ``HEAP`` and ``OWN``.
    """

    homes: Ints
    wanted: Ints
    state: Floats
    at_home: Ints
    total: Ints
    pool: Ints
    offered: Ints
    lent: Ints
    starts: Ints
    owners: Ints
    nodes: Ints
    cores: Ints
    offers: Ints
    prices: Floats
    by_node: Ints
    cursors: Ints
    ends: Ints
    donors: Ints
    first_donors: Ints
    donor_places: Ints
    home_prices: Floats
    trees: Ints
    pool_heap: Ints
    own_entry: Ints
    own_entries: Ints
    sizes: Ints


@compiled
def exchange(m: CoreMarket, takers: Ints, local: Flags) -> None:
    """Give every taker the cores it needs, one taker after the other.

    Args:
        m: the market.
        takers: the executors that need cores, in the order in which they are served.
        local: True for executors that try their home first.
    """
    for k in range(len(m.donors)):
        _update_home_price(m, m.donors[k])
    for taker in takers:
        before = m.sizes[ENTRIES]
        m.sizes[OWN] = 0
        for entry in range(m.starts[taker], m.starts[taker + 1]):
            _note_own_entry(m, entry)
        if local[taker]:
            _fill_at_home(m, taker)
        _fill(m, taker)
        for entry in range(m.starts[taker], m.starts[taker + 1]):
            m.own_entry[m.nodes[entry]] = 0
        for entry in range(before, m.sizes[ENTRIES]):
            m.own_entry[m.nodes[entry]] = 0


@compiled
def _fill_at_home(m: CoreMarket, taker: int) -> None:
    """Give a taker the cores it needs from its home, as long as others have cores to give there."""
    home = m.homes[taker]
    first, count = m.first_donors[home], m.first_donors[home + 1] - m.first_donors[home]
    while m.total[taker] < m.wanted[taker]:
        offer = _cheapest_on(m, home)
        if offer != NOBODY:
            _sell(m, m.offers[offer], taker)
            continue
        if count == 0 or m.home_prices[m.trees[2 * first + 1]] == np.inf:
            return
        donor = m.donors[m.trees[2 * first + 1]]
        m.offered[donor] -= 1
        m.total[donor] -= 1
        m.at_home[donor] -= 1
        _update_home_price(m, donor)
        _receive(m, taker, home, 1)


@compiled
def _fill(m: CoreMarket, taker: int) -> None:
    """Give a taker the cores it needs from any node.

    There are always enough: no more cores are wanted than exist, so if one executor has too few, others have too many
    or some are free. All nodes on which the taker has no core cost it the same, so only two of them are compared: the
    one with the cheapest offer and the one with the largest pool. The fewest bytes moved win, then the shortest
    distance, then a free core, then the lowest node number.
    """
    home = m.homes[taker]
    while m.total[taker] < m.wanted[taker]:
        total = m.total[taker]
        # C+ is s (X - x) / (X (X + 1)): the state that a new core gets from other nodes. Before the first core, all
        # state is at home.
        each = m.state[taker] / (total * (total + 1)) if total else m.state[taker]
        best = _option_on(m, each * (max(total, 1) - (m.at_home[taker] if total else 1)), 0, home)
        kept = 0
        for k in range(m.sizes[OWN]):
            entry = m.own_entries[k]
            option = _option_on(m, each * (total - m.cores[entry]), 1, m.nodes[entry])
            # Nodes without cores left are not looked at again.
            if option[3] != NOBODY:
                m.own_entries[kept] = entry
                kept += 1
            best = option if option < best else best
        m.sizes[OWN] = kept
        for node in (_largest_pool(m), _cheapest_node(m)):
            if node >= 0 and node != home and m.own_entry[node] == 0:
                option = _option_on(m, each * max(total, 1), 2, node)
                best = option if option < best else best
        node = best[3]
        if node == NOBODY:
            return
        if best[2]:
            _sell(m, m.offers[_cheapest_on(m, node)], taker)
        else:
            # Each core there makes the next one there cheaper, so take all that are needed.
            count = min(m.wanted[taker] - total, m.pool[node])
            m.pool[node] -= count
            _receive(m, taker, node, count)


@compiled
def _option_on(m: CoreMarket, price: float, distance: int, node: int) -> tuple[float, int, int, int]:
    """Return what a core on a node would cost a taker, as a tuple that sorts by preference.

    Args:
        m: the market.
        price: bytes that the taker itself moves.
        distance: 0 for the taker's home, 1 for a node on which it has cores, 2 for another node.
        node: the node.

    Returns:
        Bytes moved in all, distance, 1 if a donor gives the core or 0 if the pool does, and the node. The node is
        NOBODY if it has no core to give.
    """
    if m.pool[node] > 0:
        return price, distance, 0, node
    offer = _cheapest_on(m, node)
    if offer != NOBODY:
        return price + m.prices[offer], distance, 1, node
    return np.inf, 3, 1, NOBODY


@compiled
def _cheapest_on(m: CoreMarket, node: int) -> int:
    """Return the cheapest offer on a node with cores left, and skip those without for good; NOBODY if there is none."""
    while m.cursors[node] < m.ends[node]:
        offer = m.by_node[m.cursors[node]]
        entry = m.offers[offer]
        if m.offered[m.owners[entry]] > 0 and m.cores[entry] > 0:
            return int(offer)
        m.cursors[node] += 1
    return NOBODY


@compiled
def _cheapest_node(m: CoreMarket) -> int:
    """Return the node of the cheapest offer with cores left; NOBODY if there is none."""
    while m.sizes[FIRST_OFFER] < len(m.offers):
        entry = m.offers[m.sizes[FIRST_OFFER]]
        if m.offered[m.owners[entry]] > 0 and m.cores[entry] > 0:
            return int(m.nodes[entry])
        m.sizes[FIRST_OFFER] += 1
    return NOBODY


@compiled
def _largest_pool(m: CoreMarket) -> int:
    """Return the node with the largest pool; NOBODY if all pools are empty.

    Pools only shrink, so a key that is out of date is corrected when it reaches the top of the heap.
    """
    while m.sizes[HEAP] > 0:
        node = m.pool_heap[0] % len(m.pool)
        if m.pool_heap[0] == key_of(m.pool[node], node, len(m.pool)):
            return int(node)
        if m.pool[node] > 0:
            m.pool_heap[0] = key_of(m.pool[node], node, len(m.pool))
        else:
            m.sizes[HEAP] -= 1
            m.pool_heap[0] = m.pool_heap[m.sizes[HEAP]]
        sift(m.pool_heap, m.sizes[HEAP])
    return NOBODY


@compiled
def _sell(m: CoreMarket, entry: int, taker: int) -> None:
    """Move cores of an entry to a taker: as many as it needs, its donor gives and the entry has."""
    donor = m.owners[entry]
    count = min(m.wanted[taker] - m.total[taker], m.offered[donor], m.cores[entry])
    m.offered[donor] -= count
    m.total[donor] -= count
    m.cores[entry] -= count
    _update_home_price(m, donor)
    _receive(m, taker, m.nodes[entry], count)


@compiled
def _receive(m: CoreMarket, taker: int, node: int, count: int) -> None:
    """Add cores on a node to those of a taker."""
    m.total[taker] += count
    if node == m.homes[taker]:
        m.at_home[taker] += count
    elif m.own_entry[node]:
        m.cores[m.own_entry[node] - 1] += count
    else:
        entry = m.sizes[ENTRIES]
        m.owners[entry], m.nodes[entry], m.cores[entry] = taker, node, count
        m.sizes[ENTRIES] += 1
        _note_own_entry(m, entry)


@compiled
def _note_own_entry(m: CoreMarket, entry: int) -> None:
    """Note an entry as one of the present taker."""
    m.own_entry[m.nodes[entry]] = entry + 1
    m.own_entries[m.sizes[OWN]] = entry
    m.sizes[OWN] += 1


@compiled
def _update_home_price(m: CoreMarket, donor: int) -> None:
    """Update the price of a donor's cores at home, and the tree that finds the cheapest donor there.

    The tree of a home is an array: node 1 is the root, the children of node i are 2 i and 2 i + 1, and the second half
    are the donors themselves. Every node holds the cheapest donor below it; of equal prices, the first.
    """
    place, home = m.donor_places[donor], m.homes[donor]
    spare = min(m.offered[donor], m.at_home[donor] - m.lent[donor])
    m.home_prices[place] = _give_price(m.state[donor], m.total[donor], m.at_home[donor]) if spare > 0 else np.inf
    first, count = m.first_donors[home], m.first_donors[home + 1] - m.first_donors[home]
    node = (count + place - first) // 2
    while node > 0:
        left, right = m.trees[2 * (first + node)], m.trees[2 * (first + node) + 1]
        if (m.home_prices[left], left) < (m.home_prices[right], right):
            m.trees[2 * first + node] = left
        else:
            m.trees[2 * first + node] = right
        node //= 2


@compiled
def _give_price(state: float, total: int, there: int) -> float:
    """Return the price of one core on a node, C-, as ``prices.give_prices`` does for arrays."""
    return state * (total - there) / (total * (total - 1)) if total > 1 else state


@compiled
def key_of(pool: int, node: int, nodes: int) -> int:
    """Return a node and its pool as one number, which sorts by the largest pool and then by the lowest node."""
    return -pool * nodes + node


@compiled
def sift(heap: Ints, size: int) -> None:
    """Restore the order of a heap after its first and smallest element was replaced by a larger one."""
    value, at = heap[0], 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = value


@compiled
def choose_homes(heap: Ints, nodes: int, wanted: Ints) -> Ints:
    """Return a home for each executor: the node with most room left, one executor after the other.

    Args:
        heap: the nodes by room, as keys from ``key_of``; changed in place.
        nodes: the number of nodes.
        wanted: the number of cores that each executor wants.
    """
    homes = np.empty(len(wanted), dtype=np.int64)
    for i in range(len(wanted)):
        homes[i] = heap[0] % nodes
        heap[0] += max(wanted[i], 1) * nodes
        sift(heap, len(heap))
    return homes
