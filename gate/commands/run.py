"""`gate run`: the suite by hand and from pre-commit."""

from __future__ import annotations

import functools
import importlib

import click

from gate import boundary
from gate.commands.common import Call, common_options
from gate.commands.completion import complete_check
from gate.examination import Examination
from gate.output.console import Progress
from gate.output.text import print_report
from gate.quote import line
from gate.site import Site

_RENDERED = ("junit", "sarif", "markdown")
"""The forms that have a module of their own in `gate.output`, loaded when it is asked for."""

report_options = functools.partial(common_options, formats=("text", "json", *_RENDERED))
"""The options of a command that runs the suite."""


@click.command(epilog="Example: gate run uncommitted_paths stale_locks")
@click.argument("checks", nargs=-1, metavar="[CHECK]...", shell_complete=complete_check)
@report_options
def run(call: Call, checks: tuple[str, ...]) -> int:
    """Run the suite, or the named checks; write nothing.

    Exit 0 when nothing is left behind, 1 on debt or where something could not be established.
    """
    progress = Progress()
    site = call.site()
    try:
        examined = boundary.run_by_hand(site, checks, progress)
    finally:
        progress.close()
    return show(call, site, examined)


def show(call: Call, site: Site, examined: Examination) -> int:
    """Print an examination in the form that was asked for; its exit code: a wrong configuration weighs most."""
    for problem in examined.survey.configuration.problems:
        click.echo(f"session-gate: error: {line(str(problem))}", err=True)
    if call.format == "json":
        call.print_json(examined.report.to_json())
    elif call.format == "text":
        print_report(call.console, examined.report, examined.labels, site.project.root)
    else:
        module = importlib.import_module(f"gate.output.{call.format}")
        call.console.print(module.render(examined.report, examined.labels))
    if examined.survey.configuration.problems:
        return 2
    return 0 if examined.report.state == "ok" else 1
