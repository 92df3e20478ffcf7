"""`gate install [CLIENT]`, `gate uninstall [CLIENT]`: the gate's hooks in clients' settings, put in and taken out."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import click

from gate.commands.common import Call, common_options
from gate.errors import GateError
from gate.quote import line, name
from gate.wiring import hooks_install, install_warnings, presence, shell_install
from gate.wiring.change import ADDED, ALREADY, NOTHING, REMOVED, UPDATED, Change, Place
from gate.wiring.client_settings import PROJECT, SCOPES, USER, worktree_of
from gate.wiring.clients import CLIENTS
from gate.wiring.shell_block import SHELLS
from gate.wiring.this_installation import find_installation, of_installation

NAMES = (*CLIENTS, *SHELLS)

_WORDS = {
    ADDED: "added",
    UPDATED: "updated",
    ALREADY: "already installed",
    REMOVED: "removed",
    NOTHING: "nothing to remove",
}


class _Done(NamedTuple):
    """What became of one client: the change, with what to know beside it, or why there is none."""

    client: str
    change: Change | None
    warnings: Sequence[str] = ()
    failure: str = ""


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
    return click.argument("client", type=click.Choice(NAMES), required=False)(command)


@click.command(epilog="Example: gate install claude --dry-run")
@_options
@common_options
def install(call: Call, client: str | None, scope: str, dry_run: bool) -> int:
    """Put the gate's start and end into the settings of CLIENT, or into the start file of a shell.

    Without CLIENT: of every client on this machine (its program in PATH, or its directory in the home), listed first.
    What stands there stays as it is: only entries of the gate's are added or updated. Project and local settings are
    those at the root of the worktree; the client reads them for sessions that are started in that directory. A shell
    has the user's alone, and is asked for by name.
    """
    if client is not None:
        return _answer(call, _install(call, client, scope, dry_run))
    found = presence.found_here(os.environ, call.site().project)
    if not found:
        raise GateError("no client was found on this machine; one that is elsewhere is installed by its name")
    places = ", ".join(f"{CLIENTS[each].TITLE} ({name(place, 1000)})" for each, place in found.items())
    if call.format == "text":
        call.console.print(f"Found: {places}")
    return _answer_all(call, [each for each in found if scope in CLIENTS[each].SCOPES], _install, scope, dry_run)


@click.command(epilog="Example: gate uninstall claude --scope project")
@_options
@common_options
def uninstall(call: Call, client: str | None, scope: str, dry_run: bool) -> int:
    """Take the gate's hooks out of the settings of CLIENT, or out of the start file of a shell.

    Without CLIENT: wherever they are, of every client and shell. Where nothing else has changed since, the file is
    again what it was to the byte (and gone if there was none), else only the gate's entries go.
    """
    if client is not None:
        return _answer(call, _uninstall(call, client, scope, dry_run))
    every = [each for each in NAMES if scope in (CLIENTS[each].SCOPES if each in CLIENTS else (USER,))]
    return _answer_all(call, every, _uninstall, scope, dry_run)


def _install(call: Call, client: str, scope: str, dry_run: bool) -> _Done:
    place = _place(call, client, scope)
    found = find_installation()
    if client in SHELLS:
        change = shell_install.install(client, place, found, dry_run)
        warnings = [*of_installation(place.environ, found, client), *shell_install.warnings(client, place)]
    else:
        described = CLIENTS[client]
        change = hooks_install.install(described, scope, place, lambda: found, dry_run)
        warnings = install_warnings.of_install(described, change, place.environ, call.directory, found)
    return _Done(client, change, warnings)


def _uninstall(call: Call, client: str, scope: str, dry_run: bool) -> _Done:
    place = _place(call, client, scope)
    if client in SHELLS:
        return _Done(client, shell_install.uninstall(client, place, dry_run))
    described = CLIENTS[client]
    change = hooks_install.uninstall(described, scope, place, dry_run)
    return _Done(client, change, install_warnings.of_uninstall(described, change, place.environ, call.directory))


def _place(call: Call, client: str, scope: str) -> Place:
    if client in SHELLS and scope != USER:
        raise click.UsageError(f"--scope {scope}: {client} has one start file, the user's; leave --scope out")
    site = call.site()
    worktree = worktree_of(call.directory) if scope != USER else ""
    return Place(os.environ, worktree, site.state.root, site.clock.now())


def _answer_all(
    call: Call, clients: Sequence[str], act: Callable[[Call, str, str, bool], _Done], scope: str, dry_run: bool
) -> int:
    """One client after the other; what fails for one is said, and hinders no other. Exit 2 where anything failed."""
    answers = []
    for client in clients:
        try:
            done = act(call, client, scope, dry_run)
        except GateError as error:
            done = _Done(client, None, failure=line(str(error)))
        if done.change is not None and set(done.change.done.values()) == {NOTHING}:
            continue
        answers.append(done)
        if call.format == "text":
            _answer(call, done._replace(warnings=[]))
    for warning in dict.fromkeys(warning for done in answers for warning in done.warnings):
        click.echo(f"session-gate: warning: {line(warning)}", err=True)  # each once: some are about this program
    if call.format == "json":
        call.print_json({"schema": 1, "clients": [_as_json(done) for done in answers]})
    elif not answers:
        call.console.print("Nothing is installed there." if act is _uninstall else "No client here has such settings.")
    return 2 if any(done.failure for done in answers) else 0


def _answer(call: Call, done: _Done) -> int:
    if call.format == "json":
        call.print_json(_as_json(done))
    elif done.change is None:
        click.echo(f"session-gate: error: {done.client}: {done.failure}", err=True)
    elif done.change.dry and done.change.changed:
        call.console.stream.write(_shown(_diff(done.change), call.console.stream.isatty()))
    else:
        _print(call, done.client, done.change)
    call.console.stream.flush()
    for warning in done.warnings:
        click.echo(f"session-gate: warning: {line(warning)}", err=True)
    return 0


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
        where = "" if change.scope == USER else f", of sessions started in {name(_directory(client, change), 1000)}"
        call.console.print(f"{CLIENTS[client].TITLE} reads it at its next start{where}{' itself' if where else ''}.")
    if client in CLIENTS and CLIENTS[client].AFTERWARDS and {ADDED, UPDATED} & set(change.done.values()):
        call.console.print(CLIENTS[client].AFTERWARDS)
    if change.scope == PROJECT and ADDED in change.done.values():
        call.console.print("Commit it, and the sessions of everyone who has session-gate installed call it.")


def _directory(client: str, change: Change) -> str:
    """The worktree that a project's or local settings file lies in."""
    below = CLIENTS[client].settings_path(change.scope, {}, "")
    return change.file.path.removesuffix(below).rstrip(os.sep) or os.sep


def _as_json(done: _Done) -> dict[str, Any]:
    change = done.change
    if change is None:
        return {"schema": 1, "client": done.client, "error": done.failure}
    value: dict[str, Any] = {
        "schema": 1,
        "client": done.client,
        "scope": change.scope,
        "file": _text(change.file.path),
        "target": _text(change.file.target),
        "changed": change.changed and not change.dry,
        "dry_run": change.dry,
        "events": dict(change.done),
        "backup": _text(change.backup) or None,
        "warnings": list(done.warnings),
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
