"""What `gate install claude` writes, read by the real client: for the user and for a team; broken; taken out again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from claude_kit import Claude, bash, without_the_gate
from kit import GATE, Machine

pytestmark = pytest.mark.clients

LEAVE = bash("echo unfinished > left.txt")


def test_the_users_settings_need_no_path(claude: Claude, machine: Machine, project: Path) -> None:
    claude.variables["PATH"] = without_the_gate(machine.environ["PATH"])
    claude.run(project, LEAVE)
    (text,) = claude.run(project).told()
    assert "left.txt" in text
    doctor = machine.text("doctor", cwd=project, CLAUDE_CONFIG_DIR=str(claude.config))
    assert doctor.endswith("The gate can be relied on here.\n")
    assert "has not yet called" not in doctor


def test_an_installation_that_is_gone_is_said(claude: Claude, machine: Machine, project: Path) -> None:
    settings = claude.config / "settings.json"
    settings.write_text(settings.read_text().replace(str(GATE.parent), "/gone/bin"))
    (text,) = claude.run(project).told()
    assert text.startswith("SESSION-GATE: did not run: /gone/bin/")
    assert machine.records() == []


def test_a_teams_settings_find_it_by_path(bare_claude: Claude, machine: Machine, project: Path) -> None:
    machine.text("install", "claude", "--scope", "project", cwd=project)
    machine.commit(project)
    path = machine.environ["PATH"]
    bare_claude.variables["PATH"] = f"{GATE.parent}{os.pathsep}{path}"
    bare_claude.run(project, LEAVE)
    (text,) = bare_claude.run(project).told()
    assert "left.txt" in text

    bare_claude.variables["PATH"] = without_the_gate(path)
    (text,) = bare_claude.run(project).told()
    assert text.startswith("SESSION-GATE: did not run: session-gate was not found in PATH")


def test_uninstalled_it_is_gone(claude: Claude, machine: Machine, project: Path) -> None:
    machine.text("uninstall", "claude", cwd=project, CLAUDE_CONFIG_DIR=str(claude.config))
    assert claude.run(project, LEAVE).told() == []
    assert not list(machine.state.glob("*/sessions"))
