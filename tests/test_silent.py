"""Hook and `status` draw the same conclusion: green prints and runs nothing, everything else runs the suite."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gate import silent
from gate.clients import Event, claude
from gate.clock import Clock, rfc3339
from gate.ledger import ENDING, OPEN, Record
from gate.liveness import Owner, Place, read_stat
from gate.project import find_project
from gate.sessions import event_directory, speaks_of_us
from gate.site import Site

NOW = 1_780_000_000.0
DAY = 86400.0


def marker(
    site: Site, age: float, state: str, boot: str, stamp: list[str], kinds: list[str], loosened: list[str]
) -> bytes:
    finding = {
        "check": "c", "label": "C", "summary": "s", "details": [], "scope": "project", "incident": "i", "remedy": "r",
        "fingerprint": "0" * 16, "first_seen": rfc3339(NOW),
    }  # fmt: skip
    value = {
        "schema": 1, "state": state, "when": rfc3339(NOW - age), "project": site.project.root, "session": None,
        "duration_ms": 1, "results": [], "findings": [{**finding, "kind": kind} for kind in kinds],
        "began": {"boot": boot, "since_boot": 1.0}, "stale_after": 7 * DAY, "stamp": stamp, "memory": {},
        "shown": {}, "loosened": loosened,
    }  # fmt: skip
    return orjson.dumps(value)


def record(number: int, owner: Owner | None, state: str, boot: str) -> Record:
    host = Place.current("").host
    place = Place(host, boot, Place.current("").namespace)
    return Record(f"other-{number}", "claude", owner, place, NOW - 10, time.time(), "/w", state=state, ended=NOW)


ME = Owner(os.getpid(), getattr(read_stat(os.getpid()), "started", 0))
owners = st.sampled_from([None, ME, Owner(ME.pid, ME.started + 1), Owner(2**22 + 1, 1)])
BOOT = "this-boot"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    present=st.booleans(),
    age=st.sampled_from([0.0, DAY, 8 * DAY, -DAY]),
    kinds=st.lists(st.sampled_from(["debt", "unknown", "deferred", "note"]), max_size=2),
    boot=st.sampled_from([BOOT, BOOT, "another"]),
    same_stamp=st.sampled_from([True, True, False]),
    loosened=st.sampled_from([[], [], ["temp_size is disabled"]]),
    records=st.lists(st.tuples(owners, st.sampled_from([OPEN, OPEN, ENDING])), max_size=2),
)
def test_green_runs_nothing_and_everything_else_runs_the_suite(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    present: bool,
    age: float,
    kinds: list[str],
    boot: str,
    same_stamp: bool,
    loosened: list[str],
    records: list[tuple[Owner | None, str]],
) -> None:
    directory = tmp_path_factory.mktemp("world")
    environ = {"HOME": str(directory), "SESSION_GATE_CONFIG": str(directory / "none.toml")}
    site = Site(find_project(str(directory)), environ, Clock(NOW, BOOT), str(directory / "state"))
    site.state.ensure()
    if present:
        state = "debt" if {"debt", "unknown"} & set(kinds) else "ok"
        stamp = site.stamp() if same_stamp else ["something else"]
        Path(site.state.marker_file.path).write_bytes(marker(site, age, state, boot, stamp, kinds, loosened))
    for number, (owner, state) in enumerate(records):
        site.state.ledger.write(record(number, owner, state, BOOT))
    look = site.look()
    expected = site.judge(look, None).kind

    ran: list[str] = []
    boundary = SimpleNamespace(start=lambda *arguments: ran.append(arguments[4].kind) or "text")
    monkeypatch.setattr(silent, "_awake", lambda name: boundary if name == "boundary" else None)
    monkeypatch.setattr(silent, "follow", lambda *_, **__: True)
    event = Event("SessionStart", "mine", [str(directory)], "startup", "", "")
    printed = silent.start(site, claude, event)

    assert (ran, printed) == (([], "") if expected == "green" else ([expected], "text"))
    assert site.state.ledger.read("mine") is not None
    alive = [owner is ME and state == OPEN for owner, state in records]
    really_green = (
        present and not {"debt", "unknown", "deferred"} & set(kinds) and age in (0.0, DAY) and boot == BOOT
        and same_stamp and not loosened and all(alive)
    )  # fmt: skip
    assert (expected == "green") == really_green


def test_a_start_that_cannot_write_its_record_takes_the_markers_word_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"HOME": str(tmp_path), "SESSION_GATE_CONFIG": str(tmp_path / "none.toml")}
    site = Site(find_project(str(tmp_path)), environ, Clock(NOW, BOOT), str(tmp_path / "state"))
    site.state.ensure()
    Path(site.state.marker_file.path).write_bytes(marker(site, 0.0, "ok", BOOT, site.stamp(), [], []))
    (tmp_path / "state" / site.project.key / "sessions").rmdir()
    (tmp_path / "state" / site.project.key / "sessions").write_text("in the way")
    troubles: list[Any] = []
    boundary = SimpleNamespace(start=lambda *arguments: troubles.append(arguments[-2]) or "text")
    monkeypatch.setattr(silent, "_awake", lambda _: boundary)
    assert silent.start(site, claude, Event("", "mine", [str(tmp_path)], "startup", "", "")) == "text"
    assert "sessions" in troubles[0]
    (tmp_path / "state" / site.project.key / "sessions").unlink()
    assert site.judge(site.look(), None).kind == "stale"


def test_a_payload_is_read_as_soon_as_it_is_complete() -> None:
    from gate import payload

    read_end, write_end = os.pipe()
    try:
        os.write(write_end, b'{"a": {"b": 1}}\n')
        assert payload.read(read_end, patience=60) == {"a": {"b": 1}}
    finally:
        os.close(read_end)
        os.close(write_end)


@given(st.binary(max_size=200))
def test_whatever_a_client_writes_is_a_payload_or_none(data: bytes) -> None:
    from gate import payload

    assert isinstance(payload.parse(data), dict)


@given(st.dictionaries(st.sampled_from(["session_id", "cwd", "hook_event_name", "source", "reason"]), st.one_of(
    st.none(), st.integers(), st.text(max_size=20), st.lists(st.text(max_size=3), max_size=2)
)))  # fmt: skip
def test_whatever_stands_in_a_payload_is_an_event(payload: dict[str, Any]) -> None:
    event = claude.read_event(payload, {"CLAUDE_PROJECT_DIR": "/p"})
    assert all(isinstance(value, str) for value in (event.name, event.session, event.source, event.reason))
    assert event.directories[-1] == "/p"


@pytest.mark.parametrize("place", [0, 5, (1 << 20) - 6, 1 << 20, 3 << 20])
def test_a_text_of_ours_is_found_wherever_it_stands_in_a_transcript(tmp_path: Path, place: int) -> None:
    transcript = tmp_path / "transcript"
    transcript.write_bytes(b"x" * place + b"SESSION-GATE DEBT" + b"x" * (1 << 20))
    assert speaks_of_us(str(transcript))
    transcript.write_bytes(b"x" * place + b"SESSION-GAT" + b"x" * (1 << 20))
    assert not speaks_of_us(str(transcript))


def test_what_cannot_be_read_may_hold_one(tmp_path: Path) -> None:
    assert speaks_of_us(str(tmp_path / "none"))
    assert speaks_of_us("\0")


def test_a_directory_that_no_system_could_have_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked for part by part, one of a payload's four megabytes took minutes, while the session waited."""
    monkeypatch.chdir(tmp_path)
    for long in ("/a" * 1_000_000, "/" * 3_000_000, str(tmp_path) + "/.." * 1_000_000, "/" + "a" * 20_000):
        event = claude.read_event({"cwd": long}, {})
        assert event_directory(event) == str(tmp_path)
        assert event_directory(Event("", "", [long, str(tmp_path.parent)], "", "", "")) == str(tmp_path.parent)
    found = claude.read_event({"session_id": "s" * 20_000, "transcript_path": "é" * 1_000_000, "cwd": "/x"}, {})
    assert (found.session, found.transcript, found.directories) == ("", "", ["/x"])


def test_nothing_is_waited_for_in_the_place_of_a_clients_files(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    claude.export_tag({"CLAUDE_ENV_FILE": str(fifo)}, "a-session")
    assert speaks_of_us(str(fifo)), "what it says is not known"
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text("x" * 100_000)
    assert not speaks_of_us(str(transcript))
    transcript.write_text("x" * 100_000 + "SESSION-GATE DEBT" + "x" * 100_000)
    assert speaks_of_us(str(transcript))
