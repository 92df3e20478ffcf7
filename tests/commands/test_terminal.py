"""What a person sees on a terminal of 80 columns: no line is broken within a word, and nothing hangs in the air."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest
from kit import GATE, TIMEOUT, Machine


def on_a_terminal(machine: Machine, cwd: Path, *words: str, columns: int = 80, **environ: str) -> list[str]:
    """The lines of a command's standard output on a terminal, without colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = subprocess.Popen(
        [GATE, *words],
        cwd=cwd,
        env=machine.environ | {"TERM": "xterm"} | environ,
        stdout=theirs,
        stdin=subprocess.DEVNULL,
    )
    os.close(theirs)
    data = b""
    try:
        while chunk := os.read(ours, 1 << 16):
            data += chunk
    except OSError:  # so Linux says that the other side is closed
        pass
    finally:
        os.close(ours)
        command.wait(TIMEOUT)
    return [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in data.decode().split("\r\n")]


@pytest.mark.parametrize("words", [["list"], ["config"], ["explain", "stale_locks"], ["explain", "WORKTREE"]])
def test_the_registry_and_the_configuration_fit(machine: Machine, words: list[str]) -> None:
    project = machine.repository()
    lines = on_a_terminal(machine, project, *words)
    assert all(len(line) <= 80 or len(line.split()) == 1 for line in lines), "a path stays whole"
    wide = machine.text(*words, cwd=project).splitlines()
    if words == ["config"]:
        assert any(len(line) > 80 for line in wide), "off a terminal a setting is one line"
    assert "".join("".join(lines).split()) == "".join("".join(wide).split()), "and nothing is lost"


def test_a_column_that_is_coloured_is_aligned(machine: Machine, project: Path) -> None:
    lines = on_a_terminal(machine, project, "list")
    first = [line for line in lines if line[:1].isupper()]
    assert {line.index(line.split()[1]) for line in first} == {11}


def test_findings_are_broken_at_words_and_their_commands_are_not(machine: Machine, project: Path) -> None:
    for name in ("one", "two", "three", "four"):
        (project / f"a-file-that-is-called-{name}.py").write_text("")
    machine.text("end", cwd=project, code=1)
    lines = on_a_terminal(machine, project, "status")
    start = next(number for number, line in enumerate(lines) if line.startswith("REPO: "))
    assert len(lines[start]) <= 80
    assert lines[start + 1].startswith("    a-file-that-is-called-")
    (command,) = [line for line in lines if "git -C " in line]
    assert command == f"    To look and to clear: git -C {project} status shows it;"
    assert lines[lines.index(command) + 1].startswith("      they go when they are committed")


def test_the_columns_can_be_given(machine: Machine, project: Path) -> None:
    lines = on_a_terminal(machine, project, "list", COLUMNS="60")
    assert max(map(len, lines)) <= 60
    assert any(len(line) > 80 for line in on_a_terminal(machine, project, "config", columns=0))
