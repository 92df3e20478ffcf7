"""The plugin of this repository in the real client: it is valid, installs without a network, and its hooks fire."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from claude_kit import HOLD, Claude, bash, without_the_gate
from kit import GATE, Machine

pytestmark = pytest.mark.clients

ROOT = Path(__file__).parents[2]
LEAVE = bash("echo unfinished > left.txt")


@pytest.fixture
def plugged(bare_claude: Claude) -> Claude:
    """The client with the plugin, and session-gate on its PATH."""
    bare_claude.variables["PATH"] = f"{GATE.parent}{os.pathsep}{bare_claude.machine.environ['PATH']}"
    bare_claude.command("plugin", "marketplace", "add", ROOT)
    bare_claude.command("plugin", "install", "session-gate@session-gate")
    return bare_claude


@pytest.mark.parametrize("path", [ROOT, ROOT / "plugins" / "session-gate"], ids=["marketplace", "plugin"])
def test_the_client_finds_it_valid(bare_claude: Claude, path: Path) -> None:
    assert "Validation passed" in bare_claude.command("plugin", "validate", "--strict", path)


def test_its_hooks_fire(plugged: Claude, machine: Machine, project: Path) -> None:
    with plugged.printing(project, LEAVE, HOLD) as run:
        run.wait_for_turn(2)
        assert plugged.record()["owner"]["pid"] == run.process.pid
        run.end(signal.SIGTERM)
    assert machine.records() == []
    (text,) = plugged.run(project).told()
    assert text.startswith("SESSION-GATE DEBT: the previous session left work.")
    assert "left.txt" in text
    doctor = machine.text("doctor", cwd=project, CLAUDE_CONFIG_DIR=str(plugged.config), PATH=plugged.variables["PATH"])
    assert "the plugin session-gate@session-gate calls the gate" in doctor


def test_where_the_command_is_missing_it_says_so(plugged: Claude, machine: Machine, project: Path) -> None:
    plugged.variables["PATH"] = without_the_gate(machine.environ["PATH"])
    (text,) = plugged.run(project).told()
    assert text.startswith("SESSION-GATE: did not run: session-gate was not found in PATH")
    assert text.endswith("Install session-gate, or disable its plugin.")
    assert machine.records() == []


def test_with_the_settings_hooks_beside_it_a_session_is_one(plugged: Claude, machine: Machine, project: Path) -> None:
    plugged.install()
    with plugged.printing(project, LEAVE, HOLD) as run:
        run.wait_for_turn(2)
        assert plugged.record()["owner"]["pid"] == run.process.pid
        run.end(signal.SIGTERM)
    assert machine.records() == []
    (text,) = plugged.run(project).told()  # the client puts what both say into one
    assert "left.txt" in text
    assert machine.records() == []
