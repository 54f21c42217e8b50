"""Scheduler and slots together, over a network that loses, delays, repeats and reorders messages."""

from __future__ import annotations

from collections import deque

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rheostat.elastic.posg import CostSketch, Instance, Phase, Posg, SketchReport, SyncReply, SyncRequest
from rheostat.elastic.posg.sketch import Costs

SECONDS = (1.0, 2.0, 4.0, 8.0)
"""Seconds of items 0 to 3 in slot 0; slot s takes s/4 longer."""

LIMIT = 50.0

Message = SketchReport | SyncReply


class Conversation(RuleBasedStateMachine):
    """Queues of the slots, messages in transit, and a clock that only rules advance."""

    @initialize(slots=st.integers(1, 3), resync=st.sampled_from([0, 7]), lpt=st.booleans())
    def begin(self, slots: int, resync: int, lpt: bool) -> None:
        self.scheduler = Posg(slots, lpt, resync, LIMIT, LIMIT)
        self.slots = [Instance(s, CostSketch.empty(rows=2, columns=3), window=3, tolerance=0.3) for s in range(slots)]
        self.queues: list[deque[tuple[int, SyncRequest | None]]] = [deque() for _ in range(slots)]
        self.mail: list[Message] = []
        self.now = 0.0

    @rule(items=st.lists(st.integers(0, 3), max_size=8))
    def submit(self, items: list[int]) -> None:
        """Submit tuples: each gets one slot, requests go to distinct slots, and loads grow only by estimates."""
        before = self.loads()
        submission, self.scheduler = self.scheduler.submit(np.array(items, dtype=np.int64), self.now)
        requests = dict(submission.requests)
        assert len({r.slot for r in requests.values()}) == len(requests)
        for position, (item, slot) in enumerate(zip(items, submission.slots.tolist(), strict=True)):
            request = requests.get(position)
            assert request is None or (request.slot, request.epoch) == (slot, self.scheduler.epoch)
            self.queues[slot].append((item, request))
        if before is not None:
            assert self.scheduler.work is not None
            rise = (self.scheduler.work.loads - before).tolist()
            for slot in range(len(self.slots)):
                mine = [item for item, s in zip(items, submission.slots.tolist(), strict=True) if s == slot]
                expected = sum(self.scheduler.work.estimates.cost(slot, item) for item in mine)
                assert abs(rise[slot] - expected) < 1e-6

    @precondition(lambda self: any(self.queues))
    @rule(slot=st.integers(0, 2), count=st.integers(1, 6))
    def execute(self, slot: int, count: int) -> None:
        """A slot executes some of its queue and sends its messages."""
        slot %= len(self.slots)
        for _ in range(min(count, len(self.queues[slot]))):
            item, request = self.queues[slot].popleft()
            self.slots[slot], reports = self.slots[slot].executed([item], [SECONDS[item] * (1 + slot / 4)])
            self.mail += reports
            if request is not None:
                self.mail.append(self.slots[slot].asked(request))

    @precondition(lambda self: self.mail)
    @rule(which=st.integers(0, 1_000), again=st.booleans())
    def deliver(self, which: int, again: bool) -> None:
        """Any message arrives, in any order; perhaps it arrives again later."""
        message = self.mail[which % len(self.mail)]
        if not again:
            self.mail.remove(message)
        self.hear(message)

    @precondition(lambda self: self.mail)
    @rule(which=st.integers(0, 1_000))
    def lose(self, which: int) -> None:
        """Any message is lost."""
        self.mail.pop(which % len(self.mail))

    @precondition(lambda self: any(self.queues))
    @rule(slot=st.integers(0, 2))
    def lose_request(self, slot: int) -> None:
        """A request is lost on its way, though its tuple arrives."""
        queue = self.queues[slot % len(self.slots)]
        if queue:
            queue.append((queue.pop()[0], None))

    @rule(seconds=st.sampled_from([0.5, LIMIT / 2, 2 * LIMIT]))
    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.now += seconds
        self.scheduler = self.scheduler.tick(self.now)
        assert self.scheduler.deadline > self.now  # no wait continues after its deadline
        if seconds > LIMIT:
            assert self.scheduler.phase is not Phase.WAIT_ALL
            assert self.scheduler.phase is not Phase.ROUND_ROBIN or not self.scheduler.reports

    @invariant()
    def the_state_makes_sense(self) -> None:
        state = self.scheduler
        assert (state.work is None) == (state.phase is Phase.ROUND_ROBIN) == (state.epoch == 0)
        assert set(state.replies) <= set(range(state.sent))
        if state.phase is Phase.SEND_ALL:
            assert state.sent < state.slots
        elif state.phase is Phase.WAIT_ALL:
            assert state.sent == state.slots > len(state.replies)
            assert state.deadline <= self.now + LIMIT
        loads = self.loads()
        assert loads is None or np.isfinite(loads).all()

    def hear(self, message: Message) -> None:
        """Receive, and check that a second time changes nothing."""
        epoch = self.scheduler.epoch
        self.scheduler = self.scheduler.receive(message, self.now)
        assert self.scheduler.epoch in (epoch, epoch + 1)
        once = self.scheduler
        again = once.receive(message, self.now)
        assert (again.phase, again.epoch, again.replies) == (once.phase, once.epoch, once.replies)
        first, second = self.loads(), None if again.work is None else again.work.loads
        assert first is None or (second is not None and (first == second).all())

    def loads(self) -> Costs | None:
        return None if self.scheduler.work is None else self.scheduler.work.loads

    def phase(self) -> Phase:
        return self.scheduler.phase

    def teardown(self) -> None:
        """After one synchronisation without faults, the scheduler knows exactly the work of every slot."""
        if not hasattr(self, "scheduler"):
            return
        self.mail = []
        for slot, state in enumerate(self.slots):
            number = max(state.reports, 1_000) + 1
            sketch = CostSketch.empty(rows=2, columns=3).updated([0], [1.0])
            self.scheduler = self.scheduler.receive(SketchReport(slot, number, sketch), self.now)
        assert self.phase() is Phase.SEND_ALL
        self.submit([0] * len(self.slots))
        for slot in range(len(self.slots)):
            self.execute(slot, len(self.queues[slot]))
        for message in self.mail:
            if isinstance(message, SyncReply):
                self.hear(message)
        assert self.phase() is Phase.RUN
        loads = self.loads()
        assert loads is not None
        assert np.allclose(loads, [state.seconds for state in self.slots])


Conversation.TestCase.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)
TestConversation = Conversation.TestCase
