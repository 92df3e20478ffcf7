"""The real Claude Code client with the gate's hooks: what a session leaves reaches the next one's model, or nothing."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import psutil
import pytest
from claude_kit import HOLD, Claude, bash, script, subagent
from kit import Machine

pytestmark = pytest.mark.clients

LEAVE = bash("echo unfinished > left.txt")


def test_what_a_session_leaves_is_in_the_next_ones_first_request(
    claude: Claude, machine: Machine, project: Path
) -> None:
    first = claude.run(project, LEAVE)
    assert first.told() == []
    assert claude.marker()["state"] == "debt"
    assert machine.records() == []

    (text,) = claude.run(project).told()
    lines = text.splitlines()
    assert lines[0] == "SESSION-GATE DEBT: the previous session left work."
    assert lines[1].startswith("  - REPO: 1 uncommitted path since the claude session that ended ")
    assert lines[1].endswith(": left.txt. They may be a person's unfinished work.")
    assert len(lines) == 3

    (project / "left.txt").unlink()
    assert claude.run(project).told() == []  # the thing is gone
    assert machine.verdict(project) == "green"
    assert claude.run(project).told() == []  # and a green start does not even look


def test_nothing_of_a_green_session_differs_from_one_without_the_gate(
    bare_claude: Claude, machine: Machine, project: Path
) -> None:
    steps = bash("echo one two"), bash("pwd")
    bare_claude.run(project, *steps)  # the very first writes down its own things
    without = bare_claude.run(project, *steps)
    bare_claude.install()
    machine.text("end", cwd=project)
    bare_claude.run(project, *steps)
    with_it = bare_claude.run(project, *steps)
    assert machine.verdict(project) == "green"
    assert len(with_it.turns()) == len(without.turns()) == 3
    for one, other in zip(with_it.turns(), without.turns(), strict=True):
        assert comparable(one.body) == comparable(other.body)


def comparable(body: object) -> object:
    """A request without what differs between any two: ids, times, and the client's attribution of them."""
    text = json.dumps(body, indent=1, sort_keys=True)
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID", text)
    return re.sub(r"\d{4}-\d\d-\d\d[T ][\d:.]+Z?|\bcch=[0-9a-f]+|toolu_\w+|[0-9a-f]{64}", "ONE-OF-MANY", text)


def test_a_killed_session_is_named(claude: Claude, machine: Machine, project: Path) -> None:
    with claude.printing(project, LEAVE, HOLD) as run:
        run.wait_for_turn(2)
        run.end(signal.SIGKILL)
    assert claude.record()["state"] == "open"
    assert machine.verdict(project) == "abandoned"

    (text,) = claude.run(project).told()
    assert text.startswith("SESSION-GATE DEBT: no end recorded for the claude session opened at ")
    assert "left.txt" in text
    assert machine.records() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_session_that_is_asked_to_go_ends_in_order(
    claude: Claude, machine: Machine, project: Path, number: int
) -> None:
    with claude.printing(project, LEAVE, HOLD) as run:
        run.wait_for_turn(2)
        run.end(number)
    assert machine.records() == []
    assert machine.verdict(project) == "debt"


def test_the_owner_is_the_client(claude: Claude, machine: Machine, project: Path) -> None:
    with claude.printing(project, bash('echo "$SESSION_GATE_SESSION" > tag'), HOLD) as run:
        run.wait_for_turn(2)
        record = claude.record()
        assert (project / "tag").read_text().strip() == record["id"]  # what it leaves running can be told by this
        assert record["owner"]["pid"] == run.process.pid
        assert record["source"] == "startup"
        assert record["worktree"] == str(project)
        assert Path(record["transcript"]).name == record["id"] + ".jsonl"
        run.end(signal.SIGTERM)
    assert machine.records() == []
    # The fixture fails where a process is left.


def test_two_at_once_are_not_charged_with_each_others_work(claude: Claude, machine: Machine, project: Path) -> None:
    claude.run(project)
    assert machine.verdict(project) == "green"
    with claude.printing(project, LEAVE, HOLD) as busy:
        busy.wait_for_turn(2)
        short = claude.run(project)
        assert short.told() == []
        assert claude.record()["owner"]["pid"] == busy.process.pid
        busy.end(signal.SIGTERM)
    (text,) = claude.run(project).told()
    assert "left.txt" in text


def test_a_subagents_start_is_no_sessions(claude: Claude, machine: Machine, project: Path) -> None:
    with claude.printing(project, subagent(HOLD)) as run:
        run.wait_for_turn(2)
        assert claude.record()["owner"]["pid"] == run.process.pid
        run.end(signal.SIGTERM)
    assert machine.records() == []


def test_a_nested_client_is_a_session_of_its_own(claude: Claude, machine: Machine, project: Path) -> None:
    inner = script(bash("echo unfinished > inner.txt; cat pipe"))
    os.mkfifo(project / "pipe")
    (project / ".git" / "info" / "exclude").write_text("pipe\n")
    with claude.printing(project, bash(f"{claude.program} -p '{inner}' --allowedTools Bash")) as outer:
        with (project / "pipe").open("w"):  # open as soon as the inner client's shell tool reads it
            records = [json.loads(path.read_bytes()) for path in machine.records()]
            records.sort(key=lambda record: float(record["written"]))
            first, second = [psutil.Process(record["owner"]["pid"]) for record in records]
            assert first.pid == outer.process.pid
            assert second.name() == "claude"
            assert first in second.parents()
        outer.finish()
    assert machine.records() == []
    (text,) = claude.run(project).told()
    assert "inner.txt" in text
