"""Deals rows to slots by cost, in the tasks that read them: a function over the items of rows.

Only items go to Python and only slots come back; the rows stay in the JVM. What is known of costs comes as a property
of the job, and a worker keeps what it has decoded for the next epochs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import pyarrow as pa
from pyspark import TaskContext

from rheostat.elastic.posg.cost_router import CostRouter
from rheostat.elastic.posg.serial import from_text
from rheostat.elastic.posg.sketch import CostSketch
from rheostat.spark.stage.apply_spec import ApplySpec
from rheostat.spark.stage.spec_wire import PROPERTY
from rheostat.spark.tasks.worker import freeze_modules


def deal_items(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
    """The slot of every row, for batches of items."""
    freeze_modules()
    context = TaskContext.get()
    assert context is not None
    dealing = ApplySpec.decode(context.getLocalProperty(PROPERTY) or "").dealing
    assert dealing is not None
    router = CostRouter.start(
        _sketch(dealing.sketch), dealing.factors, dealing.longest_first, number=context.partitionId()
    )
    for items in batches:
        slots, router = router.deal(items.to_numpy(zero_copy_only=False))
        yield pa.array(slots, pa.int32())


@lru_cache(maxsize=4)
def _sketch(text: str) -> CostSketch:
    return from_text(text)
