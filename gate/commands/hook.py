"""`gate hook start|end --client NAME`: what a client's hook calls; here for `--help`, done by the silent path."""

from __future__ import annotations

import click

from gate import silent
from gate.clients import NAMES


@click.command(epilog="Example: gate hook start --client claude < payload.json")
@click.argument("boundary", type=click.Choice(["start", "end"]))
@click.option("--client", required=True, type=click.Choice(NAMES), help="The client that calls.")
def hook(boundary: str, client: str) -> int:
    """Answer a client's hook: read its JSON on standard input, print in its form. Always exit 0."""
    return silent.main([boundary, "--client", client])
