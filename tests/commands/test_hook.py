"""`gate hook` as somebody types it: the options of all commands, and exit 0 whatever is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kit import Machine

ANSWER = b'{"hookSpecificOutput":'


def payload(**values: str) -> bytes:
    return json.dumps({"session_id": "s", "hook_event_name": "SessionStart"} | values).encode()


@pytest.mark.parametrize(
    "words",
    [
        ["hook", "-C", "{}", "start", "--client", "claude"],
        ["hook", "start", "--client=claude", "-C{}"],
        ["-C", "{}", "hook", "start", "--client", "claude"],
        ["-C", "{}/..", "hook", "start", "-C", "project", "--client", "claude"],
        ["--no-color", "hook", "start", "--client", "claude", "--format", "json", "-C", "{}"],
    ],
)
def test_the_directory_option(machine: Machine, project: Path, words: list[str]) -> None:
    (project / "left.py").write_text("")
    machine.text("end", cwd=project, code=1)
    done = machine.gate(*[word.format(project) for word in words], cwd=machine.directory, payload=payload())
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(ANSWER)
    assert b"left.py" in done.stdout


def test_what_the_client_says_comes_before_the_directory_option(machine: Machine, project: Path) -> None:
    (project / "left.py").write_text("")
    machine.text("end", cwd=project, code=1)
    words = ["hook", "-C", str(machine.temp), "start", "--client", "claude"]
    assert b"left.py" in machine.gate(*words, payload=payload(cwd=str(project))).stdout


def test_a_directory_that_is_not_there_is_said_and_is_not_fatal(machine: Machine, project: Path) -> None:
    (project / "left.py").write_text("")
    machine.text("end", cwd=project, code=1)
    words = ["hook", "-C", "no\nwhere", "start", "--client", "claude"]
    done = machine.gate(*words, cwd=machine.directory, payload=payload(cwd=str(project)))
    assert done.returncode == 0
    assert done.stderr == b"session-gate: -C ./no\\nwhere: No such file or directory; went on without it\n"
    assert b"left.py" in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["start"],
        ["stop", "--client", "claude"],
        ["start", "--client", "clod"],
        ["start", "--client", "claude", "--nothing"],
        ["start", "--client", "claude", "-C"],
        ["stop", "--client", "claude", "-C", "."],
        ["start", "-C", "."],
        ["start", "--client", "claude", "--format", "xml"],
    ],
)
def test_a_mistake_is_said_in_one_line_and_exits_0(machine: Machine, project: Path, words: list[str]) -> None:
    done = machine.gate("hook", *words, cwd=project, payload=payload())
    assert (done.returncode, done.stdout) == (0, b"")
    (line,) = done.stderr.splitlines()
    assert line.startswith(b"session-gate: ")


def test_help_and_version_are_answered(machine: Machine, project: Path) -> None:
    assert "gate hook start --client claude <" in machine.text("hook", "--help", cwd=project)
    assert "-C DIR" in machine.text("hook", "-h", cwd=project)
    assert machine.text("hook", "--version", cwd=project).startswith("session-gate")
