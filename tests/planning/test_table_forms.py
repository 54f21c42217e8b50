"""Which tables are combined follows from the manifest alone, and from what the user asked for."""

from __future__ import annotations

import json

from rheostat.planning.enorm.form_watch import IngestSample
from rheostat.planning.enorm.splitting import Form
from rheostat.planning.feed_sql import feeds_sql
from rheostat.planning.feeds import StreamSql, combinable, plan_feeds
from rheostat.planning.physical import plan_physical
from rheostat.planning.table_forms import TableForms
from rheostat.topology import aggregates as rh
from rheostat.topology.graph import Graph
from rheostat.windows.window import tumbling
from tests.planning.builders import add
from tests.topology.builders import Frame, loans

UNIQUE = {"t": IngestSample(6, 100_000, 99_000)}


def test_forms_are_those_of_the_manifest() -> None:
    forms = TableForms("auto", ("t",))
    stored = json.loads(json.dumps(forms.after({}, UNIQUE)))
    assert forms.combined({}) == set()
    assert forms.combined(stored) == {"t"}
    (change,) = forms.changes(stored, 7)
    assert (change.table, change.form) == ("t", Form.COMBINED)
    assert not forms.changes(stored, 8)


def test_what_the_user_asks_for_comes_first() -> None:
    stored = TableForms("auto", ("t",)).after({}, UNIQUE)
    assert TableForms("split", ("t",)).combined(stored) == set()
    assert TableForms("combined", ("t", "u")).combined({}) == {"t", "u"}
    assert TableForms("split", ("t",)).after(stored, UNIQUE) == stored
    assert not TableForms("split", ("t",)).changes(stored, 7)


def test_tables_that_can_be_combined() -> None:
    stream = Graph("g").source(Frame({"ts": "timestamp", "a": "string", "b": "int", "f": "double"}), event_time="ts")
    add(stream, "fine", ("a", "b"))
    add(stream, "coarse", "a")
    add(stream, "floats", "f")
    add(stream, "moments", "b", tumbling("7 seconds"), {"v": rh.variance("f"), "last": rh.last("a"), "n": rh.sum("b")})
    plan = plan_physical(stream.graph)
    assert combinable(plan) == ["moments"], "others are rolled up, or rolled up from, or have keys that Spark changes"


def test_rows_as_partials() -> None:
    stream = loans()
    add(stream, "by_area", "area", tumbling("1 minute"), {"x": rh.sum("cents"), "top": rh.max("amount")})
    plan, streams = plan_physical(stream.graph), {"source": StreamSql("rows", "arrived")}
    split, combined = (plan_feeds(plan, 0, streams, forms) for forms in ((), ("by_area",)))
    assert [f.columns for f in combined] == [f.columns for f in split], "tasks get the same columns in either form"
    assert [f.single for f in (*split, *combined)] == [False, True]
    text = feeds_sql(combined, plan, streams, None)
    assert "GROUP BY" not in text
    assert (
        "unix_micros(`ts`) AS max_time, cast(arrived as double) AS arrival, 1L AS `p.count(*)`, "
        "coalesce(cast(`cents` as bigint), cast(0 as bigint)) AS `p.sum(cents)`, "
        "cast(`cents` IS NOT NULL as bigint) AS `p.count(cents)`, `amount` AS `p.max(amount)` FROM rows"
    ) in text
