"""Whose is it, over several sessions, people, projects and conversations: from outside, with real repositories."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from kit import NO_PROCESSES, Client, Machine, green

from gate.clock import rfc3339

OpenClient = Callable[..., Client]


def test_a_persons_edits_are_nobodys_whatever_else_is_red(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    open_client(project, "first").leave("left.py")
    for number in range(3):
        (project / "mine.py").write_text(f"a person's work, {number}\n")
        client = open_client(project, f"later-{number}")
        text = client.start()
        assert "mine.py" not in text
        client.end()
        (finding,) = [f for f in machine.marker()["findings"] if f["kind"] == "debt"]
        assert "left.py" in finding["summary"]
        assert "mine.py" not in finding["summary"]


def test_a_persons_edits_are_nobodys_after_a_restart(machine: Machine, project: Path, open_client: OpenClient) -> None:
    green(machine, project)
    (project / "mine.py").write_text("a person's work\n")
    marker = machine.project_dir() / "marker.json"
    value = machine.marker()
    value["began"]["boot"] = "an-earlier-boot"
    marker.write_text(json.dumps(value))
    assert machine.verdict(project) == "stale"
    client = open_client(project)
    assert client.start() == ""
    client.end()
    assert machine.verdict(project) == "green"


def test_a_session_without_a_baseline_is_not_charged_with_what_is_older_than_itself(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    (project / "mine.py").write_text("a person's work\n")
    machine.environ["SESSION_GATE_DISABLE"] = "1"
    client = open_client(project, "first")
    client.start()
    client.shell("echo one > left.py")
    client.kill()
    del machine.environ["SESSION_GATE_DISABLE"]
    text = open_client(project, "second").start()
    assert "1 uncommitted path since" in text
    assert "(1 more from before): left.py." in text


def test_a_second_end_does_not_take_another_terminals_record(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    one, two = open_client(project, "same"), open_client(project, "same")
    one.start()
    two.start("resume")
    machine.settle()
    one.end()
    late = open_client(project, "same")
    late.end()
    assert len(machine.records()) == 1, "the second terminal lives"
    two.shell("echo one > left.py")
    two.kill()
    assert "left.py" in open_client(project, "next").start()


def test_an_id_that_looks_like_anothers_is_its_own(machine: Machine, project: Path, open_client: OpenClient) -> None:
    green(machine, project)
    one, two = open_client(project, "talk"), open_client(project, "talk--2")
    one.start()
    two.start()
    machine.settle()
    one.end()
    assert [path.stem for path in machine.records()] == ["talk--2"]


def test_a_second_end_in_another_directory_charges_nobody(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    elsewhere = machine.repository("elsewhere")
    green(machine, project)
    machine.text("end", cwd=elsewhere)
    (elsewhere / "mine.py").write_text("a person's work\n")
    client = open_client(project)
    client.start()
    client.end()
    late = open_client(elsewhere)
    late.end()
    assert machine.records() == []
    assert machine.verdict(elsewhere) == "green"


def test_an_unreadable_record_is_a_session_of_which_nothing_is_known(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    first = open_client(project, "first")
    first.start()
    machine.settle()
    first.shell("echo one > left.py")
    second = open_client(project, "second")
    second.start()
    machine.settle()
    (record,) = [path for path in machine.records() if path.stem == "first"]
    record.write_bytes(b"")
    first.kill()
    second.end()
    assert "left.py" in machine.text("start", cwd=project)
    assert machine.records() == []


def test_a_record_of_a_newer_version_is_left_alone(machine: Machine, project: Path, open_client: OpenClient) -> None:
    green(machine, project)
    client = open_client(project, "first")
    client.start()
    machine.settle()
    (record,) = machine.records()
    newer = json.dumps(json.loads(record.read_bytes()) | {"schema": 2, "more": "of it"})
    record.write_text(newer)
    client.end()
    assert record.read_text() == newer
    assert machine.verdict(project) == "damaged"


def test_what_is_gone_is_said_once(machine: Machine, project: Path, open_client: OpenClient) -> None:
    (project / "left.py").write_text("")
    machine.text("end", cwd=project, code=1)
    client = open_client(project, "talk")
    client.start()
    (project / "left.py").unlink()
    client.end()
    texts = []
    for _ in range(3):
        client = open_client(project, "talk")
        texts.append(client.start("resume"))
        client.end()
    assert "is gone" in texts[0]
    assert texts[1:] == ["", ""]


def test_a_helpers_worktree_is_the_work_of_the_session_that_lives(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    (project / ".gitignore").write_text(".claude/\n")
    machine.commit(project)
    green(machine, project)
    one, two = open_client(project, "one"), open_client(project, "two")
    one.start()
    two.start()
    machine.settle()
    one.shell("git worktree add -q .claude/worktrees/x && echo > .claude/worktrees/x/work.py")
    two.end()
    assert machine.marker()["state"] == "ok"
    one.kill()
    text = open_client(project, "three").start()
    assert "no end recorded" in text
    assert "1 other worktree" in text


def test_two_first_looks_at_once_charge_nobody(machine: Machine, project: Path, open_client: OpenClient) -> None:
    (project / "mine.py").write_text("a person's work\n")
    one = open_client(project, "one")
    assert "first look" in one.start()
    machine.settle()
    for path in (machine.project_dir() / "marker.json", machine.project_dir() / "sessions" / "one.baseline"):
        path.unlink()  # as if the other had not yet got that far
    two = open_client(project, "two")
    assert "no check of this project is recorded" in two.start()
    assert [f["kind"] for f in machine.marker()["findings"]] == ["note"]


@pytest.mark.parametrize("how", ["all of it", "what was in it"])
def test_a_removed_state_directory_is_told_from_a_first_installation(
    machine: Machine, project: Path, open_client: OpenClient, how: str
) -> None:
    client = open_client(project, "first")
    assert client.start() == ""
    client.end()
    shutil.rmtree(machine.state)
    if how == "what was in it":
        machine.state.mkdir(mode=0o700)
    assert machine.verdict(project) == "first"
    text = open_client(project, "second").start()
    assert text.startswith("SESSION-GATE: the gate's state was removed since it was last used; ")
    machine.settle()
    other = machine.repository("other")
    assert open_client(other, "third").start() == "", "said once; and another project's first look is none"


def test_a_green_marker_that_another_project_knows_better_than_is_doubted(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    machine.config.write_text(f"[checks.capture_streams]\nmax_streams = 2\n{NO_PROCESSES}")
    recorder = machine.directory / "arecord"
    shutil.copy("/bin/sleep", recorder)
    other = machine.repository("other")
    for place in (project, other):
        green(machine, place)
    recorders = [subprocess.Popen([recorder, "600"], cwd=project, env=machine.environ) for _ in range(4)]
    try:
        client = open_client(other)
        assert client.start() == ""
        client.end()
        (finding,) = machine.json("status", cwd=other)["marker"]["findings"]
        assert finding["kind"] == "note"
        assert finding["summary"] == f"4 capture streams (expect 1), which is a matter of {project}"
        assert machine.verdict(other) == "green"
        assert machine.verdict(project) == "stale"
        text = open_client(project, "next").start()
        assert text.startswith("SESSION-GATE DEBT: a check of another project saw something that belongs here.")
        assert "AUDIO: 4 capture streams" in text
    finally:
        for process in recorders:
            process.kill()
            process.wait()


def test_what_a_session_starts_carries_its_tag(machine: Machine, project: Path, open_client: OpenClient) -> None:
    file = machine.directory / "env.sh"
    file.write_text("export THEIRS=1\n")
    machine.environ["CLAUDE_ENV_FILE"] = str(file)
    client = open_client(project, "an odd/id")
    client.start()
    (record,) = machine.records()
    assert file.read_text() == f"export THEIRS=1\nexport SESSION_GATE_SESSION={record.stem}\n"
    client.start("compact")
    assert file.read_text().count("SESSION_GATE") == 1
    file.unlink()
    file.symlink_to("elsewhere")
    open_client(project, "another").start()
    assert not (machine.directory / "elsewhere").exists()


def test_what_a_start_itself_finds_gone_is_said(machine: Machine, project: Path, open_client: OpenClient) -> None:
    green(machine, project)
    open_client(project, "first").leave("left.py")
    client = open_client(project, "talk")
    assert "left.py" in client.start()
    client.end()
    (project / "left.py").unlink()
    client = open_client(project, "talk")
    text = client.start("resume")
    assert text.startswith("SESSION-GATE: what an earlier text in this conversation reported is gone; ")
    client.end()
    assert open_client(project, "talk").start("resume") == ""


def test_in_a_conversation_that_goes_on_no_two_texts_are_the_same(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    (project / "left.py").write_text("")
    machine.text("end", cwd=project, code=1)
    texts = []
    for number in range(2):
        machine.environ["SESSION_GATE_NOW"] = rfc3339(time.time() + number)
        client = open_client(project, "talk")
        texts.append(client.start("resume"))
        client.end()
    assert all("\nChecked at 20" in text for text in texts)
    assert len(set(texts)) == 2
    assert "Checked at" not in open_client(project, "another").start()


def test_a_client_that_goes_on_to_another_conversation_hands_its_session_over(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    client = open_client(project, "before")
    client.start()
    machine.settle()
    client.shell("echo one > left.py")
    client.hook("end", reason="resume")
    assert [json.loads(path.read_bytes())["state"] for path in machine.records()] == ["leaving"]
    client.session = "after"
    text = client.start("fork")
    assert text.startswith("SESSION-GATE DEBT: this stood before /branch.")
    assert [path.stem for path in machine.records()] == ["after"]
    client.hook("end", reason="resume")
    client.start("resume")
    assert [json.loads(path.read_bytes())["state"] for path in machine.records()] == ["open"], "and back"
    client.hook("end", reason="resume")
    client.kill()
    assert machine.verdict(project) == "abandoned"


def test_what_was_gone_in_between_is_not_unchanged(machine: Machine, project: Path) -> None:
    for _ in range(4):
        (project / "left.py").write_text("")
        machine.text("end", cwd=project, code=1)
        assert "left.py" in machine.text("start", cwd=project)
        (project / "left.py").unlink()
        machine.text("end", cwd=project)


def test_a_directory_that_becomes_a_repository_takes_its_session_along(
    machine: Machine, open_client: OpenClient
) -> None:
    place = machine.directory / "plain"
    place.mkdir()
    client = open_client(place)
    client.start()
    machine.settle()
    client.shell("git init -q . && echo one > left.py")
    client.end()
    assert machine.records() == []
    assert "left.py" in machine.text("start", cwd=place)


def test_a_session_in_the_middle_of_its_work_is_not_charged_with_it(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    green(machine, project)
    open_client(project, "first").leave("left.py")
    client = open_client(project, "second")
    client.start()
    machine.settle()
    client.shell("echo two > at-work.py")
    text = client.start("compact")
    assert "left.py" in text
    assert "at-work.py" not in text
    client.end()
    (finding,) = [f for f in machine.marker()["findings"] if f["kind"] == "debt"]
    assert "at-work.py" in finding["summary"]


@pytest.mark.parametrize(
    "bring_out", ["git reset -q HEAD~1", "git switch -q old", "git worktree move kept ../moved"], ids=lambda c: c[4:10]
)
def test_old_content_that_a_person_brings_out_is_not_a_sessions(
    machine: Machine, project: Path, open_client: OpenClient, bring_out: str
) -> None:
    machine.git(project, "branch", "old")
    (project / ".gitignore").write_text("build/\nkept/\n")
    (project / "build").mkdir()
    (project / "build" / "output").write_text("")
    machine.commit(project)
    machine.git(project, "worktree", "add", "-q", "kept")
    (project / "kept" / "mine.py").write_text("a person's\n")
    client = open_client(project, "first")
    client.start()
    machine.settle()
    client.end()
    machine.git(project, *bring_out.split()[1:])
    client = open_client(project, "second")
    assert client.start() == ""
    machine.settle()
    client.end()
    assert machine.verdict(project) == "green"


def test_a_kept_directory_is_still_kept_when_one_of_its_files_is_committed(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    (project / "notes").mkdir()
    for name in "abc":
        (project / "notes" / name).write_text(name)
    client = open_client(project, "first")
    client.start()
    machine.settle()
    client.end()
    client = open_client(project, "second")
    client.start()
    machine.settle()
    client.shell("git add notes/a && git commit -qm a")
    client.end()
    assert machine.verdict(project) == "green"


def test_a_check_that_did_not_run_meanwhile_notes_nothing_away(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    (project / ".gitignore").write_text(".gate.toml\n")
    machine.commit(project)
    green(machine, project)
    (project / ".gate.toml").write_text('disable = ["uncommitted_paths"]\n')
    open_client(project, "first").leave("left.py")
    (project / ".gate.toml").unlink()
    assert "left.py" in open_client(project, "second").start()


def test_a_debt_is_dated_to_the_session_that_left_it(machine: Machine, project: Path, open_client: OpenClient) -> None:
    green(machine, project)
    told = []
    for number in range(3):
        machine.environ["SESSION_GATE_NOW"] = rfc3339(time.time() + number * 3600)
        client = open_client(project, f"session-{number}")
        client.start()
        client.shell("true" if number else "echo one > left.py")
        client.end()
        (finding,) = [f for f in machine.marker()["findings"] if f["kind"] == "debt"]
        told.append(finding["summary"])
    assert len(set(told)) == 1, told
    assert "since the claude session that ended" in told[0]


def test_what_is_known_of_worktrees_goes_with_them(machine: Machine, project: Path, open_client: OpenClient) -> None:
    """Agents make one for each task: what is remembered of those that are gone would only ever grow."""
    client = open_client(project)
    client.start()
    machine.settle()
    for name in ("one", "two"):
        machine.git(project, "worktree", "add", "--quiet", str(machine.directory / name))
    client.end()
    assert len(machine.marker()["made"]) == 2
    machine.git(project, "worktree", "remove", str(machine.directory / "one"))
    machine.gate("end", cwd=project)
    assert len(machine.marker()["made"]) == 1
