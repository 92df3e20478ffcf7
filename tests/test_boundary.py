"""A session's boundary from outside: the installed command, real repositories, a client process that dies."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from kit import GATE, Client, Machine, green, injected

from gate.clock import rfc3339

OpenClient = Callable[..., Client]


def test_a_session_that_leaves_nothing_is_never_heard_of(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    for number in range(3):
        client = open_client(project, f"session-{number}")
        assert client.start() == ""
        client.end()
        assert machine.verdict(project) == "green"
        assert machine.records() == []


def test_the_next_session_is_told_what_the_last_one_left(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    first = open_client(project, "first")
    assert first.start() == ""
    first.shell("echo one > left.py")
    first.end()
    marker = machine.marker()
    assert (marker["state"], marker["session"]["id"]) == ("debt", "first")
    text = open_client(project, "second").start()
    assert text.startswith("SESSION-GATE DEBT: the previous session left work.\n  - REPO: 1 uncommitted path since the")
    assert "left.py" in text
    assert "They may be a person's unfinished work." in text
    assert text.endswith("a finding goes when the thing goes.")


def test_a_session_that_is_killed_after_a_green_one_is_told_of(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    first = open_client(project, "first")
    assert first.start() == ""
    first.shell("echo one > left.py")
    first.kill()
    machine.settle()
    assert machine.verdict(project) == "abandoned"
    text = open_client(project, "second").start()
    assert text.startswith("SESSION-GATE DEBT: no end recorded for the claude session opened at ")
    assert "left.py" in text
    assert [path.stem for path in machine.records()] == ["second"]


def test_what_a_person_keeps_is_not_charged_to_a_session(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    (project / "mine.py").write_text("a person's work\n")
    first = open_client(project, "first")
    text = first.start()
    assert text.startswith("SESSION-GATE: first look at this project")
    assert "mine.py" in text
    machine.settle()
    first.shell("echo one > left.py")
    first.end()
    (finding,) = [f for f in machine.marker()["findings"] if f["kind"] == "debt"]
    assert "(1 more from before): left.py." in finding["summary"]
    (project / "left.py").unlink()
    assert open_client(project, "second").start() == ""
    assert machine.marker()["state"] == "ok"


def test_a_green_session_with_a_persons_edits_stays_green(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    (project / "mine.py").write_text("a person's work, between two sessions\n")
    first = open_client(project, "first")
    assert first.start() == ""
    machine.settle()
    first.end()
    assert machine.verdict(project) == "green"


def test_an_edit_to_a_file_that_was_dirty_before_is_debt(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    (project / "mine.py").write_text("a person's work\n")
    first = open_client(project, "first")
    assert first.start() == ""
    machine.settle()
    first.shell("echo more >> mine.py")
    first.end()
    assert machine.marker()["state"] == "debt"


def test_debt_is_not_laundered_by_the_next_sessions_baseline(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    open_client(project, "first").leave("left.py")
    for number in range(2):
        client = open_client(project, f"later-{number}")
        assert "left.py" in client.start()
        client.end()
        assert machine.marker()["state"] == "debt"


def test_another_living_sessions_work_is_deferred_and_answered_by_the_last_one_out(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    one, two = open_client(project, "one"), open_client(project, "two")
    assert one.start() == ""
    assert two.start() == ""
    machine.settle()
    two.shell("echo work > two.py")
    one.end()
    marker = machine.marker()
    assert marker["state"] == "ok"
    assert [f["kind"] for f in marker["findings"]] == ["deferred"]
    assert machine.verdict(project) == "stale"
    two.end()
    assert machine.marker()["state"] == "debt"
    assert "two.py" in machine.marker()["findings"][0]["summary"]


def test_unchanged_findings_take_one_line_from_the_third_start(machine: Machine, project: Path) -> None:
    (project / "left.py").write_text("")
    machine.text("end", cwd=project, code=1)
    texts = [machine.text("start", cwd=project).rstrip("\n") for _ in range(4)]
    assert "left.py" in texts[0]
    assert "left.py" in texts[1]
    for text in texts[2:]:
        assert "\n" not in text
        assert text.startswith("SESSION-GATE DEBT: 1 finding unchanged since ")
        assert text.endswith(": gate status")
    (project / "more.py").write_text("")
    assert "more.py" in machine.text("start", cwd=project)


def test_a_finisher_that_was_killed_is_told_of(machine: Machine, project: Path, open_client: OpenClient) -> None:
    green(machine, project)
    first = open_client(project, "first")
    first.start()
    machine.settle()
    first.shell("echo one > left.py")
    first.hook("end", reason="other")
    machine.kill_detached("finish", "first")
    machine.settle()
    first.exit()
    assert machine.verdict(project) == "pending"
    text = open_client(project, "second").start()
    assert text.startswith("SESSION-GATE DEBT: the end of the claude session opened at ")
    assert "left.py" in text
    assert [path.stem for path in machine.records()] == ["second"]


def test_the_end_hook_returns_before_the_client_is_gone_and_its_work_is_done_afterwards(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    client = open_client(project)
    client.start()
    client.hook("end", reason="other")
    (record,) = machine.records()
    assert json.loads(record.read_bytes())["state"] == "ending"
    client.exit()
    machine.settle()
    assert machine.records() == []
    assert machine.marker()["session"]["ended"]


def test_an_end_that_is_fired_three_times_is_one_end(machine: Machine, project: Path, open_client: OpenClient) -> None:
    client = open_client(project)
    client.start()
    machine.settle()
    for _ in range(3):
        client.hook("end", reason="exit")
    assert len(list(machine.state.glob("*/sessions/*.lock"))) == 1
    client.exit()
    machine.settle()
    before = machine.marker()
    other = open_client(project)
    other.hook("end", reason="exit")
    assert machine.records() == []
    assert machine.marker() == before


def test_an_end_without_a_start_is_an_end(machine: Machine, project: Path, open_client: OpenClient) -> None:
    green(machine, project)
    (project / "left.py").write_text("")
    client = open_client(project)
    client.end()
    assert machine.marker()["state"] == "debt"
    assert machine.records() == []


@pytest.mark.parametrize("event", ["Stop", "SubagentStop", "PreCompact", "UserPromptSubmit"])
@pytest.mark.parametrize("boundary", ["start", "end"])
def test_other_events_leave_no_trace(
    machine: Machine, project: Path, open_client: OpenClient, event: str, boundary: str
) -> None:
    assert open_client(project).hook(boundary, hook_event_name=event) == ""
    assert list(machine.state.iterdir()) == []


def test_clear_hands_the_session_over_and_says_what_stood_before(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    client = open_client(project, "before")
    client.start()
    machine.settle()
    client.shell("echo one > left.py")
    client.hook("end", reason="clear")
    machine.settle()
    assert [path.stem for path in machine.records()] == ["before"]
    client.session = "after"
    text = client.start("clear")
    assert text.startswith("SESSION-GATE DEBT: this stood before /clear.")
    assert "left.py" in text
    assert [path.stem for path in machine.records()] == ["after"]


def test_compaction_is_silent_unless_the_marker_is_red(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    client = open_client(project)
    client.start()
    machine.settle()
    before = machine.records()[0].read_bytes()
    client.shell("echo one > left.py")
    assert client.start("compact") == ""
    assert machine.records()[0].read_bytes() == before
    client.shell(f"! {GATE} end > /dev/null")  # in the session itself: another's work would be deferred
    assert "left.py" in client.start("compact")


def test_a_resume_is_told_when_what_was_reported_is_gone(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    (project / "left.py").write_text("")
    machine.text("end", cwd=project, code=1)
    client = open_client(project, "talk")
    assert "left.py" in client.start()
    (project / "left.py").unlink()
    client.end()
    assert machine.verdict(project) == "green"
    assert "is gone" in open_client(project, "talk").start("resume")
    assert open_client(project, "another").start() == ""


def test_a_resumed_session_that_had_died_is_told_of(machine: Machine, project: Path, open_client: OpenClient) -> None:
    green(machine, project)
    first = open_client(project, "talk")
    first.start()
    machine.settle()
    first.shell("echo one > left.py")
    first.kill()
    text = open_client(project, "talk").start("resume")
    assert "no end recorded" in text
    assert "left.py" in text
    machine.settle()
    assert len(machine.records()) == 1


def test_disabled_is_said_and_counts_as_a_session_without_an_end(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    machine.environ["SESSION_GATE_DISABLE"] = "1"
    client = open_client(project, "first")
    assert "disabled by SESSION_GATE_DISABLE" in client.start()
    client.shell("echo one > left.py")
    assert client.hook("end") == ""
    client.exit()
    del machine.environ["SESSION_GATE_DISABLE"]
    text = open_client(project, "second").start()
    assert "no end recorded" in text
    assert "left.py" in text


@pytest.mark.parametrize("place", ["cwd", "payload"])
def test_a_session_that_ends_in_another_directory_ends_in_its_own_project(
    machine: Machine, project: Path, open_client: OpenClient, place: str
) -> None:
    green(machine, project)
    elsewhere = machine.repository("elsewhere")
    client = open_client(project)
    client.start()
    machine.settle()
    client.shell("echo one > left.py")
    client.shell(f"cd {elsewhere}")
    if place == "payload":
        client.cwd = elsewhere
    client.end()
    assert "left.py" in machine.text("start", cwd=project)
    assert machine.text("start", cwd=elsewhere) == ""


def test_a_payload_of_any_kind_is_survived(machine: Machine, project: Path) -> None:
    for payload in (b"", b"{", b"[1]", b"null", b"\xff\xfe", b'{"session_id": 5, "cwd": []}', b"x" * 100_000):
        for boundary in ("start", "end"):
            done = machine.gate("hook", boundary, "--client", "claude", cwd=project, payload=payload)
            assert done.returncode == 0
            assert b"Traceback" not in done.stderr
    machine.settle()
    assert machine.records() == []


def test_a_hook_does_not_wait_for_the_end_of_its_input(machine: Machine, project: Path) -> None:
    (project / "left.py").write_text("")
    machine.text("end", cwd=project, code=1)
    value = {"session_id": "s", "cwd": str(project), "hook_event_name": "SessionStart", "source": "startup"}
    with subprocess.Popen(
        [GATE, "hook", "start", "--client", "claude"],
        env=machine.environ,
        cwd=project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as hook:
        assert hook.stdin is not None
        assert hook.stdout is not None
        hook.stdin.write(json.dumps(value).encode())
        hook.stdin.flush()
        assert "left.py" in injected(hook.stdout.read().decode())


def test_a_wrong_client_or_boundary_is_no_reason_to_fail(machine: Machine, project: Path) -> None:
    for words in (["start"], ["start", "--client", "nobody"], ["middle", "--client", "claude"], []):
        done = machine.gate("hook", *words, cwd=project, payload=b"{}")
        assert done.returncode == 0
        assert done.stdout == b""
        assert b"usage" in done.stderr


def test_a_worktrees_session_belongs_to_the_repository(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    tree = machine.directory / "tree"
    machine.git(project, "worktree", "add", "--quiet", str(tree))
    open_client(tree).leave("left.py")
    text = machine.text("start", cwd=project)
    assert "REPO" in text
    assert "1 other worktree" in text
    assert "left.py" in machine.text("start", cwd=tree)


@pytest.mark.parametrize("boundary", ["start", "end"])
def test_a_subagents_events_are_not_a_sessions(
    machine: Machine, project: Path, open_client: OpenClient, boundary: str
) -> None:
    assert open_client(project).hook(boundary, agent_id="agent-1", source="compact") == ""
    assert list(machine.state.iterdir()) == []


def test_an_owner_is_found_in_the_clients_own_session_file(machine: Machine, project: Path) -> None:
    owner = subprocess.Popen(["sleep", "600"])
    try:
        sessions = machine.directory / "home" / ".claude" / "sessions"
        sessions.mkdir(parents=True)
        (sessions / "1.json").write_text("{")
        (sessions / f"{owner.pid}.json").write_text(json.dumps({"pid": owner.pid, "sessionId": "s"}))
        payload = json.dumps({"session_id": "s", "cwd": str(project)}).encode()
        machine.gate("hook", "start", "--client", "claude", cwd=project, payload=payload)
        machine.settle()
        assert json.loads(machine.records()[0].read_bytes())["owner"]["pid"] == owner.pid
        assert machine.json("status", cwd=project)["sessions"][0]["alive"] is True
    finally:
        owner.kill()
        owner.wait()
    assert machine.json("status", cwd=project)["sessions"][0]["alive"] is False


def test_a_session_without_an_owner_defers_while_its_transcript_changes_and_is_never_green(
    machine: Machine, project: Path
) -> None:
    green(machine, project)
    transcript = machine.directory / "transcript.jsonl"
    transcript.write_text("{}\n")
    payload = {"session_id": "s", "cwd": str(project), "transcript_path": str(transcript)}
    machine.gate("hook", "start", "--client", "claude", cwd=project, payload=json.dumps(payload).encode())
    machine.settle()
    (project / "left.py").write_text("")
    assert machine.verdict(project) == "stale"
    assert machine.text("start", cwd=project) == ""
    assert machine.marker()["findings"][0]["kind"] == "deferred"
    os.utime(transcript, (1, 1))
    assert "left.py" in machine.text("start", cwd=project)


def test_two_terminals_on_one_session_id_are_two_sessions(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    one, two = open_client(project, "same"), open_client(project, "same")
    assert one.start() == ""
    machine.settle()
    two.start("resume")
    machine.settle()
    assert len(machine.records()) == 2
    one.shell("echo work > left.py")
    one.kill()
    assert machine.verdict(project) == "abandoned"
    two.end()
    assert machine.records() == []
    assert machine.marker()["state"] == "debt"


def test_what_becomes_debt_by_its_age_alone_is_not_taken_for_something_kept(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    tree = machine.directory / "sweep-nightly"
    machine.git(project, "worktree", "add", "--quiet", "-b", "sweep", str(tree))
    machine.text("end", cwd=project)
    machine.environ["SESSION_GATE_NOW"] = rfc3339(time.time() + 6 * 86400)
    first = open_client(project, "first")
    assert first.start() == ""
    machine.settle()
    first.end()
    assert "sweep-nightly has been idle for" in open_client(project, "second").start()


def test_an_old_file_that_a_session_moves_in_is_its_own(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    old = machine.directory / "old.py"
    old.write_text("")
    os.utime(old, (1, 1))
    client = open_client(project)
    client.start()
    client.shell(f"mv {old} old.py")  # perhaps before the baseline is taken
    machine.settle()
    client.end()
    assert machine.marker()["state"] == "debt"


def test_what_one_session_left_is_not_noted_away_by_another_that_came_and_went(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    first = open_client(project, "first")
    assert first.start() == ""
    machine.settle()
    first.shell("touch -d '3 hours ago' .git/index.lock")
    second = open_client(project, "second")
    second.start()
    machine.settle()
    second.end()
    first.end()
    assert machine.marker()["state"] == "debt"
    assert "index.lock" in open_client(project, "third").start()


def test_a_run_that_is_over_at_once_still_has_its_baseline(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    for number in range(4):
        (project / "mine.py").write_text(f"a person's work, {number}\n")
        client = open_client(project, f"short-{number}")
        assert client.start() == ""
        client.end()
        assert machine.marker()["state"] == "ok"
