"""A single elastic executor on many cores (Elasticutor section 5.2)."""

from __future__ import annotations

from dataclasses import dataclass

from papers.elasticutor.testbed.clusters import CORES, SHARDS, MicroRun
from rheostat.elastic.policies import Elasticutor
from rheostat.simulate.trace import quantile


@dataclass(frozen=True)
class Scaled:
    """What one executor did with so many cores, in the second half of a run.

    Attributes:
        throughput: rows per second.
        p99: seconds that 99 in 100 of them took at most.
        moves: shards that changed their node, per shuffle.
        transfer: seconds that their state took, with the wait for other state on its way.
    """

    throughput: float
    p99: float = float("nan")
    moves: float = 0.0
    transfer: float = 0.0


@dataclass(frozen=True)
class OneExecutor:
    """One executor that has all cores of a cluster, and its home on the first node.

    Attributes:
        cores: of the cluster.
        seed: everything random follows from it.
        seconds: how long it runs; the first half does not count.
        cost: seconds of a core per row.
        size: bytes of a row.
        state: bytes of a shard.
        omega: shuffles of the keys a minute.
        load: offered rows over what all cores can do.
    """

    cores: int
    seed: int
    seconds: float
    cost: float = 1e-3
    size: float = 128.0
    state: float = 32e3
    omega: float = 0.0
    load: float = 1.3

    def scaled(self) -> Scaled:
        """Run it."""
        half = self.seconds / 2
        run = MicroRun(
            Elasticutor.published(),
            max(1, self.cores // CORES),
            self.omega,
            self.seconds,
            executors=1,
            shards=SHARDS,
            cost=self.cost,
            size=self.size,
            state=self.state,
            cores=min(self.cores, CORES),
            seed=self.seed,
            warm_up=half,
            load=self.load,
            patience=0.0 if self.load > 1 else 1.0,
            spread=True,
        )
        trace = run.trace()
        after = trace.after(half)
        moved = float((trace.migrated[after] * trace.seconds[after]).sum()) / self.state
        shuffles = self.seconds * self.omega // 60 - half * self.omega // 60
        spent = trace.moved["far_seconds"] - trace.moved["far_sync_seconds"]
        return Scaled(
            trace.mean_throughput(half),
            quantile(trace.bins[0], 0.99),
            moved / max(shuffles, 1.0),
            spent / max(trace.moved["far_moves"], 1.0),
        )
