"""What all subcommands share: options, the site, the console, JSON."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click
import orjson

from gate.errors import GateError
from gate.output.console import Console
from gate.project import working_directory
from gate.site import Site


@dataclass
class Call:
    """One call of the program: the directory it is about, the form of the answer, and where that goes."""

    directory: str
    given: bool
    format: str
    console: Console

    def site(self) -> Site:
        """The site of the directory. Raises GateError."""
        directory = os.path.normpath(self.directory)
        if self.given and not os.path.isdir(directory):
            raise GateError(f"-C {directory}: {'not a' if os.path.exists(directory) else 'no such'} directory")
        return Site.at(directory, os.environ)

    def print_json(self, value: object) -> None:
        """The answer as JSON."""
        self.console.print(orjson.dumps(value, default=_plain, option=orjson.OPT_INDENT_2).decode())


def common_options(command: Callable[..., int], formats: Sequence[str] = ("text", "json")) -> Callable[..., int]:
    """Add the options that every subcommand takes; the command gets a `Call` first."""

    @click.option("-C", "directory", metavar="DIR", help="Act as if started in DIR.")
    @click.option("--format", "form", type=click.Choice(formats), help="The form of the answer (text).")
    @click.option("--no-color", is_flag=True, help="No colour; NO_COLOR does the same.")
    @click.pass_context
    @functools.wraps(command)
    def wrapped(context: click.Context, /, directory: str | None, form: str | None, no_color: bool, **rest: Any) -> int:
        outer: dict[str, Any] = context.obj or {}
        call = Call(
            directory=os.path.join(outer.get("directory") or working_directory(os.environ), directory or os.curdir),
            given=bool(outer.get("directory") or directory),
            format=form or outer.get("form") or "text",
            console=Console(os.environ, no_color or outer.get("no_color", False)),
        )
        try:
            return command(call, **rest)
        finally:
            call.console.stream.flush()

    return wrapped


def _plain(value: object) -> object:
    if isinstance(value, float):  # orjson takes subclasses of int, and refuses those of float
        return float(value)
    raise TypeError(type(value).__name__)
