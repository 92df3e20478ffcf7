"""What a shell offers for a check's name."""

from __future__ import annotations

import os

import click
from click.shell_completion import CompletionItem

from gate import survey
from gate.errors import GateError
from gate.project import working_directory
from gate.site import Site


def complete_check(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The checks whose names begin like this, with what they are about."""
    try:
        registry = survey.load(Site.at(working_directory(os.environ), os.environ))
    except GateError:
        return []
    checks = [registered.check for registered in registry.checks]
    return [CompletionItem(check.name, help=check.summary) for check in checks if check.name.startswith(incomplete)]
