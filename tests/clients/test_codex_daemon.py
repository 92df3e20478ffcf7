"""Codex as it comes: its sessions run in a daemon, and say their end a minute after their terminal has gone. Seen with
0.171.0.
"""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest
from agent_kit import script
from codex_kit import Codex, shell
from kit import Machine, only_processes
from waiters import Waiters

pytestmark = pytest.mark.clients

LATE = 120.0
"""Seconds in which an end comes that is said 60 s after the terminal has gone."""


def wait_for_end(machine: Machine, session: str) -> None:
    """Wait until a session has ended and its finisher is done."""
    deadline = time.monotonic() + LATE
    while session in [path.stem for path in machine.records()]:
        assert time.monotonic() < deadline, f"{session} does not end"
        time.sleep(0.2)
    machine.settle()


def test_a_session_outlives_its_terminal_until_it_says_its_end(
    codex_with_daemon: Codex, machine: Machine, project: Path, waiters: Waiters
) -> None:
    codex = codex_with_daemon
    machine.config.write_text(
        machine.config.read_text().replace(only_processes(waiters.prefix), only_processes(waiters.prefix, "codex"))
    )
    codex.use_one_label()
    with codex.interactive(project) as first:
        first.terminal.wait_for("Hooks need review")
        first.terminal.choose("Trust all and continue")
        first.prompt(script(shell(f"echo unfinished > left.txt; setsid -f {waiters.paths[2]} 903")))
        first.wait_for_turn(2)
        record = codex.record()
        daemon = psutil.Process(record["owner"]["pid"])
        assert record["owner"]["shared"] is True
        assert "app-server" in daemon.cmdline()
        assert daemon in first.process.children()
        first.terminal.wait_for("done")
        first.terminal.close_window()
    assert daemon.ppid() == 1
    (session,) = machine.json("status", cwd=project)["sessions"]
    assert (session["id"], session["state"], session["alive"]) == (record["id"], "open", True)

    with codex.interactive(project) as second:
        second.prompt("hello")
        assert codex.told(second.wait_for_turn(3)) == []  # what another session is at is not told
        old, new = codex.records()
        assert old == record
        assert new["owner"] == record["owner"]
        assert new["id"] != record["id"]
        second.terminal.wait_for("done")
        wait_for_end(machine, record["id"])
        assert codex.record() == new  # one end is not the other's
        assert machine.verdict(project) == "debt"
        second.prompt("/quit")
        second.gone()

    (text,) = codex.told(codex.run(project).turns()[-1])
    assert text.startswith("SESSION-GATE DEBT: the previous session left work.")
    assert "left.txt" in text
    assert [line.split()[2] for line in text.splitlines() if "PROCESS" in line] == [waiters.names[2]]
    daemons = [process for process in codex.processes() if process.name() == "codex"]
    assert daemon in daemons  # and with its updater, which serves nobody else, no leftover
    assert codex.record() == new
