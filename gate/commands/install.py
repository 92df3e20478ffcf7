"""`gate install CLIENT` and `gate uninstall CLIENT`: the gate's hooks in a client's settings, put in and taken out."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import click

from gate.commands.common import Call, common_options
from gate.quote import line, name
from gate.wiring import claude_install, claude_warnings, shell_install
from gate.wiring.change import ADDED, ALREADY, NOTHING, REMOVED, UPDATED, Change, Place
from gate.wiring.claude_settings import PROJECT, SCOPES, USER, worktree_of
from gate.wiring.shell_block import SHELLS
from gate.wiring.this_installation import find_installation, of_installation

CLIENTS = ("claude", *SHELLS)

_WORDS = {
    ADDED: "added",
    UPDATED: "updated",
    ALREADY: "already installed",
    REMOVED: "removed",
    NOTHING: "nothing to remove",
}


def _options(command: Callable[..., int]) -> Callable[..., int]:
    """What both commands take."""
    command = click.option("--dry-run", is_flag=True, help="Show the change as a unified diff, and change nothing.")(
        command
    )
    command = click.option(
        "--scope",
        type=click.Choice(SCOPES),
        default=USER,
        help="Which settings: the user's (the default), the project's (shared with the team), or the project's local.",
    )(command)
    return click.argument("client", type=click.Choice(CLIENTS))(command)


@click.command(epilog="Example: gate install claude --dry-run")
@_options
@common_options
def install(call: Call, client: str, scope: str, dry_run: bool) -> int:
    """Put the gate's start and end into the settings of CLIENT, or into the start file of a shell.

    What stands there stays as it is: only entries of the gate's are added or updated. Project and local settings are
    those at the root of the worktree; the client reads them for sessions that are started in that directory. A shell
    has the user's alone.
    """
    place = _place(call, client, scope)
    found = find_installation()
    if client in SHELLS:
        change = shell_install.install(client, place, found, dry_run)
        warnings = [*of_installation(place.environ, found, client), *shell_install.warnings(client, place)]
    else:
        change = claude_install.install(scope, place, lambda: found, dry_run)
        warnings = claude_warnings.of_install(change, place.environ, call.directory, found)
    _answer(call, client, change, warnings)
    return 0


@click.command(epilog="Example: gate uninstall claude --scope project")
@_options
@common_options
def uninstall(call: Call, client: str, scope: str, dry_run: bool) -> int:
    """Take the gate's hooks out of the settings of CLIENT, or out of the start file of a shell.

    Where nothing else has changed since, the file is again what it was to the byte (and gone if there was none), else
    only the gate's entries go.
    """
    place = _place(call, client, scope)
    if client in SHELLS:
        _answer(call, client, shell_install.uninstall(client, place, dry_run), [])
        return 0
    change = claude_install.uninstall(scope, place, dry_run)
    _answer(call, client, change, claude_warnings.of_uninstall(change, place.environ, call.directory))
    return 0


def _place(call: Call, client: str, scope: str) -> Place:
    if client in SHELLS and scope != USER:
        raise click.UsageError(f"--scope {scope}: {client} has one start file, the user's; leave --scope out")
    site = call.site()
    worktree = worktree_of(call.directory) if scope != USER else ""
    return Place(os.environ, worktree, site.state.root, site.clock.now())


def _answer(call: Call, client: str, change: Change, warnings: Sequence[str]) -> None:
    if call.format == "json":
        call.print_json(_as_json(client, change, warnings))
    elif change.dry and change.changed:
        call.console.stream.write(_shown(_diff(change), call.console.stream.isatty()))
    else:
        _print(call, client, change)
    call.console.stream.flush()
    for warning in warnings:
        click.echo(f"session-gate: warning: {line(warning)}", err=True)


def _print(call: Call, client: str, change: Change) -> None:
    words = ", ".join(f"{event} {_WORDS[what]}" for event, what in change.done.items())
    ending = "" if change.changed else "; nothing changed"
    call.console.print(f"{change.file.shown}: {words}{ending}")
    if change.backup:
        call.console.print(f"What stood there before: {name(change.backup, 1000)}")
    elif change.changed:
        call.console.print("There was no such file before, so there is no backup.")
    if change.changed and change.after is None:
        call.console.print("The file was made for these hooks alone, and is gone.")
    elif change.changed and client in SHELLS:
        call.console.print(f"{client} reads it when it starts the next time.")
    elif change.changed:
        where = "" if change.scope == USER else f", of sessions started in {name(_directory(change), 1000)} itself"
        call.console.print(f"Claude Code reads it at its next start{where}.")
    if change.scope == PROJECT and ADDED in change.done.values():
        call.console.print("Commit it, and the sessions of everyone who has session-gate installed call it.")


def _directory(change: Change) -> str:
    return os.path.dirname(os.path.dirname(change.file.path))


def _as_json(client: str, change: Change, warnings: Sequence[str]) -> dict[str, Any]:
    value: dict[str, Any] = {
        "schema": 1,
        "client": client,
        "scope": change.scope,
        "file": _text(change.file.path),
        "target": _text(change.file.target),
        "changed": change.changed and not change.dry,
        "dry_run": change.dry,
        "events": dict(change.done),
        "backup": _text(change.backup) or None,
        "warnings": list(warnings),
    }
    if change.dry:
        value["diff"] = _diff(change).decode("utf-8", "backslashreplace")
    return value


def _text(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _diff(change: Change) -> bytes:
    """A unified diff, as patch(1) and git apply read it."""
    path = os.fsencode(change.file.target)
    old, new = (path if data is not None else b"/dev/null" for data in (change.before, change.after))
    before, after = (re.findall(rb"[^\n]*\n|[^\n]+", data or b"") for data in (change.before, change.after))
    produced = difflib.diff_bytes(difflib.unified_diff, before, after, old, new)
    return b"".join(part if part.endswith(b"\n") else part + b"\n\\ No newline at end of file\n" for part in produced)


def _shown(diff: bytes, terminal: bool) -> str:
    """The diff as it is, or, for a terminal, with nothing in it that a terminal would obey."""
    text = diff.decode("utf-8", "backslashreplace")
    return "".join(line(part) + "\n" for part in text.split("\n")[:-1]) if terminal else text
