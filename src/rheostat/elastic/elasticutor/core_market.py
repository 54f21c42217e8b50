"""Cores change hands: who has too many offers them, who has too few takes the cheapest (Elasticutor section 4.2).

The loop of Algorithm 1, compiled. The price of a core is the state that moves, the paper's C- for who gives and C+ for
who takes. An entry is an executor, a node that is not its home, and the number of its cores there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rheostat.arrays import Floats, Ints
from rheostat.jit import compiled

NOBODY = -1
USED, FIRST, ROOMS, SPOTS = 0, 1, 2, 3
"""Places in ``CoreMarket.sizes``: entries in use, the first offer not spent, nodes in ``rooms``, and ``spots``."""


class CoreMarket(NamedTuple):
    """Everything that changes while cores change hands, and what is needed to find the cheapest at once.

    Attributes:
        homes: the node of every executor.
        wanted: cores that every executor is to have.
        state: bytes of state of every executor.
        here: cores at home, by executor.
        total: all cores, by executor.
        pool: cores of each node that go for nothing.
        offered: how many remote cores each executor gives.
        lent: how many cores at home each executor has in the pool of its home.
        starts: where the entries of each executor begin; those of takers that are new come after all of these.
        owners: the executor of each entry.
        nodes: the node of each entry.
        cores: how many cores each entry has.
        offers: entries on offer, cheapest first.
        prices: of the offers.
        by_node: places in ``offers``, node by node, cheapest first.
        cursors: the first offer of each node that is not spent.
        ends: where the offers of each node end.
        donors: executors with offers, home by home.
        first_donors: where the donors of each home begin.
        donor_places: the place of each executor among the donors.
        asked: what each donor asks for a core at home; infinite if it has none to give.
        trees: for every home a tree of its cheapest donors, twice as large as the number of donors.
        rooms: a heap of the nodes by pool, the largest first, as ``key_of`` writes them.
        mine: the entry of the present taker on each node, plus one.
        spots: entries of the present taker that are worth a look.
        sizes: how much of some arrays is in use: see ``USED`` and those after it.
    """

    homes: Ints
    wanted: Ints
    state: Floats
    here: Ints
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
    asked: Floats
    trees: Ints
    rooms: Ints
    mine: Ints
    spots: Ints
    sizes: Ints


@compiled
def exchange(m: CoreMarket, takers: Ints, stays: npt.NDArray[np.bool_]) -> None:
    """Give every taker in turn what it needs; those that stay try their homes first."""
    for k in range(len(m.donors)):
        _ask(m, m.donors[k])
    for taker in takers:
        before = m.sizes[USED]
        m.sizes[SPOTS] = 0
        for entry in range(m.starts[taker], m.starts[taker + 1]):
            _spot(m, entry)
        if stays[taker]:
            _fill_at_home(m, taker)
        _fill(m, taker)
        for entry in range(m.starts[taker], m.starts[taker + 1]):
            m.mine[m.nodes[entry]] = 0
        for entry in range(before, m.sizes[USED]):
            m.mine[m.nodes[entry]] = 0


@compiled
def _fill_at_home(m: CoreMarket, taker: int) -> None:
    """Give a taker what it needs from others who have too many cores, some of them on its home."""
    home = m.homes[taker]
    first, count = m.first_donors[home], m.first_donors[home + 1] - m.first_donors[home]
    while m.total[taker] < m.wanted[taker]:
        offer = _cheapest_on(m, home)
        if offer != NOBODY:
            _give(m, m.offers[offer], taker)
            continue
        if count == 0 or m.asked[m.trees[2 * first + 1]] == np.inf:
            return
        donor = m.donors[m.trees[2 * first + 1]]
        m.offered[donor] -= 1
        m.total[donor] -= 1
        m.here[donor] -= 1
        _ask(m, donor)
        _take(m, taker, home, 1)


@compiled
def _fill(m: CoreMarket, taker: int) -> None:
    """Give a taker what it needs from anywhere.

    There is always something: no more is wanted than there are cores, so who has too few leaves some free or with
    another. Nodes on which the taker has no core all cost it the same, so of those only the cheapest offer and the node
    with the largest pool need a look. Bytes moved decide, then distance, then whether somebody has to give, then the
    node.
    """
    home = m.homes[taker]
    while m.total[taker] < m.wanted[taker]:
        total = m.total[taker]
        # C+ is s (X - x) / (X (X + 1)): what a new core gets of the state on other nodes. Before the first core, the
        # state is at home.
        each = m.state[taker] / (total * (total + 1)) if total else m.state[taker]
        best = _option(m, each * (max(total, 1) - (m.here[taker] if total else 1)), 0, home)
        kept = 0
        for k in range(m.sizes[SPOTS]):
            entry = m.spots[k]
            option = _option(m, each * (total - m.cores[entry]), 1, m.nodes[entry])
            # A node that has nothing left gets nothing more.
            if option[3] != NOBODY:
                m.spots[kept] = entry
                kept += 1
            best = option if option < best else best
        m.sizes[SPOTS] = kept
        for node in (_largest_pool(m), _cheapest_node(m)):
            if node >= 0 and node != home and m.mine[node] == 0:
                option = _option(m, each * max(total, 1), 2, node)
                best = option if option < best else best
        node = best[3]
        if node == NOBODY:
            return
        if best[2]:
            _give(m, m.offers[_cheapest_on(m, node)], taker)
        else:
            # Having more cores there makes the next one there only cheaper: take all that are needed.
            some = min(m.wanted[taker] - total, m.pool[node])
            m.pool[node] -= some
            _take(m, taker, node, some)


@compiled
def _option(m: CoreMarket, price: float, distance: int, node: int) -> tuple[float, int, int, int]:
    """Bytes moved, distance, 1 if an executor has to give a core, and the node; NOBODY if the node has nothing."""
    if m.pool[node] > 0:
        return price, distance, 0, node
    offer = _cheapest_on(m, node)
    if offer != NOBODY:
        return price + m.prices[offer], distance, 1, node
    return np.inf, 3, 1, NOBODY


@compiled
def _cheapest_on(m: CoreMarket, node: int) -> int:
    """The cheapest offer on a node of an executor that still has a core there to give; those before it are spent."""
    while m.cursors[node] < m.ends[node]:
        offer = m.by_node[m.cursors[node]]
        entry = m.offers[offer]
        if m.offered[m.owners[entry]] > 0 and m.cores[entry] > 0:
            return int(offer)
        m.cursors[node] += 1
    return NOBODY


@compiled
def _cheapest_node(m: CoreMarket) -> int:
    """The node of the cheapest offer of all."""
    while m.sizes[FIRST] < len(m.offers):
        entry = m.offers[m.sizes[FIRST]]
        if m.offered[m.owners[entry]] > 0 and m.cores[entry] > 0:
            return int(m.nodes[entry])
        m.sizes[FIRST] += 1
    return NOBODY


@compiled
def _largest_pool(m: CoreMarket) -> int:
    """The node with the largest pool. Pools only shrink: nodes that have become smaller sink when they come up."""
    while m.sizes[ROOMS] > 0:
        node = m.rooms[0] % len(m.pool)
        if m.rooms[0] == key_of(m.pool[node], node, len(m.pool)):
            return int(node)
        if m.pool[node] > 0:
            m.rooms[0] = key_of(m.pool[node], node, len(m.pool))
        else:
            m.sizes[ROOMS] -= 1
            m.rooms[0] = m.rooms[m.sizes[ROOMS]]
        sift(m.rooms, m.sizes[ROOMS])
    return NOBODY


@compiled
def _give(m: CoreMarket, entry: int, taker: int) -> None:
    """Cores of an entry to a taker: what it needs, what its executor gives, or all there are."""
    donor = m.owners[entry]
    some = min(m.wanted[taker] - m.total[taker], m.offered[donor], m.cores[entry])
    m.offered[donor] -= some
    m.total[donor] -= some
    m.cores[entry] -= some
    _ask(m, donor)
    _take(m, taker, m.nodes[entry], some)


@compiled
def _take(m: CoreMarket, taker: int, node: int, some: int) -> None:
    m.total[taker] += some
    if node == m.homes[taker]:
        m.here[taker] += some
    elif m.mine[node]:
        m.cores[m.mine[node] - 1] += some
    else:
        entry = m.sizes[USED]
        m.owners[entry], m.nodes[entry], m.cores[entry] = taker, node, some
        m.sizes[USED] += 1
        _spot(m, entry)


@compiled
def _spot(m: CoreMarket, entry: int) -> None:
    """Note that the present taker has cores there."""
    m.mine[m.nodes[entry]] = entry + 1
    m.spots[m.sizes[SPOTS]] = entry
    m.sizes[SPOTS] += 1


@compiled
def _ask(m: CoreMarket, donor: int) -> None:
    """Update what a donor asks for a core at home, and who is the cheapest there.

    A home's tree is an array: node 1 is the root, the children of node i are 2 i and 2 i + 1, and the last half are the
    donors themselves. Every node holds the cheapest donor below it, the first of several.
    """
    place, home = m.donor_places[donor], m.homes[donor]
    spare = min(m.offered[donor], m.here[donor] - m.lent[donor])
    m.asked[place] = give_price(m.state[donor], m.total[donor], m.here[donor]) if spare > 0 else np.inf
    first, count = m.first_donors[home], m.first_donors[home + 1] - m.first_donors[home]
    node = (count + place - first) // 2
    while node > 0:
        left, right = m.trees[2 * (first + node)], m.trees[2 * (first + node) + 1]
        worse = m.asked[right] > m.asked[left] or (m.asked[right] == m.asked[left] and right > left)
        m.trees[2 * first + node] = left if worse else right
        node //= 2


@compiled
def give_price(state: float, total: int, there: int) -> float:
    """C-, which is s (X - x) / (X (X - 1)): what goes from this core to other nodes; everything from the last."""
    return state * (total - there) / (total * (total - 1)) if total > 1 else state


@compiled
def key_of(pool: int, node: int, nodes: int) -> int:
    """A node with its pool as one number: the larger the pool, the smaller; of equal pools, the first node's."""
    return -pool * nodes + node


@compiled
def sift(heap: Ints, size: int) -> None:
    """Restore a heap after its first element, the smallest, was replaced by a larger one."""
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
def settle(heap: Ints, nodes: int, wanted: Ints) -> Ints:
    """A node for each executor in turn, the one with most room left, from a heap of nodes as ``key_of`` writes them."""
    found = np.empty(len(wanted), dtype=np.int64)
    for i in range(len(wanted)):
        found[i] = heap[0] % nodes
        heap[0] += max(wanted[i], 1) * nodes
        sift(heap, len(heap))
    return found
