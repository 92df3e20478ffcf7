"""`gate hook start|end --client NAME`: what a client's hook calls.

As a client calls it, it never comes here: `gate.__main__` gives it to the silent path before click is imported. This is
for whoever types it: its help, and the options that all commands have.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from gate import silent
from gate.clients import NAMES
from gate.commands.common import plain_options
from gate.commands.usage import one_line
from gate.quote import line


class NeverFatal(click.Command):
    """A command whose usage errors are said and are no failure: a client may take one for a reason not to start."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments. Raises Exit with 0 where they are wrong."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            click.echo(f"session-gate: error: {one_line(error)}", err=True)
            raise click.exceptions.Exit(0) from None


@click.command(
    cls=NeverFatal,
    short_help="Answer a client's hook; always exit 0.",
    epilog="Example: gate hook start --client claude < payload.json",
)
@click.argument("boundary", type=click.Choice(["start", "end"]), metavar="start|end")
@click.option("--client", required=True, type=click.Choice(NAMES), help="The client that calls.")
@plain_options()
@click.pass_context
def hook(context: click.Context, /, boundary: str, client: str, directory: str | None, **_: object) -> int:
    """Answer a client's hook: read its JSON on standard input, print in its form. Always exit 0.

    The form is the client's, whatever --format says. The session is where the client says, else in DIR.
    """
    place = os.path.join((context.obj or {}).get("directory") or os.curdir, directory or os.curdir)
    try:
        os.chdir(place)
    except OSError as error:
        click.echo(f"session-gate: -C {line(place)}: {error.strerror}; went on without it", err=True)
    sys.stderr.flush()
    return silent.main([boundary, "--client", client])
