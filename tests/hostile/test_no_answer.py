"""A file system that gives no answer holds up no hook: whichever it is, and however little of it.

The mounts are real, and nobody serves them. Most hooks run under a watchdog with less patience, so that the tests have
more; one runs as it is installed.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from assault import left_processes
from hanging import SHORT, Begun, answer, call, hook, need_mounts, payload, where_hangs
from kit import GATE, NO_PROCESSES, PYTHON, SILENT, TIMEOUT, Client, Machine, green, injected
from tally import refuse, tried

from gate.clients import claude
from gate.silent import COULD_NOT
from gate.wiring.installed_line import Installation, absolute_line

OpenClient = Callable[..., Client]
Machines = Callable[[str], tuple[Machine, Path]]
UNNOTED = "; this could not be noted, so what the session leaves may pass unseen"


@pytest.fixture(autouse=True)
def _mounts() -> None:
    need_mounts()


@pytest.fixture
def machines(tmp_path: Path) -> Machines:
    def make(name: str) -> tuple[Machine, Path]:
        machine = Machine(tmp_path / name)
        return machine, machine.repository()

    return make


def test_the_installed_line_answers_as_it_is_installed(machine: Machine, project: Path) -> None:
    line = absolute_line(
        Installation(str(PYTHON), str(SILENT), str(GATE)), "start", "claude", "settings", claude.render_start
    )
    said = answer(machine, where_hangs([project], "/bin/sh", "-c", line), payload("start", project))
    assert injected(said) == f"{COULD_NOT}no answer from the file system of {project}; given up after 8 s"
    tried()


STANDS = [
    ("project", "project", ""),
    ("project/.git", "project/.git", ""),
    ("state", "state/", UNNOTED),
    ("config", "config/checks", ""),
]
"""What hangs, where a hook then stands, and what it adds."""


def test_a_start_says_where_it_stands(machines: Machines) -> None:
    """Whatever it cannot do without: the client is told, in its own form, by one answer."""
    begun = []
    for case in STANDS:
        for client in ("claude", "shell"):
            machine, project = machines(f"{client}-{len(begun)}")
            machine.environ |= {"SESSION_GATE_SHELL": str(os.getpid()), "SESSION_GATE_DIRECTORY": str(project)}
            line = where_hangs([machine.directory / case[0]], *hook("start", client=client))
            begun.append((client, machine, case, Begun(machine, line, payload("start", project))))
    for client, machine, (_, place, more), process in begun:
        code, out, complaint = process.ended()
        text = injected(out) if client == "claude" else out.removesuffix("\n")
        refuse("crashes", (code, complaint) != (0, "") and complaint, place)
        refuse("crashes", "\n" in text and text, place)
        where = f"{COULD_NOT}no answer from the file system of {machine.directory / place}"
        refuse("crashes", not text.startswith(where) and text, place)
        refuse("crashes", not text.endswith(f"; given up after {SHORT:g} s{more}") and text, place)
        machine.settle()
        refuse("leftovers", left_processes(machine))
        tried()


def test_what_hangs_beside_a_project_is_named_and_all_else_is_told(machine: Machine, project: Path) -> None:
    worktree = machine.directory / "elsewhere"
    machine.git(project, "worktree", "add", "--quiet", str(worktree))
    (project / "left.py").write_text("")
    caches = machine.directory / "caches"
    caches.mkdir()
    machine.environ["XDG_CACHE_HOME"] = str(caches)
    hung = [machine.temp, worktree, caches]
    text = injected(answer(machine, where_hangs(hung, *hook("start", None)), payload("start", project)))
    assert text.startswith("SESSION-GATE: first look at this project; ")
    assert "  - TMP: could not check: gave no answer in 2 s\n" in text
    assert "left.py" in text, text
    for label in ("REPO", "GITOP", "JUNK", "WORKTREE"):
        of_its_own = f"  - {label}: could not check the worktree {worktree}: its file system gives no answer\n"
        assert of_its_own in text or f"  - {label}: could not check: gave no answer in 2 s\n" in text
    assert "  - AUDIO: " not in text
    machine.settle()
    assert machine.marker()["state"] == "debt", "what could not be checked is not green"
    tried(len(hung))


RECORDING = 'for _ in 1 2 3 4; do (cd "$1" && exec "$2" 600) >/dev/null & p="$p $!"; done; shift 2; "$@"; kill $p'
"""Runs a command while four recorders run in the directory that is the first argument."""


def test_another_project_that_hangs_keeps_what_belongs_to_it(machine: Machine, project: Path) -> None:
    machine.config.write_text(f"[checks.capture_streams]\nmax_streams = 2\n{NO_PROCESSES}")
    other = machine.repository("other")
    green(machine, project)
    recorder = machine.directory / "arecord"
    shutil.copy(shutil.which("sleep") or "", recorder)
    recording = ["sh", "-c", RECORDING, "sh", project, recorder]
    line = where_hangs([project], *hook("start", None), before=recording)
    assert answer(machine, line, payload("start", other)) == ""
    machine.settle()
    (finding,) = machine.json("status", cwd=other)["marker"]["findings"]
    assert finding["kind"] == "note"
    assert finding["summary"] == f"4 capture streams (expect 1), which is a matter of {project}"
    refuse("leftovers", left_processes(machine))
    tried()


def test_a_session_that_got_no_answer_is_no_session_that_left_nothing(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    """No record could be written, and no end comes: the green of before would stand for what it leaves."""
    machine.only("uncommitted_paths")
    green(machine, project)
    client = open_client(project)
    assert COULD_NOT in call(client, "start", [project])
    client.shell("echo one > left.py")
    client.kill()
    assert machine.records() == []
    text = open_client(project, "next").start()
    head, *rest = text.splitlines()
    assert head == "SESSION-GATE DEBT: a file system gave a session no answer, and it left no record."
    assert "1 uncommitted path: left.py." in rest[0]
    tried()


def test_an_end_that_gets_no_answer_is_no_end(machine: Machine, project: Path, open_client: OpenClient) -> None:
    """The client is not held up, and the next session hears that nobody looked."""
    machine.only("uncommitted_paths")
    green(machine, project)
    client = open_client(project)
    assert client.start() == ""
    client.shell("echo one > left.py")
    machine.settle()
    for hung in (project, machine.state):  # some clients fire their end several times
        said = call(client, "end", [hung], reason="other")
        assert said.startswith(f"session-gate: no answer from the file system of {hung}")
        assert f"; given up after {SHORT:g} s" in said
        tried()
    client.exit()
    client = open_client(project, "next")
    text = client.start()
    client.kill()
    assert text.startswith("SESSION-GATE DEBT: no end recorded for the claude session opened at ")
    assert "left.py" in text
    machine.settle()
    refuse("leftovers", left_processes(machine))


def test_a_file_system_that_is_dead_is_not_missing(machine: Machine, project: Path) -> None:
    """It answers, with errors alone: its project would pass for the one of the directory above, which may be green."""
    home = machine.repository("home-of-all")
    inner = home / "project"
    inner.mkdir()
    green(machine, home)
    dead = where_hangs([inner], *hook("start"), how="dead")
    text = injected(answer(machine, dead, payload("start", inner)))
    assert text == f"{COULD_NOT}'{inner}': Transport endpoint is not connected; its file system does not work"
    tried()


@pytest.mark.parametrize("words", [["start"], ["run"]], ids=" ".join)
def test_what_is_typed_can_be_interrupted(machine: Machine, project: Path, words: list[str]) -> None:
    begun = Begun(machine, where_hangs([project], GATE, "-C", project, *words))
    waiting_for_a_file_system(psutil.Process(begun.process.pid)).send_signal(signal.SIGINT)
    assert begun.ended() == (130, "", "session-gate: interrupted\n")
    tried()


def waiting_for_a_file_system(above: psutil.Process) -> psutil.Process:
    """The process below this one that waits in the kernel so that no signal's handler can run."""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        for process in above.children(recursive=True):
            if process.status() == psutil.STATUS_DISK_SLEEP:
                return process
        time.sleep(0.02)
    raise AssertionError("nothing waits")


SLOW = 0.05
"""Seconds that each call to a slow file system takes."""


def test_a_file_system_that_is_merely_slow_is_waited_for(machine: Machine, project: Path) -> None:
    """It is no silence, and no file system that gives no answer: what there was no time for is said."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("no strace here to slow a file system down with")
    machine.only("uncommitted_paths")
    (project / "left.py").write_text("")
    machine.text("end", cwd=project, code=1)
    places = [project, *project.glob("*"), *project.glob(".git/*"), *project.glob(".git/refs/*")]
    log = machine.directory / "strace"
    slowly = [
        strace, "--follow-forks", "--quiet=all", f"--output={log}", "--trace=%file",
        f"--inject=%file:delay_enter={int(SLOW * 1e6)}", *(f"--trace-path={path}" for path in places),
    ]  # fmt: skip
    text = injected(answer(machine, [*slowly, *hook("start", None)], payload("start", project)))
    assert log.read_text().count("(DELAYED)") > 20, "it was slow"
    assert "left.py" in text or "REPO: could not check: " in text or text.startswith(f"{COULD_NOT}given up after ")
    assert "the file system of" not in text
    machine.settle()
    tried()
