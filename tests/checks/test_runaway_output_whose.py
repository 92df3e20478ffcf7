"""OUTPUT from outside: whom it greets, over sessions of two projects; and that the gate is no such thing itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from kit import Client, Machine, green
from output_home import ONE, OTHER, UID

from gate.registry import BUILT_IN

OpenClient = Callable[..., Client]


@pytest.fixture
def small(machine: Machine) -> Machine:
    """A machine on which 64 KiB are too much for a file, and nothing else is looked at."""
    others = [name for name in BUILT_IN if name != "runaway_output"]
    limits = 'max_file = "64KiB"\nmax_memory = "64KiB"\n'
    machine.config.write_text(f"disable = {others!r}\n[checks.runaway_output]\n{limits}")
    return machine


def output(machine: Machine, session: str) -> Path:
    return machine.temp / f"claude-{UID}" / "-a" / session / "tasks" / "b1.output"


def write(session: str) -> str:
    path = f"$CLAUDE_CODE_TMPDIR/claude-{UID}/-a/{session}/tasks"
    return f"mkdir -p {path} && head -c 100000 /dev/zero > {path}/b1.output"


def test_it_greets_who_comes_back_to_where_it_arose(small: Machine, open_client: OpenClient) -> None:
    here, there = small.repository("here"), small.repository("there")
    green(small, here)
    client = open_client(here, ONE)
    assert client.start() == ""
    client.shell(write(ONE))
    client.end()
    elsewhere = small.text("run", "runaway_output", cwd=there)
    assert f"(limit 64 KiB for one file), which is a matter of {here}" in elsewhere
    client = open_client(here, OTHER)
    text = client.start()
    assert (
        f"  - OUTPUT: Claude Code's task output and scratch: 100 KiB in -a/{ONE}/tasks/b1.output (limit 64 KiB " in text
    )
    output(small, ONE).unlink()
    client.end()
    assert small.verdict(here) == "green"


def test_the_gates_own_state_does_not_grow(machine: Machine, project: Path, open_client: OpenClient) -> None:
    """Incident: a warning that writing the log was slow was logged, and so slow (anthropics/claude-code#16093)."""

    def held() -> dict[str, int]:
        return {str(path.relative_to(machine.directory)): os.stat(path).st_size
                for name in ("state", "home", "tmp") for path in (machine.directory / name).rglob("*")
                if path.is_file()}  # fmt: skip

    def sessions(count: int) -> dict[str, int]:
        for _ in range(count):
            client = open_client(project, ONE)
            client.start()
            client.end()
        return held()

    (project / "left.py").write_text("")
    before = sessions(1)
    after = sessions(3)
    assert before.keys() == after.keys()
    assert sum(after.values()) <= sum(before.values()) + 100
