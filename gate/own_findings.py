"""What the gate says of itself: mistakes in its configuration, plugins that cannot be used. Unknown, never green."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gate.clock import rfc3339
from gate.config.sources import Problem
from gate.finding import UNKNOWN, Reported
from gate.project import digest
from gate.quote import line, name
from gate.registry import Registry
from gate.trust import DIRECTORY


def config_findings(problems: Sequence[Problem], now: float) -> list[Reported]:
    """One for each mistake in a file of the user's or the project's."""
    return [
        _own_finding("config", "CONFIG", str(problem), "gate config shows what is in force; mend what is named", now)
        for problem in problems
    ]


def plugin_findings(registry: Registry, now: float) -> list[Reported]:
    """One for each plugin that could not be used."""
    return [
        _own_finding(
            "plugins",
            "PLUGIN",
            str(problem),
            _plugin_cure(problem.source),
            now,
        )
        for problem in registry.problems
    ]


def _plugin_cure(source: str) -> str:
    """What to do about a plugin that cannot be used, by where it comes from."""
    if os.path.isabs(source):
        if f"/{DIRECTORY}/" in f"{source}/":
            return f"gate trust --list shows what this project brings; a person decides after reading {name(source)}"
        if source.endswith(".py"):
            return f"gate list shows what is loaded; mend {name(source)}, or move it out of that directory"
        return f"gate list shows what is loaded; mend the rights of {name(source)}, or move it away"
    if source.startswith("package "):
        return f"gate list shows what is loaded; upgrade or uninstall the {line(source)}, whose check it is"
    return "gate list shows what is loaded; install session-gate anew"


def _own_finding(check: str, label: str, text: str, remedy: str, now: float) -> Reported:
    fingerprint = digest(f"{check}\0{text}".encode("utf-8", "surrogateescape"))
    summary = f"could not check: {line(text)}"
    return Reported(
        check, label, UNKNOWN, summary, (), "machine", "", remedy, fingerprint, rfc3339(now), "", fingerprint
    )
