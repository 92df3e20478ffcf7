"""`gate list`: the registry."""

from __future__ import annotations

import functools
import os
from dataclasses import asdict
from typing import Any

import click

from gate import survey
from gate.commands.common import Call, common_options
from gate.config import configuration as config
from gate.quote import line


@click.command("list", epilog="Example: gate list --format json")
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
                "options": {} if state == "broken" else asdict(configuration.options(check.name)),
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
    values = {key: value for key, value, _ in configuration.values()}
    for row in rows:
        where = f"{row['scope']}, {row['state']}, {line(row['source'])}"
        call.console.print(f"{call.console.strong(row['label']):<10} {row['check']} ({where})")
        call.console.print(f"           {line(row['summary'])}")
        call.console.print(f"           incident: {line(row['incident'])}")
        prefix = f"checks.{row['check']}."
        shown = [f"{key.removeprefix(prefix)} = {value}" for key, value in values.items() if key.startswith(prefix)]
        if shown:
            call.console.print(f"           {line('; '.join(shown))}")
    for problem in problems:
        call.console.print(f"PLUGIN     {line(problem['source'])}: {line(problem['text'])}")
    return 0
