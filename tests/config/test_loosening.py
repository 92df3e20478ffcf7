"""What a change of configuration loosened is told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from setting import CHECKS, Locks, Setting, TempSize

from gate.api import Options
from gate.config.configuration import Configuration, load, loosened
from gate.project import find_project


def test_a_snapshot_is_json_and_equal_to_itself(setting: Setting) -> None:
    snapshot = setting.load(user="stale_after = '30d'\ndisable = ['bare']\n[checks.temp_size]\nshare = 0.25").snapshot()
    assert orjson.loads(orjson.dumps(snapshot)) == snapshot
    assert loosened(snapshot, snapshot) == []


def test_a_snapshot_holds_no_name_that_is_not_utf_8(tmp_path: Path) -> None:
    directory = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(directory)
    path = os.fsdecode(directory + b"/config.toml")
    Path(path).write_text('disable = ["bare"]\nno_such_key = 1')
    found = load(find_project(str(tmp_path)), {"SESSION_GATE_CONFIG": path}, CHECKS)
    assert dict(found.disabled) == {"bare": path}
    snapshot = orjson.loads(orjson.dumps(found.snapshot()))
    assert loosened(Configuration().snapshot(), snapshot)[0].startswith("bare is disabled by ")
    str(found.problems[0]).encode()


def test_what_was_loosened_is_told(setting: Setting) -> None:
    before = setting.load(user="inject_limit = 500\n[checks.temp_size]\nignore = ['a']").snapshot()
    after = setting.load(
        user="inject_limit = 900",
        project="""
        disable = ["bare"]
        [checks.temp_size]
        ignore = ["b", "c d"]
        max_bytes = "2GiB"
        max_files = 100
        paths = ["here"]
        [checks.stale_locks]
        older_than = "30d"
        """,
    ).snapshot()
    assert loosened(before, after) == [
        f"bare is disabled by {setting.own}",
        "inject_limit is raised from 500 to 900",
        "temp_size.max_bytes is raised from 512MiB to 2GiB",
        "temp_size.max_files is raised from 20 to 100",
        "stale_locks.older_than is raised from 48h to 30d",
        'temp_size.ignore now holds b, "c d"',
        'temp_size.paths no longer holds "$TMPDIR/capture-live"',
    ]


def test_what_was_tightened_is_not(setting: Setting) -> None:
    after = setting.load().snapshot()
    before = setting.load(
        user="disable = ['bare']\nstale_after = '30d'\n[checks.temp_size]\nmax_files = 90\nignore = ['a']\nquick = true"
    ).snapshot()
    assert loosened(before, after) == []


def test_a_check_that_is_gone_is_told_and_a_new_one_is_not(setting: Setting) -> None:
    before = setting.load(checks={"temp_size": TempSize, "bare": Options}).snapshot()
    after = setting.load(checks={"temp_size": TempSize, "stale_locks": Locks}).snapshot()
    assert loosened(before, after) == ["bare is no longer there"]


def test_a_check_disabled_as_before_is_not_told_again(setting: Setting) -> None:
    before = setting.load(user='disable = ["bare"]').snapshot()
    setting.user.unlink()
    after = setting.load(project='disable = ["bare", "temp_size"]').snapshot()
    assert loosened(before, after) == [f"temp_size is disabled by {setting.own}"]


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
SNAPSHOTS = st.fixed_dictionaries({}, optional=dict.fromkeys(("checks", "disabled", "limits", "lists"), JSON))


@pytest.mark.parametrize("pair", [["many", "many"], [None, "x"], [], [5], [5, "5", 5], {}, 5, "55", [[5], "5"]])
def test_a_limit_that_is_none_is_passed_over(pair: Any) -> None:
    limits: tuple[dict[str, Any], ...] = ({"limits": {"a.b": pair}}, {"limits": {"a.b": [7, "7"]}})
    assert loosened(*limits) == loosened(*reversed(limits)) == []


@given(SNAPSHOTS, SNAPSHOTS)
def test_snapshots_from_anywhere_are_compared_as_far_as_they_go(old: dict[str, Any], new: dict[str, Any]) -> None:
    for text in loosened(old, new):
        assert "\n" not in text
    assert loosened(new, new) == []
