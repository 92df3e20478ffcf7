"""`gate config`: the configuration in force, and where each value came from."""

from __future__ import annotations

import os

import click

from gate import survey
from gate.commands.common import Call, common_options
from gate.config import configuration as configuration_files
from gate.quote import line


@click.command(epilog="Example: gate config")
@common_options
def config(call: Call) -> int:
    """Show the configuration in force and where each value came from. Exit 2 where a file is wrong."""
    site = call.site()
    options = {registered.check.name: registered.check.options for registered in survey.load(site).checks}
    configuration = configuration_files.load(site.project, os.environ, options)
    if call.format == "json":
        values = [{"key": key, "value": value, "origin": origin} for key, value, origin in configuration.values()]
        call.print_json(
            {"schema": 1, "values": values, "problems": [str(problem) for problem in configuration.problems]}
        )
    else:
        for key, value, origin in configuration.values():
            call.console.print(f"{key} = {line(value)}  ({line(origin)})")
        for problem in configuration.problems:
            click.echo(f"session-gate: error: {line(str(problem))}", err=True)
    return 2 if configuration.problems else 0
