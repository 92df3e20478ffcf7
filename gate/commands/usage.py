"""Usage errors as one line: what is wrong, the nearest right word, where the help is."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from typing import Any

import click

from gate.quote import line
from gate.spelling import nearest

_MODULES = {"uninstall": "install"}


class NoSuchCommandError(click.UsageError):
    """A word that is no command's name. click has such a class only since 8.4."""


class Commands(click.Group):
    """The group of all commands, which names the nearest one. A command's module is loaded when it is asked for: all of
    them cost half of the program's start.
    """

    def __init__(self, *arguments: Any, names: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.names = names

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        """The names of all commands, in alphabetical order."""
        return sorted(self.names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of this name."""
        if cmd_name not in self.names:
            return None
        module = importlib.import_module(f"gate.commands.{_MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, cmd_name if cmd_name != "list" else "list_")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that `args` begin with. Raises NoSuchCommandError."""
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            hint = meant(args[0], self.names) or f"there are {', '.join(self.list_commands(ctx))}"
            raise NoSuchCommandError(f"{args[0]}: no such command; {hint}", ctx)
        return super().resolve_command(ctx, args)


def meant(word: str, words: Iterable[str]) -> str:
    """A question after the nearest of `words`; empty where none is near."""
    near = nearest(word, words, likeness=0.7)
    return f"did you mean {near}?" if near else ""


def one_line(error: click.UsageError) -> str:
    """What the user is told of a usage error: `--al: no such option; did you mean --all? (gate status --help)`."""
    command = error.ctx.command_path if error.ctx is not None else "gate"
    return line(f"{_what(error)} ({command} --help)")


def _what(error: click.UsageError) -> str:
    if isinstance(error, NoSuchCommandError):
        return error.message
    if isinstance(error, click.NoSuchOption):
        return "; ".join(filter(None, (f"{error.option_name}: no such option", _nearest_option(error))))
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return f"{_name_of(error.param)} is missing"
    if isinstance(error, click.BadParameter) and error.param is not None:
        return f"{_name_of(error.param)}: {error.message.rstrip('.')}"
    text = error.format_message().rstrip(".")
    return text[:1].lower() + text[1:]


def _nearest_option(error: click.NoSuchOption) -> str:
    if error.ctx is None:
        return ""
    options = [option for param in error.ctx.command.get_params(error.ctx) for option in param.opts]
    return meant(error.option_name, [option for option in options if option.startswith("-")])


def _name_of(param: click.Parameter) -> str:
    if isinstance(param, click.Argument):
        return param.metavar or (param.name or "").upper()
    return max(param.opts, key=len)
