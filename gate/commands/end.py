"""`gate end`: the suite in the foreground, and the marker."""

from __future__ import annotations

import click

from gate import boundary
from gate.commands.common import Call
from gate.commands.run import report_options, show
from gate.output.console import Progress


@click.command(epilog="Example: gate end")
@report_options
def end(call: Call) -> int:
    """Run the suite and write this project's marker. It ends nothing: no session, no process.

    Exit 0 when nothing is left behind, 1 on debt or where something could not be established.
    """
    progress = Progress()
    site = call.site()
    try:
        examined, trouble = boundary.end_by_hand(site, progress)
    finally:
        progress.close()
    code = show(call, site, examined)
    if trouble is not None:
        raise trouble
    return code
