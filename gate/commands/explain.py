"""`gate explain CHECK`: why a check exists, what it looks at, how to clear what it finds."""

from __future__ import annotations

import os
from dataclasses import fields

import click

from gate import survey
from gate.commands.common import Call, common_options
from gate.config import configuration as config
from gate.quote import line


@click.command(epilog="Example: gate explain temp_size")
@click.argument("check")
@common_options
def explain(call: Call, check: str) -> int:
    """Show the incident behind CHECK (or its label), what it looks at, its options, and how to clear it."""
    site = call.site()
    registry = survey.load(site)
    registered = registry.get(check) or next((r for r in registry.checks if r.check.label == check.upper()), None)
    if registered is None:
        raise survey.no_such_check(check, [other.check.name for other in registry.checks])
    check = registered.check.name
    options = {other.check.name: other.check.options for other in registry.checks}
    values = {key: (value, origin) for key, value, origin in config.load(site.project, os.environ, options).values()}
    described = [
        (field.name, *values.get(f"checks.{check}.{field.name}", ("", "")), field.metadata.get("help", ""))
        for field in fields(registered.check.options)
    ]
    if call.format == "json":
        keys = ("name", "value", "origin", "help")
        call.print_json(
            {
                "schema": 1,
                "check": check,
                "label": registered.check.label,
                "scope": registered.check.scope,
                "source": registered.source,
                "summary": registered.check.summary,
                "incident": registered.check.incident,
                "options": [dict(zip(keys, option, strict=True)) for option in described],
            }
        )
        return 0
    console = call.console
    console.print(f"{console.strong(registered.check.label)} {check}: {line(registered.check.summary)}")
    console.print()
    for text in registered.check.incident.strip().splitlines():
        console.print(line(text))
    console.print()
    console.print(console.strong("Options") + f" ([checks.{check}] in the configuration)")
    for name, value, origin, text in described:
        console.print(f"  {name} = {line(value)}  ({line(origin)})")
        console.print(f"      {line(text)}")
    return 0
