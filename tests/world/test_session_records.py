"""What clients' records of sessions say, and what becomes of their processes, seen from a host and from a container."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.clock import Clock
from gate.liveness import Place
from gate.testing import FakeProcessTable
from gate.world.holders import Fate, Holder
from gate.world.session_records import (
    BACKGROUND,
    CLAUDE,
    COPILOT,
    Here,
    SessionRecord,
    SessionSearch,
    fate_of_session,
    read_claude,
    read_roster,
    read_state,
    read_workspace,
)

NOW = 1_800_000_000.0
NAMESPACE = Place.current("").namespace or "pid:[4026531836]"
HOST = Here("0f1e", "pid:[4026531836]")
CONTAINER = Here("0f1e", "pid:[4026532999]")
MAC = Here("", "", linux=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["pid", "sessionId", "workers", "x"]), inner),
    max_leaves=10,
)


def value(**more: Any) -> dict[str, Any]:
    return {"pid": 500, "sessionId": "s", "cwd": "/app", "procStart": "77", "startedAt": 1_799_000_000_000, **more}


def record(here: Here = HOST, **more: Any) -> SessionRecord:
    found = read_claude(value(**more), "/c/sessions/500.json", NOW - 1000, here)
    assert found is not None
    return found


def table(ticks: int | None = None, pid: int = 500, age: float = 2_000_000.0, state: str = "S") -> FakeProcessTable:
    processes = FakeProcessTable(Clock(now=NOW, boot="a-boot"))
    process = processes.add("claude", pid=pid, age=age, state=state)
    processes._made[pid] = process._replace(ticks=ticks)
    return processes


def nobody() -> FakeProcessTable:
    return FakeProcessTable(Clock(now=NOW, boot="a-boot"))


def domain(machine: str = "0f1e", namespace: str = NAMESPACE) -> str:
    return f"linux:{machine}:{namespace}"


def test_where_it_is() -> None:
    here = Here.current()
    assert here.namespace == Place.current("").namespace
    assert here.machine == here.machine.strip()


@pytest.mark.parametrize(
    ("processes", "fate"),
    [
        (table(77), Fate.ALIVE),
        (table(78), Fate.RECYCLED),
        (table(77, state="Z"), Fate.DEAD),
        (nobody(), Fate.DEAD),
    ],
)
def test_a_process_is_known_by_when_it_began(processes: FakeProcessTable, fate: Fate) -> None:
    for here in (HOST, CONTAINER):
        placed = record(here, pidDomain=domain())
        assert fate_of_session(placed, processes, here) is fate
    assert fate_of_session(record(), processes, HOST) is fate


def test_what_names_no_place_is_told_from_the_host_alone() -> None:
    assert fate_of_session(record(), nobody(), HOST) is Fate.DEAD
    assert fate_of_session(record(), nobody(), CONTAINER) is Fate.ELSEWHERE
    assert fate_of_session(record(), table(77, pid=4000), HOST) is Fate.ALIVE, "in a container it has another pid"
    assert fate_of_session(record(pidDomain=domain()), table(77, pid=4000), HOST) is Fate.DEAD


@pytest.mark.parametrize("place", [domain("ffff"), domain(namespace="pid:[1]"), "linux:0f1e", "darwin", "", 7])
def test_what_is_elsewhere_or_not_understood_is_never_dead(place: object) -> None:
    assert fate_of_session(record(pidDomain=place), nobody(), HOST) is Fate.ELSEWHERE


@pytest.mark.parametrize("start", [None, "", "Wed Aug 26 10:25:14 2026", "-1", "7" * 13, 77])
def test_without_a_start_a_pid_proves_nothing(start: object) -> None:
    for more in ({}, {"pidDomain": domain()}):
        assert fate_of_session(record(procStart=start, **more), nobody(), HOST) is Fate.ELSEWHERE


def test_on_macos_the_start_is_a_date_and_the_record_is_younger_than_its_process() -> None:
    date = "Wed Aug 26 10:25:14 2026"
    for more in ({}, {"pidDomain": "darwin"}):
        there = record(MAC, procStart=date, **more)
        assert fate_of_session(there, nobody(), MAC) is Fate.DEAD
        assert fate_of_session(there, table(age=1_000_001.0), MAC) is Fate.ALIVE
        assert fate_of_session(there, table(age=900_000.0), MAC) is Fate.RECYCLED
    assert fate_of_session(record(MAC), nobody(), MAC) is Fate.ELSEWHERE, "ticks are a container's"
    assert fate_of_session(record(MAC, procStart=date, pidDomain=domain()), nobody(), MAC) is Fate.ELSEWHERE


def test_a_lock_tells_wherever_it_is_seen() -> None:
    lock = SessionRecord(COPILOT, "s", "/x", "/app", "in use", NOW - 1000, Holder(500), placed=True, hold="/no/where")
    assert fate_of_session(lock, nobody(), CONTAINER) is Fate.DEAD
    assert fate_of_session(lock, table(), CONTAINER) is Fate.ALIVE
    assert fate_of_session(lock._replace(placed=False), nobody(), CONTAINER) is Fate.ELSEWHERE
    assert fate_of_session(lock._replace(placed=False), nobody(), HOST) is Fate.DEAD


@pytest.mark.parametrize(
    "more",
    [{"status": "done"}, {"kind": "daemon"}, {"kind": "daemon-worker"}, {"spare": True}, {"sessionId": ""}],
    ids=str,
)
def test_what_is_no_running_session(more: dict[str, Any]) -> None:
    assert read_claude(value(**more), "/c/sessions/500.json", NOW, HOST) is None


def test_what_is_one() -> None:
    for status in ("busy", "idle", "shell", "waiting", None):
        for kind in ("interactive", "bg", None):
            found = record(status=status, kind=kind)
            assert (found.client, found.keeper, found.session, found.directory) == (CLAUDE, CLAUDE, "s", "/app")
    assert record(cwd=None).directory == record(cwd="a\0b").directory == ""


@given(JSON)
def test_any_value_is_a_record_or_is_refused(given_value: Any) -> None:
    for read in (
        lambda: read_claude(given_value, "/c/sessions/500.json", NOW, HOST),
        lambda: list(read_roster(given_value, "/c/roster.json", NOW, HOST, lambda _: "working")),
    ):
        try:
            read()
        except ValueError:
            continue


@given(st.text())
def test_any_text_has_a_state_or_none(text: str) -> None:
    assert isinstance(read_state(text), str)
    assert isinstance(read_workspace(text), str)


def test_the_roster_has_what_is_at_work_by_its_own_words() -> None:
    worker = {"pid": 500, "procStart": "77", "sessionId": "s", "cwd": "/app"}
    states = {"a": "working", "b": "done", "c": "blocked", "d": ""}
    workers = {**dict.fromkeys(states, worker), "../x": worker, "e": {**worker, "pid": True}, "f": None, "g": {}}
    (found,) = read_roster({"workers": workers}, "/c/roster.json", NOW, HOST, lambda job: states.get(job, "working"))
    assert (found.keeper, found.client, found.session, found.status) == (BACKGROUND, CLAUDE, "s", "working")
    assert fate_of_session(found, nobody(), HOST) is Fate.DEAD
    assert fate_of_session(found, nobody(), CONTAINER) is Fate.ELSEWHERE


@pytest.mark.parametrize(
    ("text", "directory"),
    [
        ("id: x\ncwd: /home/you/app\nbranch: main\n", "/home/you/app"),
        ("cwd: '/home/you/it''s: #1'\n", "/home/you/it's: #1"),
        ('cwd: "/home/you/\\u00fc\\n"\n', "/home/you/ü\n"),
        ("git_root: /x\n  cwd: /y\n", ""),
        ("cwd:\ncwd: \n", ""),
        ('cwd: "torn\n', ""),
        ("", ""),
    ],
)
def test_the_directory_in_a_workspace(text: str, directory: str) -> None:
    """As Copilot CLI 1.0.102 writes it."""
    assert read_workspace(text) == directory


def test_a_time_in_the_future_is_not_believed(tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    (sessions / "500.json").write_text(json.dumps(value()))
    os.utime(sessions / "500.json", (time.time() + 1e6,) * 2)
    (found,) = SessionSearch(HOST, time.time() + 1, lambda: False).of_claude(str(tmp_path))
    assert found.seen <= time.time() + 1


def test_each_file_is_read_once_by_whatever_name(tmp_path: Path) -> None:
    (tmp_path / "real/sessions").mkdir(parents=True)
    (tmp_path / "real/sessions/500.json").write_text(json.dumps(value()))
    (tmp_path / "link").symlink_to("real")
    search = SessionSearch(HOST, NOW, lambda: False)
    assert len([*search.of_claude(str(tmp_path / "real")), *search.of_claude(str(tmp_path / "link"))]) == 1
    assert search.gaps == {}
    assert search.torn == []


def test_a_long_line_takes_no_time_by_its_square() -> None:
    assert read_workspace("id: x\ncwd: /a" + " " * 1_000_000 + "b\n").endswith(" b")
    assert read_workspace("cwd:  /a b \t \nsummary: x") == "/a b"
