"""Beyond the paper: one scheduling decision for ten thousand nodes, and how fast the simulator is."""

from __future__ import annotations

import time

import numpy as np

from papers.claims import Claim, addition
from papers.paper_run import Run
from rheostat.elastic.elasticutor.cores import Cores
from rheostat.elastic.elasticutor.placement import Executors, schedule
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.policy import Pause
from rheostat.elastic.policies import StreamSwitch
from rheostat.simulate.continuous.engine import Continuous, Interval
from rheostat.simulate.job import Cluster, Costs, Job, Operator, Timing
from rheostat.simulate.simulation import Simulation
from rheostat.workloads.market import TradingDay

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
        addition(
            "internet-scheduling",
            "one scheduling decision for 10,000 nodes takes at most 250 ms",
            f"{worst * 1e3:.0f} ms at most, {np.median(took[1:]) * 1e3:.0f} ms usually",
            worst <= 0.25,
            "20,000 executors; all loads change between two decisions. Time of one core of this machine.",
        )
    ]


def speed(run: Run) -> list[Claim]:
    """Orders of the exchange per second of wall time that the simulator takes for them, on one core."""
    engine = _exchange(run, 40, Timing(1.0, 10.0), Pause.NONE)
    engine.step()  # compiles, and draws how many orders each second has
    walls, cores = [], []
    stretches = 12 if run.quick else 36
    for _ in run.each("the simulator's speed", range(stretches)):
        orders, wall, core = 0, time.perf_counter(), time.thread_time()
        for _ in range(10):
            orders += engine.step().admitted
        walls.append(orders / (time.perf_counter() - wall) / 1e6)
        cores.append(orders / (time.thread_time() - core) / 1e6)
    controlled = "" if run.quick else f" {_controlled(run)}"
    return [
        addition(
            "simulator-speed",
            "the simulator runs at least 5 million orders of the exchange per second of wall time, on one core",
            f"{max(walls):.1f} million a second, {np.median(walls):.1f} million usually",
            max(walls) >= 5.0,
            f"The fastest of {stretches} stretches of 100 s, and the median.",
            detail="Other programs share this machine's cores "
            f"({np.median(cores):.1f} million per second of a core's own time). One operator of 40 slots in ticks of "
            f"1 s, which change no result where there is one operator; observed every 10 s.{controlled}",
        )
    ]


def _controlled(run: Run) -> str:
    """The same under a policy that decides ten times a second, and so hardly has any orders in an interval."""
    policy = StreamSwitch()
    engine = _exchange(run, 10, Timing(0.1, 0.1), policy.pause)
    simulation = Simulation(engine, policy)
    simulation.run(5.0)  # compiles
    orders = 0

    def count(seen: Interval) -> None:
        nonlocal orders
        orders += seen.admitted

    begin = time.perf_counter()
    trace = simulation.run(300.0, count)
    took = time.perf_counter() - begin
    return (
        f"Observed every 0.1 s and controlled by StreamSwitch: {orders / took / 1e6:.2f} million a second, "
        f"{took / len(trace.time) * 1e3:.2f} ms for each interval of {orders / len(trace.time):.0f} orders, of which "
        f"{1e3 * float(trace.decision_seconds.mean()):.2f} ms are the policy's."
    )


def _exchange(run: Run, slots: int, timing: Timing, pause: Pause) -> Continuous:
    job = Job((Operator("auction", 64, 1 / 250),))
    plan = Plan({"auction": OperatorPlan.even(64, slots, 4)}, 4)
    market, costs = TradingDay(seed=run.seed), Costs(queue=10**9)
    return Continuous(job, Cluster(4, 16), market, plan, costs=costs, timing=timing, pause=pause)
