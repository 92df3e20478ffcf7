"""The gate is not what it looks for: it leaves nothing, hangs nowhere, and says what it could not check."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import psutil
from assault import Assault, left_processes, snapshot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kit import PYTHON, SILENT, Client, injected
from tally import refuse, tried

CALLS = 200
BUDGET = 10.0
"""Seconds that a client gives a start hook; more is not forgiven, on whatever machine."""


def hook(environ: dict[str, str], cwd: Path, boundary: str, data: bytes, **options: object) -> subprocess.Popen[bytes]:
    """The line that a client calls, begun."""
    process = subprocess.Popen(
        [PYTHON, "-I", "-S", SILENT, boundary, "--client", "claude"],
        cwd=cwd,
        env=environ,
        **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options,  # type: ignore[call-overload]
    )
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
        stdin.write(data)
    process.stdin = None
    return process


def payload(project: Path, event: str, **more: str) -> bytes:
    return json.dumps({"session_id": "s", "cwd": str(project), "hook_event_name": event} | more).encode()


def names(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


def test_many_calls_leave_what_one_leaves(assault: Assault) -> None:
    project, machine = assault.repository(), assault.machine
    client = Client(machine, project)
    client.start()
    machine.settle()
    before = names(machine.directory)
    environ = machine.environ | {"CLAUDE_PID": str(client.process.pid)}
    events = [
        ("start", "SessionStart", "compact"),
        ("start", "SessionStart", "resume"),
        ("end", "Stop", ""),
        ("end", "SubagentStop", ""),
    ]
    running: list[subprocess.Popen[bytes]] = []
    for number in range(CALLS):
        boundary, event, source = events[number % len(events)]
        data = payload(project, event, session_id="session-1", source=source)
        running.append(hook(environ, project, boundary, data))
        if len(running) == 4:
            for process in running:
                out, errors = process.communicate(timeout=60)
                refuse("crashes", (process.returncode or errors or out) and (out, errors))
            running.clear()
    machine.settle()
    tried(CALLS)
    refuse("leftovers", sorted(set(names(machine.directory)) ^ set(before)))
    client.end()
    refuse("leftovers", left_processes(machine))
    refuse("leftovers", [name for name in names(machine.state) if "sessions/" in name])
    refuse("leftovers", list(project.rglob("*.lock")))


def test_a_home_that_is_a_repository(assault: Assault) -> None:
    """A stray `git init` in a home directory with 20,000 files, and every start read all of it for minutes."""
    home = assault.machine.directory / "home"
    shutil.copytree(assault.repository("stray"), home, dirs_exist_ok=True)
    for number in range(200):
        directory = home / f"directory-{number}"
        directory.mkdir()
        for file in range(100):
            os.close(os.open(directory / f"file-{file}", os.O_CREAT | os.O_WRONLY, 0o644))
    began = time.monotonic()
    done = hook(assault.machine.environ, home, "start", payload(home, "SessionStart"))
    out, _ = done.communicate(timeout=60)
    assert time.monotonic() - began < BUDGET
    assert done.returncode == 0
    assert len(injected(out.decode())) <= 2000
    tried()
    assault.machine.settle()
    refuse("leftovers", left_processes(assault.machine))
    refuse("leftovers", list((home / ".git").rglob("*.lock")))


def test_a_git_that_hangs(assault: Assault) -> None:
    """It is ended with all that it started, by whoever started it, in the time that a start has."""
    project, machine = assault.repository(), assault.machine
    program, said = machine.directory / "bin" / "git", machine.directory / "said"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\necho $$ $PPID >> "{said}"\nsleep 600 &\nsleep 600\n')
    program.chmod(0o755)
    environ = machine.environ | {"PATH": f"{program.parent}:{machine.environ['PATH']}"}
    began = time.monotonic()
    process = hook(environ, project, "start", payload(project, "SessionStart", source="startup"))
    out, _ = process.communicate(timeout=60)
    try:
        assert time.monotonic() - began < BUDGET
        assert process.returncode == 0
        assert "could not check: git gave no answer in" in injected(out.decode())
        mine = [int(line.split()[0]) for line in said.read_text().splitlines() if line.endswith(f" {process.pid}")]
        assert mine
        refuse("leftovers", [group for group in mine if lives(group)])
        tried()
    finally:
        # The follower has a minute for its own; that is not awaited.
        for follower in followers(machine.state):
            os.kill(follower, signal.SIGTERM)
        machine.settle()
        for line in said.read_text().splitlines():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(int(line.split()[0]), signal.SIGKILL)
    refuse("leftovers", left_processes(machine))


def lives(group: int) -> bool:
    """Whether a process of this group is more than a zombie."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                return True
    return False


def followers(state: Path) -> list[int]:
    """The gate's own detached processes of a state: they may wait for their git for a minute, which is not awaited."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("SESSION_GATE_STATE_DIR") == str(state) and "complete" in process.cmdline():
                found.append(process.pid)
        except (psutil.Error, OSError):
            continue
    return found


FIFOS = (".git/info/exclude", ".gitignore", ".gate.toml", "pyproject.toml", ".pilot.lock", ".git/MERGE_HEAD")


def test_files_that_block_whoever_opens_them(assault: Assault) -> None:
    project, machine = assault.repository(), assault.machine
    (project / ".git/info").mkdir(exist_ok=True)
    for name in FIFOS:
        (project / name).unlink(missing_ok=True)
        os.mkfifo(project / name)
    before = snapshot(project)
    began = time.monotonic()
    process = hook(machine.environ, project, "start", payload(project, "SessionStart", source="startup"))
    out, _ = process.communicate(timeout=60)
    assert time.monotonic() - began < BUDGET
    assert process.returncode == 0
    assert "could not check" in injected(out.decode())
    tried(len(FIFOS))
    for follower in followers(machine.state):
        os.kill(follower, 15)
    machine.settle()
    refuse("leftovers", [path for path, was in before.items() if snapshot(project)[path] != was])


WAYS: dict[str, tuple[str, dict[str, str | None]]] = {
    "a working directory that was deleted": ('mkdir gone && cd gone && rmdir ../gone && "$@"', {}),
    "closed streams": ('"$@" >&- 2>&- <&-', {}),
    "a closed output": ('"$@" >&-', {}),
    "a full output": ('"$@" > /dev/full', {}),
    "an output that nobody reads": ('"$@" | true', {}),
    "no home": ('"$@"', {"HOME": None}),
    "a relative home": ('"$@"', {"HOME": "home"}),
    "a home that is a file": ('"$@"', {"HOME": "/dev/null"}),
    "no git": ('"$@"', {"PATH": "/nowhere"}),
    "no path": ('"$@"', {"PATH": None}),
    "no temp directory": ('"$@"', {"TMPDIR": "/nowhere"}),
    "an environment of nothing": ('exec env -i "$@"', {}),
    "few open files": ('ulimit -n 16; "$@"', {}),
    "no room in files": ('ulimit -f 0; "$@"', {}),
    "a full state": ('"$@"', {"SESSION_GATE_STATE_DIR": "/dev/full/x"}),
    "bytes in the environment": ('"$@"', {"HOME": "/\udcff\n", "CLAUDE_PROJECT_DIR": "\udcff"}),
    "an absurd clock": ('"$@"', {"SESSION_GATE_NOW": "9999-99-99T99:99:99Z"}),
}


def test_whatever_is_missing_a_hook_ends_well(assault: Assault) -> None:
    project, machine = assault.repository(), assault.machine
    machine.text("end", cwd=project)  # so that only what is missing wakes more than the silent path
    for way, (script, changes) in WAYS.items():
        environ = {name: value for name, value in (machine.environ | changes).items() if value is not None}
        if "env -i" in script:
            script = f'exec env -i SESSION_GATE_STATE_DIR={machine.state} "$@"'
        for boundary in ("start", "end") if way in AT_AN_END else ("start",):
            data = payload(project, f"Session{boundary.title()}")
            done = subprocess.run(
                ["/bin/sh", "-c", script, "sh", PYTHON, "-I", "-S", SILENT, boundary, "--client", "claude"],
                cwd=project, env=environ, input=data, capture_output=True, check=False, timeout=60,
            )  # fmt: skip
            refuse("crashes", (done.returncode or b"Traceback" in done.stderr) and (done.returncode, done.stderr), way)
            tried()
    machine.settle()
    refuse(
        "leftovers",
        [name for name in names(project) if not name.startswith(".git/") and name not in (".git", "README")],
    )


def test_without_git_it_is_said(assault: Assault) -> None:
    project, machine = assault.repository(), assault.machine
    process = hook(machine.environ | {"PATH": "/nowhere"}, project, "start", payload(project, "SessionStart"))
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "could not check: git was not found in PATH" in injected(out.decode())
    tried()
    machine.settle()


AT_AN_END = ("closed streams", "no home", "no room in files")

ODD = (
    b"",
    b"{}",
    b"[]",
    b"null",
    b"{",
    b"\xff\xfe",
    b"{" * 100_000,
    b'{"a":' * 5000,
    b'{"session_id": "' + b"A" * (5 << 20) + b'"}',
)


def test_payloads_of_any_bytes(assault: Assault) -> None:
    project, machine = assault.repository(), assault.machine
    machine.text("end", cwd=project)

    def call(data: bytes) -> None:
        process = hook(machine.environ, project, "end", data)
        out, errors = process.communicate(timeout=60)
        refuse("crashes", (process.returncode or out or errors) and (data[:100], out, errors))
        tried()

    for data in ODD:
        call(data)
    any_json = st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner)
    )
    any_json |= st.dictionaries(KEYS, any_json)

    @settings(max_examples=40, derandomize=True, suppress_health_check=list(HealthCheck), database=None)
    @given(st.binary() | any_json.map(lambda value: json.dumps(value).encode()))
    def call_any(data: bytes) -> None:
        call(data)

    call_any()
    machine.settle()
    refuse("leftovers", left_processes(machine))


KEYS = (
    st.sampled_from(["session_id", "cwd", "source", "reason", "transcript_path", "agent_id", "hook_event_name"])
    | st.text()
)
