"""The plan as ``explain`` shows it."""

from __future__ import annotations

import pytest

from rheostat.errors import TopologyError
from rheostat.planning.view import as_mermaid, as_text
from rheostat.topology import aggregates as rh
from rheostat.topology import sinks
from rheostat.windows.window import sliding, tumbling
from tests.planning.builders import add, lending, view
from tests.topology.builders import loans

TEXT = """
topology lending

operators
  loans        source       by ts, slack 10 seconds
  op1          map          Spark expressions
  op2          compute      by area: rate, largest  [by area]
  op2_windows  consolidate  10 minutes, 30 minutes, 1 hour (append)  [by area]
  op3          compute      by area: approved  [by area]
  op3_windows  consolidate  10 minutes, 30 minutes, 1 hour (append)  [by area]
  op4          compute      by nothing: rate  [global]
  op4_windows  consolidate  1 hour (append)  [global]
  op5          compute      by nothing: approved, n  [global]
  op5_windows  consolidate  1 hour (append)  [global]
  op2_windows  sink         memory
  op3_windows  sink         memory
  op4_windows  sink         memory
  op5_windows  sink         memory

components
  by area: 2 slots; op2, op2_windows, op3, op3_windows
  global: 1 slot; op4, op4_windows, op5, op5_windows

fusion
  op2, op3: fused by area; they share attributes; nothing is measured yet

shuffles per epoch: 3 (8 if every stateful operator had its own)

windows of op2+op3: panes of 10 minutes, from rows; keeps count(*), sum(rate), count(rate), max(amount), count(paid)
  10 minutes  is the pane
  30 minutes  3 x 10 minutes
  1 hour      2 x 30 minutes
  merges per hour: 14 (18 if every window were merged from its panes)

windows of op4+op5: panes of 1 hour, rolled up from op2+op3; keeps count(*), sum(rate), count(rate), count(paid)
  1 hour  is the pane
  merges per hour: 1 (1 if every window were merged from its panes)
"""

MERMAID = """
flowchart LR
  o0["loans<br/>source"]
  o1["op1<br/>map"]
  subgraph c0["by area"]
    o2["op2"]
    o3["op2_windows"]
    o4["op3"]
    o5["op3_windows"]
  end
  subgraph c1["global"]
    o6["op4"]
    o7["op4_windows"]
    o8["op5"]
    o9["op5_windows"]
  end
  o0 --> o1
  o1 --> o2
  o2 --> o3
  o1 --> o4
  o4 --> o5
  o1 --> o6
  o6 --> o7
  o1 --> o8
  o8 --> o9
  s0[("memory")]
  o3 --> s0
  s1[("memory")]
  o5 --> s1
  s2[("memory")]
  o7 --> s2
  s3[("memory")]
  o9 --> s3
"""


def test_the_papers_job_as_text() -> None:
    assert as_text(view(lending())) == TEXT.strip()


def test_the_papers_job_as_mermaid() -> None:
    assert as_mermaid(view(lending())) == MERMAID.strip()


def test_a_view_renders_in_two_formats() -> None:
    shown = view(lending())
    assert shown.render() == shown.render("text") == as_text(shown)
    assert shown.render("mermaid") == as_mermaid(shown)
    with pytest.raises(TopologyError, match=r"explain\(\): format='html' is not one of 'text', 'mermaid'"):
        shown.render("html")  # type: ignore[arg-type]


def how(*, subtractable: bool) -> dict[str, str]:
    """How a window of an hour every minute is derived."""
    stream = loans()
    aggregate = rh.count() if subtractable else rh.max("amount")
    add(stream, "a", "area", sliding("1 hour", every="1 minute"), {"x": aggregate})
    (table,) = view(stream.graph).tables
    return {w.window: w.how for w in table.windows}


def test_running_totals_and_helpers_are_explained() -> None:
    running = how(subtractable=True)
    assert running == {"1 hour every 1 minute": "running total: add 1 new and subtract 1 expired panes of 1 minute"}
    helped = how(subtractable=False)
    assert helped["3 minutes"].endswith("(helper)")
    assert "1 hour every 1 minute" in helped


def test_alternative_covers_are_shown() -> None:
    stream = loans()
    add(stream, "a", "area", tumbling("5 minutes", "10 minutes", "15 minutes", "20 minutes"), {"x": rh.max("amount")})
    (table,) = view(stream.graph).tables
    derived = {w.window: w.how for w in table.windows}
    assert derived["20 minutes"].startswith("2 x 10 minutes, or with")
    assert derived["20 minutes"].endswith("whichever has fewer keys")


def test_python_maps_updates_sinks_and_asides_are_shown() -> None:
    stream = loans(source="loans")
    mapped = stream.map("m", lambda batch: batch, schema="ts timestamp, area string")
    add(mapped, "a", "area", emit="update").sink(sinks.parquet('out/"a"'))
    stream.aside.sink(sinks.console())
    shown = view(stream.graph)
    text = as_text(shown)
    assert "map          Python over Arrow batches" in text
    assert "(update)" in text
    assert ("loans aside", "console") in [(s.name, s.sink) for s in shown.sinks]
    assert "o3[" not in as_mermaid(shown).split("subgraph")[0]
    assert """[("parquet out/'a'")]""" in as_mermaid(shown)
    assert "  o0 -. aside .-> s2" in as_mermaid(shown)


def test_an_operator_may_be_named_aside() -> None:
    stream = loans(source="put aside").sink(sinks.memory())
    assert "o0 --> s0" in as_mermaid(view(stream.graph))


def test_merges_of_windows_longer_than_an_hour_are_per_hour() -> None:
    stream = loans()
    add(stream, "a", "area", tumbling("1 hour", "24 hours"), {"x": rh.max("amount")})
    (table,) = view(stream.graph).tables
    # One window of an hour, and every 24 hours one that is made from 24 of them.
    assert table.naive_merges_per_hour == 2
    assert table.merges_per_hour == 2
