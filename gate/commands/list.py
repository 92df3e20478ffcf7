"""`gate list`: the registry."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

import click

from gate import survey
from gate.commands.common import Call, common_options
from gate.config import configuration as config
from gate.config.configuration import DEFAULT
from gate.config.options import plain
from gate.output.console import Console
from gate.quote import line

_INDENT = 11 * " "


@click.command(
    "list", short_help="Show every check, and the thresholds in force.", epilog="Example: gate list --format json"
)
@functools.partial(common_options, formats=("text", "json", "markdown"))
def list_(call: Call) -> int:
    """Show every check: its label, scope, incident, source, whether it is on, and the thresholds in force."""
    site = call.site()
    registry = survey.load(site)
    options = {registered.check.name: registered.check.options for registered in registry.checks}
    configuration = config.load(site.project, os.environ, options)
    rows: list[dict[str, Any]] = []
    for registered in registry.checks:
        check = registered.check
        state = (
            "off" if check.name in configuration.disabled else "broken" if check.name in configuration.broken else "on"
        )
        rows.append(
            {
                "check": check.name,
                "label": check.label,
                "scope": check.scope,
                "state": state,
                "incident": check.incident_title,
                "source": registered.source,
                "summary": check.summary,
                "options": {} if state == "broken" else plain_options(configuration.options(check.name)),
            }
        )
    problems = [{"source": problem.source, "text": problem.text} for problem in registry.problems]
    if call.format == "json":
        call.print_json({"schema": 1, "checks": rows, "problems": problems})
        return 0
    if call.format == "markdown":
        call.console.print("| check | label | scope | debt when |")
        call.console.print("|---|---|---|---|")
        for row in rows:
            call.console.print(f"| `{row['check']}` | {row['label']} | {row['scope']} | {line(row['summary'])} |")
        return 0
    for row, registered in zip(rows, registry.checks, strict=True):
        _print_row(call.console, row, registered.shown, configuration.values())
    for problem in registry.problems:
        call.console.fill(f"PLUGIN     {problem}", hanging=_INDENT)
    return 0


def plain_options(options: Any) -> dict[str, Any]:
    """A check's options as JSON has them: sizes in bytes, durations in seconds."""
    return {field.name: plain(getattr(options, field.name)) for field in fields(options)}


def _print_row(console: Console, row: Mapping[str, Any], source: str, values: Iterable[tuple[str, str, str]]) -> None:
    """A check, and of its options the thresholds and what was set: lists of defaults fill screens, and `gate explain`
    has them.
    """
    where = f"{row['scope']}, {row['state']}, {source}"
    # Padded before it is coloured: a terminal does not show the colour's own characters.
    console.print(f"{console.strong(row['label'].ljust(10))} {row['check']} ({where})")
    console.fill(f"{_INDENT}{line(row['summary'])}", hanging=_INDENT)
    console.fill(f"{_INDENT}incident: {line(row['incident'])}", hanging=_INDENT)
    prefix = f"checks.{row['check']}."
    shown = [
        f"{key.removeprefix(prefix)} = {line(value)}"
        for key, value, origin in values
        if key.startswith(prefix) and (origin != DEFAULT or value[0] != "[")
    ]
    if shown:
        console.fill(f"{_INDENT}{'; '.join(shown)}", hanging=_INDENT)
