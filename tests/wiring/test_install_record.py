"""What an installation remembers of the way back: read as it was written, and of anything else nothing is believed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.wiring.install_record import Keeper, Record

TEXTS = st.text(st.characters(exclude_characters="/"), max_size=6)
LISTS = st.lists(TEXTS, max_size=3).map(tuple)
RECORDS = st.builds(Record, LISTS, TEXTS, st.booleans(), st.none() | LISTS, LISTS)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["schema", "after", "original", "restorable", "made", "directories"]), inner, max_size=6
        )
    ),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def keeper(tmp_path_factory: pytest.TempPathFactory) -> Keeper:
    made = Keeper(str(tmp_path_factory.mktemp("record") / "state"), "/home/you/.claude/settings.json")
    with made.lock():
        return made


@given(RECORDS)
def test_what_was_remembered_is_read(keeper: Keeper, record: Record) -> None:
    keeper.remember(record)
    assert keeper.record() == record
    keeper.forget()
    assert keeper.record() is None


@given(st.binary() | JSON.map(json.dumps).map(str.encode), st.data())
def test_of_anything_else_nothing_is_believed(keeper: Keeper, content: bytes, data: st.DataObject) -> None:
    path = Path(keeper.directory) / "record.json"
    path.write_bytes(content)
    found = keeper.record()
    assert found is None or json.loads(content)["schema"] == 1
    assert found is None or "/" not in found.original
    keeper.remember(Record(("a",), "b", True, ("c",), ("d",)))
    whole = path.read_bytes()
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    assert keeper.record() is None


@given(st.lists(st.binary(max_size=20), max_size=4))
def test_backups_are_read_by_their_names_alone(keeper: Keeper, contents: list[bytes]) -> None:
    paths = [keeper.back_up(content, 1_796_000_000.0) for content in contents]
    assert len(set(paths)) == len(contents)
    for path, content in zip(paths, contents, strict=True):
        assert keeper.read_backup(os.path.basename(path)) == content
        os.unlink(path)
    for name in ("..", ".", "no such", ""):
        assert keeper.read_backup(name) is None
