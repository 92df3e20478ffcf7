"""`gate start`: what a new session should know."""

from __future__ import annotations

import os

import click

from gate import boundary
from gate.commands.common import Call, common_options


@click.command(epilog="Example: gate start")
@common_options
def start(call: Call) -> int:
    """Say what a new session should know; nothing when all is green.

    By hand or in a shell: the same verdict and suite as the client's hook. May write the marker; opens no record.
    """
    site = call.site()
    look = site.look()
    mine = look.asking(os.environ)
    verdict = site.judge(look, mine.id if mine is not None else None)
    text = boundary.start_by_hand(site, look, verdict, mine) if verdict.kind != "green" else ""
    if call.format == "json":
        call.print_json({"schema": 1, "verdict": verdict.kind, "text": text})
    elif text:
        call.console.print(text)
    return 0
