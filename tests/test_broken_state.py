"""The state directory cannot be used: nothing is fatal in a hook, it is said, and no silence is inherited."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from kit import GATE, Client, Machine, injected

from gate import silent

OpenClient = Callable[..., Client]
OWN_MOUNTS = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
STATE = "STATE: could not be kept, so no silence can be relied on: "


def a_file_in_its_place(state: Path) -> None:
    shutil.rmtree(state)
    state.write_text("")


def writable_for_others(state: Path) -> None:
    state.chmod(0o777)


def a_file_for_the_project(state: Path) -> None:
    (project,) = state.iterdir()
    shutil.rmtree(project)
    project.write_text("")


def a_file_for_the_sessions(state: Path) -> None:
    (sessions,) = state.glob("*/sessions")
    shutil.rmtree(sessions)
    sessions.write_text("")


def a_link_that_leads_nowhere(state: Path) -> None:
    shutil.rmtree(state)
    state.symlink_to("nowhere")


WAYS = [
    a_file_in_its_place,
    writable_for_others,
    a_file_for_the_project,
    a_file_for_the_sessions,
    a_link_that_leads_nowhere,
]


@pytest.mark.parametrize("spoil", WAYS, ids=lambda way: way.__name__)
def test_a_start_says_that_nothing_can_be_kept_and_an_end_is_survived(
    machine: Machine, project: Path, open_client: OpenClient, spoil: Callable[[Path], None]
) -> None:
    machine.text("end", cwd=project)
    (project / "left.py").write_text("")
    spoil(machine.state)
    client = open_client(project)
    text = client.start()
    assert STATE in text
    assert str(machine.state) in text
    assert client.hook("end") == ""
    done = machine.gate("start", cwd=project)
    assert (done.returncode, STATE in done.stdout.decode()) == (0, True)
    done = machine.gate("end", cwd=project)
    assert done.returncode == 2
    assert b"left.py" in done.stdout, "what was found is not lost with the marker"
    assert done.stderr.count(b"\n") == 1
    assert done.stderr.startswith(b"session-gate: error: " + os.fsencode(machine.state))
    machine.text("run", cwd=project, code=1)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a mount namespace of one's own is Linux's")
def test_a_read_only_state_is_said_at_every_start(machine: Machine, project: Path) -> None:
    machine.text("end", cwd=project)
    (project / "left.py").write_text("")
    inside = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'
    for boundary in ("start", "end", "start"):
        done = subprocess.run(
            [*OWN_MOUNTS, inside, "sh", machine.state, GATE, "hook", boundary, "--client", "claude"],
            cwd=project,
            env=machine.environ,
            input=b'{"session_id": "s", "hook_event_name": "Session%s"}' % boundary.title().encode(),
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert (STATE in injected(done.stdout.decode())) == (boundary == "start")
        assert b"Read-only file system" in (done.stdout if boundary == "start" else done.stderr)


@pytest.mark.parametrize("boundary", ["start", "end"])
def test_without_a_home_a_start_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path, boundary: str
) -> None:
    def unknown(_: int) -> pwd.struct_passwd:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "SESSION_GATE_STATE_DIR", "SESSION_GATE_CONFIG"):
        monkeypatch.delenv(name)
    monkeypatch.setattr(silent.payload, "read", dict)
    monkeypatch.setattr(silent, "_keep_stdout_aside", lambda: None)
    monkeypatch.chdir(tmp_path)
    assert silent.main([boundary, "--client", "claude"]) == 0
    printed = capfd.readouterr()
    said = injected(printed.out) if boundary == "start" else printed.err
    assert "no home directory is known: set HOME, or SESSION_GATE_STATE_DIR to a directory of your own" in said
