"""A session's baseline: read back as it was written; what is not one in every part is none, and then all is debt."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.baseline import read_baseline, write_baseline
from gate.clock import Clock
from gate.ledger import Record
from gate.liveness import Place
from gate.project import find_project
from gate.site import Site

DIGESTS = st.from_regex(r"[0-9a-f]{16}", fullmatch=True)
STATES = st.dictionaries(
    st.text(max_size=9), st.dictionaries(DIGESTS, st.text(st.characters()), max_size=3), max_size=3
)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
RECORD = Record("a", "claude", None, Place("h", "b", "n"), 1.0, 1.0, "/w")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    path = tmp_path_factory.mktemp("baseline")
    made = Site(find_project(str(path)), {}, Clock(1_796_000_000.0, "b"), str(path / "state"))
    made.state.ensure()
    return made


@given(STATES)
def test_what_was_written_is_read(site: Site, states: Mapping[str, Mapping[str, str]]) -> None:
    write_baseline(site, RECORD, states)
    assert read_baseline(site, RECORD) == states


@given(st.binary() | JSON.map(json.dumps).map(str.encode))
def test_anything_else_is_none(site: Site, content: bytes) -> None:
    Path(site.state.ledger.baseline_path("a")).write_bytes(content)
    found = read_baseline(site, RECORD)
    if found is not None:
        assert json.loads(content) == found
        assert all(isinstance(state, str) for states in found.values() for state in states.values())


@given(STATES.filter(bool), st.data())
def test_a_part_of_one_is_none(site: Site, states: Mapping[str, Mapping[str, str]], data: st.DataObject) -> None:
    write_baseline(site, RECORD, states)
    path = Path(site.state.ledger.baseline_path("a"))
    whole = path.read_bytes()
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    assert read_baseline(site, RECORD) is None


def test_a_missing_one_is_none(site: Site) -> None:
    Path(site.state.ledger.baseline_path("a")).unlink(missing_ok=True)
    assert read_baseline(site, RECORD) is None
