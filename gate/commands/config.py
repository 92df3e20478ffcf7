"""`gate config`: the configuration in force, and where each value came from."""

from __future__ import annotations

import os

import click

from gate import survey
from gate.commands.common import Call, common_options
from gate.config import configuration as configuration_files
from gate.config.sources import files
from gate.quote import line, name


@click.command(epilog="Example: gate config")
@common_options
def config(call: Call) -> int:
    """Show the configuration in force and where each value came from. Exit 2 where a file is wrong."""
    site = call.site()
    options = {registered.check.name: registered.check.options for registered in survey.load(site).checks}
    configuration = configuration_files.load(site.project, os.environ, options)
    if call.format == "json":
        problems = [str(problem) for problem in configuration.problems]
        looked = [{"file": path, "fate": fate} for path, fate in files(site.project, os.environ)]
        call.print_json({"schema": 1, "files": looked, "values": configuration.to_json(), "problems": problems})
    else:
        for path, fate in files(site.project, os.environ):
            call.console.fill(f"# {name(path, 1000)}: {fate}", hanging="    ")
        for key, value, origin in configuration.values():
            call.console.fill(f"{key} = {line(value)}  ({line(origin)})", hanging="    ")
        for problem in configuration.problems:
            click.echo(f"session-gate: error: {line(str(problem))}", err=True)
    return 2 if configuration.problems else 0
