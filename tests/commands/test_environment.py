"""What is wrong with the gate's own variables and directories names them and the cure; in a hook nothing is fatal."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from kit import Machine, injected

COMMANDS = [["run"], ["end"], ["start"], ["status"], ["status", "--all"], ["list"], ["config"], ["explain", "TMP"]]


def start(machine: Machine, project: Path, **environ: str) -> str:
    """The text that a start hook injects."""
    value = {"session_id": "s", "cwd": str(project), "hook_event_name": "SessionStart"}
    done = machine.gate(
        "hook", "start", "--client", "claude", cwd=project, payload=json.dumps(value).encode(), **environ
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return injected(done.stdout.decode())


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_relative_state_directory_is_an_error(machine: Machine, project: Path, words: list[str]) -> None:
    done = machine.gate(*words, cwd=project, SESSION_GATE_STATE_DIR="state")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == (
        b"session-gate: error: SESSION_GATE_STATE_DIR: 'state' is a relative path, another place in each directory: "
        b"make it absolute\n"
    )
    assert sorted(path.name for path in project.iterdir()) == [".git", "README"]


def test_in_a_hook_a_relative_state_directory_is_said(machine: Machine, project: Path) -> None:
    text = start(machine, project, SESSION_GATE_STATE_DIR="state")
    assert text == (
        "SESSION-GATE: could not check what the previous session left: SESSION_GATE_STATE_DIR: 'state' is a relative "
        "path, another place in each directory: make it absolute"
    )
    done = machine.gate("hook", "end", "--client", "claude", cwd=project, payload=b"{}", SESSION_GATE_STATE_DIR="state")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"SESSION_GATE_STATE_DIR" in done.stderr
    assert sorted(path.name for path in project.iterdir()) == [".git", "README"]


def test_a_configuration_that_is_named_and_not_there_is_none(machine: Machine, project: Path) -> None:
    """As with git's GIT_CONFIG_GLOBAL; `gate doctor` says it."""
    missing = str(machine.directory / "config" / "slip.toml")
    machine.text("run", "stale_locks", cwd=project, SESSION_GATE_CONFIG=missing)
    done = machine.gate("doctor", cwd=project, SESSION_GATE_CONFIG=missing)
    assert f"SESSION_GATE_CONFIG names {missing}, which is not there" in done.stdout.decode()
    assert b"which is not there" not in machine.gate("doctor", cwd=project).stdout


def test_in_a_hook_a_configuration_by_a_relative_name_is_a_finding(machine: Machine, project: Path) -> None:
    """Also where everything was green under the right name."""
    machine.text("end", cwd=project)
    assert start(machine, project) == ""
    machine.settle()
    text = start(machine, project, SESSION_GATE_CONFIG="slip.toml")
    assert "  - CONFIG: could not check: " in text
    assert "SESSION_GATE_CONFIG" in text


@pytest.mark.parametrize("variable", ["SESSION_GATE_STATE_DIR", "XDG_STATE_HOME", "HOME"])
def test_a_state_directory_that_cannot_be_made_names_the_variables(
    machine: Machine, project: Path, variable: str
) -> None:
    (machine.directory / "file").write_text("")
    environ = {"SESSION_GATE_STATE_DIR": "", "XDG_STATE_HOME": "", variable: str(machine.directory / "file" / "below")}
    done = machine.gate("end", cwd=project, **environ)
    assert done.returncode == 2
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"session-gate: error: {machine.directory}/file/below")
    for word in ("Not a directory", "SESSION_GATE_STATE_DIR", "XDG_STATE_HOME", "HOME"):
        assert word in line
    assert "SESSION_GATE_STATE_DIR" in start(machine, project, **environ)


def test_a_state_directory_that_others_can_write_names_the_cure(machine: Machine, project: Path) -> None:
    os.chmod(machine.state, 0o777)
    done = machine.gate("end", cwd=project)
    assert done.returncode == 2
    for word in ("others can write there", "chmod go-w", "SESSION_GATE_STATE_DIR"):
        assert word in done.stderr.decode()
