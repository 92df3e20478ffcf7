"""`gate explain CHECK`: why a check exists, what it looks at, how to clear what it finds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import click

from gate import survey
from gate.commands.common import Call, common_options
from gate.commands.completion import complete_check
from gate.config import configuration as config
from gate.config.configuration import Configuration
from gate.output.console import Console
from gate.output.wrap import wrap_markdown
from gate.quote import line
from gate.registry import Registered


@click.command(
    short_help="Show why a check exists, and how to clear what it finds.", epilog="Example: gate explain temp_size"
)
@click.argument("check", shell_complete=complete_check)
@common_options
def explain(call: Call, check: str) -> int:
    """Show the incident behind CHECK (or its label), what it looks at, its options, and how to clear it.

    `gate list` shows which checks there are.
    """
    site = call.site()
    registry = survey.load(site)
    registered = registry.get(check) or registry.get(check.upper())
    if registered is None:
        names = [other.check.name for other in registry.checks]
        raise survey.no_such_check(check, names, registry.problems)
    check = registered.check.name
    options = {other.check.name: other.check.options for other in registry.checks}
    configuration = config.load(site.project, os.environ, options)
    helps = {field.name: str(field.metadata.get("help", "")) for field in fields(registered.check.options)}
    if call.format == "json":
        call.print_json(as_json(registered, configuration, helps))
    else:
        _print(call.console, registered, configuration, helps)
    return 0


def as_json(registered: Registered, configuration: Configuration, helps: Mapping[str, str]) -> dict[str, Any]:
    """All of it for a program; `helps` has a line on each option."""
    check = registered.check
    values = {value["key"]: value for value in configuration.to_json()}
    nothing = {"value": None, "unit": None, "origin": ""}  # of options that the check itself refuses
    described = [(name, values.get(f"checks.{check.name}.{name}", nothing)) for name in helps]
    return {
        "schema": 1,
        "check": check.name,
        "label": check.label,
        "scope": check.scope,
        "source": registered.source,
        "summary": check.summary,
        "incident": check.incident,
        "options": [
            {"name": name, "value": of["value"], "unit": of["unit"], "origin": of["origin"], "help": helps[name]}
            for name, of in described
        ],
    }


def _print(console: Console, registered: Registered, configuration: Configuration, helps: Mapping[str, str]) -> None:
    check = registered.check
    values = {key: (value, origin) for key, value, origin in configuration.values()}
    console.print(f"{console.strong(check.label)} {check.name} ({check.scope}, {registered.shown})")
    console.fill(f"debt when {line(check.summary)}")
    console.print()
    for text in wrap_markdown(check.incident.strip(), console.width):
        console.print(line(text))
    console.print()
    console.print(console.strong("Options") + f" ([checks.{check.name}] in the configuration)")
    for name, text in helps.items():
        value, origin = values.get(f"checks.{check.name}.{name}", ("", ""))
        console.fill(f"  {name} = {line(value)}  ({line(origin)})", hanging="      ")
        console.fill(f"      {line(text)}", hanging="      ")
