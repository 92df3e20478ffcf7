"""What all subcommands share: options, the site, the console, JSON."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click
import orjson

from gate import __version__
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
        """The answer as JSON. What is not UTF-8 in a path stands there with its bytes as `\\xNN`."""
        self.console.print(orjson.dumps(_encodable(value), default=_plain, option=orjson.OPT_INDENT_2).decode())


TEXT_OR_JSON = ("text", "json")


def plain_options(formats: Sequence[str] = TEXT_OR_JSON) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Add the options that every subcommand takes, as they are given: `directory`, `form`, `no_color`."""
    options = (
        click.option("-C", "directory", metavar="DIR", help="Act as if started in DIR."),
        click.option("--format", "form", type=click.Choice(formats), help="The form of the answer (text)."),
        click.option("--no-color", is_flag=True, help="No colour; NO_COLOR does the same."),
        click.version_option(__version__, prog_name="session-gate"),
    )
    return lambda command: functools.reduce(lambda made, option: option(made), reversed(options), command)


def common_options(command: Callable[..., int], formats: Sequence[str] = TEXT_OR_JSON) -> Callable[..., int]:
    """Add these options; the command gets a `Call` first that is made of them."""

    @plain_options(formats)
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


def _encodable(value: object) -> object:
    if isinstance(value, str):
        return value if value.isascii() else os.fsencode(value).decode("utf-8", "backslashreplace")
    if isinstance(value, Mapping):
        return {_encodable(key): _encodable(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encodable(part) for part in value]
    return value


def _plain(value: object) -> object:
    if isinstance(value, float):  # orjson takes subclasses of int, and refuses those of float
        return float(value)
    raise TypeError(type(value).__name__)
