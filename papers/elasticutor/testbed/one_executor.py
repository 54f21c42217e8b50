"""A single elastic executor on many cores (Elasticutor section 5.2)."""

from __future__ import annotations

from dataclasses import dataclass

from papers.elasticutor.testbed.clusters import CORES, SHARDS, MicroRun
from rheostat.elastic.policies import Elasticutor
from rheostat.simulate.latency_bins import quantile


@dataclass(frozen=True)
class Scaled:
    """What one executor did in the second half of a run.

    Attributes:
        throughput: rows per second.
        p99: 99th percentile of latency in seconds.
        moves: shards that changed their node, per shuffle.
        transfer: mean seconds until a moved shard's state arrived, including the wait for other transfers.
    """

    throughput: float
    p99: float = float("nan")
    moves: float = 0.0
    transfer: float = 0.0


@dataclass(frozen=True)
class OneExecutor:
    """One executor that has all cores of a cluster and its main process on the first node.

    Attributes:
        cores: number of cores in the cluster.
        seed: of all random numbers.
        seconds: length of the run; only the second half is measured.
        cost: core seconds per row.
        size: bytes per row.
        state: bytes of state per shard.
        omega: key shuffles per minute.
        load: offered rows over what all cores can process.
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
        """Run it and return what was measured."""
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
