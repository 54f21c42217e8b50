"""What we add to Elasticutor's evaluation: a decision for 10,000 nodes, and the speed of the simulator."""

from __future__ import annotations

import time

import numpy as np

from papers.claims import Claim, addition
from papers.paper_run import Run
from rheostat.elastic.elasticutor.cores import Cores
from rheostat.elastic.elasticutor.executor_rates import Executors
from rheostat.elastic.elasticutor.placement import schedule
from rheostat.elastic.model.plan import OperatorPlan, Plan
from rheostat.elastic.model.policy import Pause
from rheostat.elastic.policies import StreamSwitch
from rheostat.simulate.continuous.engine import Continuous
from rheostat.simulate.interval import Interval
from rheostat.simulate.job import Cluster, Costs, Job, Operator, Timing
from rheostat.simulate.simulation import Simulation
from rheostat.workloads.market import TradingDay

NODES, CORES, EXECUTORS = 10_000, 8, 20_000


def decisions(run: Run, rounds: int = 5) -> list[Claim]:
    """Time decisions between which the load of every executor changes at random."""
    random = np.random.default_rng(run.seed)
    homes, services = np.arange(EXECUTORS) % NODES, np.full(EXECUTORS, 1000.0)
    cores, took = Cores.of([]), []
    for _ in run.each("a decision for 10,000 nodes", range(rounds + 1)):
        arrivals = random.gamma(4.0, 600.0, EXECUTORS)
        executors = Executors(arrivals, services, np.full(EXECUTORS, 8e6), arrivals * 256.0, homes)
        begin = time.thread_time()
        found = schedule(executors, np.full(NODES, CORES), cores, bound=0.01, external=float(arrivals.sum()))
        took.append(time.thread_time() - begin)
        cores, homes = found.placement.cores, found.placement.homes
    worst = max(took[1:])
    return [
        addition(
            "internet-scheduling",
            "one scheduling decision for 10,000 nodes takes at most 250 ms",
            f"at most {worst * 1e3:.0f} ms, median {np.median(took[1:]) * 1e3:.0f} ms",
            worst <= 0.25,
            "20,000 executors whose loads all change between two decisions. Time of one core of this machine.",
        )
    ]


def speed(run: Run) -> list[Claim]:
    """Measure how many orders of the exchange the simulator processes per second of wall time."""
    engine = _exchange(run, 40, Timing(1.0, 10.0), Pause.NONE)
    engine.step()  # compiles the loops and draws the numbers of orders
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
            "on one core, the simulator processes at least 5 million orders of the exchange per second of wall time",
            f"at best {max(walls):.1f} million/s, median {np.median(walls):.1f} million/s",
            max(walls) >= 5.0,
            f"Over {stretches} stretches of 100 simulated seconds.",
            detail="Other programs share this machine's cores; per second of CPU time the median is "
            f"{np.median(cores):.1f} million. The job is one operator of 40 slots in ticks of 1 s, which change no "
            f"result where there is only one operator, and is observed every 10 s.{controlled}",
        )
    ]


def _controlled(run: Run) -> str:
    """Describe the speed under a policy that decides ten times per second."""
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
        f"Observed every 0.1 s and controlled by StreamSwitch, it is {orders / took / 1e6:.2f} million/s: "
        f"{took / len(trace.time) * 1e3:.2f} ms per interval of {orders / len(trace.time):.0f} orders, of which "
        f"{1e3 * float(trace.decision_seconds.mean()):.2f} ms are the policy's."
    )


def _exchange(run: Run, slots: int, timing: Timing, pause: Pause) -> Continuous:
    job = Job((Operator("auction", 64, 1 / 250),))
    plan = Plan({"auction": OperatorPlan.even(64, slots, 4)}, 4)
    market, costs = TradingDay(seed=run.seed), Costs(queue=10**9)
    return Continuous(job, Cluster(4, 16), market, plan, costs=costs, timing=timing, pause=pause)
