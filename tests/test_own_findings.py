"""What is wrong with the gate's own parts is unknown, never green, and says in words how it is mended."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit import Machine

from gate.config.sources import Problem
from gate.own_findings import config_findings, plugin_findings
from gate.registry import Problem as PluginProblem
from gate.registry import Registry

NOW = 1_780_000_000.0


def test_a_mistake_in_a_configuration_file() -> None:
    (found,) = config_findings([Problem("/a.toml", "disable", "expected a list")], NOW)
    assert (found.label, found.kind) == ("CONFIG", "unknown")
    assert found.summary == "could not check: /a.toml: disable: expected a list"
    assert found.remedy == "gate config shows what is in force; mend what is named"


@pytest.mark.parametrize(
    ("source", "cure"),
    [
        ("/c/checks/mine.py", "mend /c/checks/mine.py, or move it out of that directory"),
        ("/c/my checks", 'mend the rights of "/c/my checks", or move it away'),
        ("package foo 1.0", "upgrade or uninstall the package foo 1.0, whose check it is"),
        ("package \x1b[31m\nfoo", "upgrade or uninstall the package \\x1b[31m\\nfoo, whose check it is"),
        ("built in", "install session-gate anew"),
    ],
)
def test_a_plugin_that_cannot_be_used_says_what_to_mend_or_remove(source: str, cure: str) -> None:
    (found,) = plugin_findings(Registry([], [PluginProblem(source, "names no incident: put what happened")]), NOW)
    assert (found.label, found.kind) == ("PLUGIN", "unknown")
    assert found.summary.startswith("could not check: ")
    assert found.summary.endswith(": names no incident: put what happened")
    assert found.remedy == f"gate list shows what is loaded; {cure}"


def test_a_users_broken_check_is_named_with_its_file(machine: Machine, project: Path) -> None:
    checks = machine.directory / "config" / "checks"
    checks.mkdir(mode=0o700)
    (checks / "bad.py").write_text("import nothing_of_that_name\n")
    text = machine.text("run", cwd=project, code=1)
    assert f"PLUGIN (unknown): could not check: {checks}/bad.py: ModuleNotFoundError: No module named" in text
    assert f"mend {checks}/bad.py, or move it out of that directory" in text
