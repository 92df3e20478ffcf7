"""Claude Code, Copilot CLI and OpenCode, the real ones, in one repository: each is told what the others left."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import claude_kit
import copilot_kit
import opencode_kit
import pytest
from agent_kit import HOLD, Agent
from claude_kit import Claude
from copilot_kit import Copilot
from kit import Machine
from opencode_kit import OpenCode

pytestmark = pytest.mark.clients

SHELLS = {"claude": claude_kit.bash, "copilot": copilot_kit.shell, "opencode": opencode_kit.shell}


@pytest.fixture
def clients(claude: Claude, copilot: Copilot, opencode: OpenCode) -> Sequence[Agent]:
    return claude, copilot, opencode


def name(client: Agent) -> str:
    return f"by-{client.CLIENT}.txt"


def named(clients: Sequence[Agent], texts: Sequence[str]) -> set[str]:
    """The clients whose files the texts name."""
    return {client.CLIENT for client in clients if any(name(client) in text for text in texts)}


def test_in_turn_each_is_told_once_what_the_others_left(
    machine: Machine, project: Path, clients: Sequence[Agent]
) -> None:
    before: set[str] = set()
    for client in clients:
        run = client.run(project, SHELLS[client.CLIENT](f"echo unfinished > {name(client)}"))
        assert named(clients, run.told()) == before
        assert len(run.told()) == bool(before)
        assert all(len(client.told(turn)) == bool(before) for turn in run.turns())
        before.add(client.CLIENT)
    for client in clients:
        (project / name(client)).unlink()
    for client in clients:
        assert client.run(project).told() == []
    assert machine.records() == []


def test_at_once_nobody_is_told_of_a_living_ones_work(
    machine: Machine, project: Path, clients: Sequence[Agent]
) -> None:
    clients[0].run(project)
    with ExitStack() as stack:
        runs = []
        for client in clients:
            step = SHELLS[client.CLIENT](f"echo unfinished > {name(client)}")
            runs.append(stack.enter_context(client.printing(project, step, HOLD)))
            runs[-1].wait_for_turn(2)
            assert runs[-1].told() == []
        records = {record["client"]: record for record in clients[0].records()}
        assert {record["owner"]["pid"] for record in records.values()} == {run.process.pid for run in runs}

        runs[0].end(signal.SIGTERM)
        (text,) = clients[1].run(project).told()
        assert named(clients, [text]) == {"claude"}
        for run in runs[1:]:
            run.end(signal.SIGKILL)
    (text,) = clients[0].run(project).told()
    assert named(clients, [text]) == {"claude", "copilot", "opencode"}
    assert machine.records() == []
