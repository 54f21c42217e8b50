"""Beyond the paper: one scheduling decision for ten thousand nodes, and how fast the simulator is."""

from __future__ import annotations

import time

import numpy as np

from rheostat.elastic.cores import Cores
from rheostat.elastic.placement import Executors, schedule
from rheostat.elastic.plan import OperatorPlan, Plan
from rheostat.reproduce.claims import Claim
from rheostat.reproduce.run import Run
from rheostat.simulate.continuous import Continuous
from rheostat.simulate.job import Cluster, Costs, Job, Operator, Timing
from rheostat.workloads.market import Market

NODES, CORES, EXECUTORS = 10_000, 8, 20_000


def decisions(run: Run, rounds: int = 5) -> list[Claim]:
    """How long a decision takes when the load of every executor has changed at random since the one before."""
    random = np.random.default_rng(run.seed)
    homes, services = np.arange(EXECUTORS) % NODES, np.full(EXECUTORS, 1000.0)
    cores, took = Cores.of([]), []
    for _ in run.each("a decision for 10,000 nodes", range(rounds + 1)):
        arrivals = random.gamma(4.0, 600.0, EXECUTORS)
        known = Executors(arrivals, services, np.full(EXECUTORS, 8e6), arrivals * 256.0, homes)
        begin = time.thread_time()
        found = schedule(known, np.full(NODES, CORES), cores, bound=0.01, external=float(arrivals.sum()))
        took.append(time.thread_time() - begin)
        cores, homes = found.placement.cores, found.placement.homes
    worst = max(took[1:])
    return [
        Claim(
            "internet-scheduling",
            "one scheduling decision for 10,000 nodes takes at most 250 ms",
            "-",
            f"{worst * 1e3:.0f} ms at most, {np.median(took[1:]) * 1e3:.0f} ms usually",
            worst <= 0.25,
            "20,000 executors; all loads change between two decisions. Time of one core of this machine.",
        )
    ]


def speed(run: Run) -> list[Claim]:
    """Orders of the exchange per second that the simulator takes for them, on one core."""
    seconds = 600.0 if run.quick else 3600.0
    job = Job((Operator("auction", 64, 1 / 250),))
    plan = Plan({"auction": OperatorPlan.even(64, 40, 4)}, 4)
    engine = Continuous(
        job, Cluster(4, 16), Market(seed=run.seed), plan, costs=Costs(queue=10**9), timing=Timing(10.0, 10.0)
    )
    engine.step()  # compiles, and draws how many orders each second has
    orders, begin = 0, time.thread_time()
    for _ in run.each("the simulator's speed", range(int(seconds / 10))):
        orders += engine.step().admitted
    rate = orders / (time.thread_time() - begin)
    return [
        Claim(
            "simulator-speed",
            "the simulator runs at least 5 million orders of the exchange per second, on one core",
            "-",
            f"{rate / 1e6:.1f} million a second",
            rate >= 5e6,
            "One operator of 40 slots, observed every 10 s; time of one core of this machine, which others share.",
        )
    ]
