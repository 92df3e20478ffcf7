"""`gate waive`: accept findings until a date."""

from __future__ import annotations

import os

import click

from gate import survey, waivers
from gate.clock import local_day
from gate.commands.common import Call, common_options
from gate.commands.completion import complete_check
from gate.errors import GateError
from gate.finding import MACHINE
from gate.quote import line, name
from gate.site import Site
from gate.waivers import Waiver


@click.command(epilog="Example: gate waive temp_size 'capture-*' --until 2026-12-31 --reason 'recording the course'")
@click.argument("check", required=False, shell_complete=complete_check)
@click.argument("pattern", required=False)
@click.option("--until", metavar="DATE", help="The last day on which it is accepted, like 2026-12-31.")
@click.option("--reason", metavar="TEXT", help="Why; for whoever reads it later.")
@click.option("--list", "listing", is_flag=True, help="Show all waivers, numbered.")
@click.option("--remove", "number", type=int, metavar="N", help="Take the waiver with this number back.")
@common_options
def waive(
    call: Call,
    check: str | None,
    pattern: str | None,
    until: str | None,
    reason: str | None,
    listing: bool,
    number: int | None,
) -> int:
    """Accept what CHECK finds, where its name matches the glob PATTERN (*), until a date.

    It holds in this project, or everywhere for a check that looks at the whole machine. It is kept in your own
    waivers.toml, shown by `gate status` as a note, and over after its date, which is said.
    """
    site = call.site()
    if (check is not None) + listing + (number is not None) != 1:
        raise click.UsageError("one of these: a check to waive, --list, --remove N")
    if listing:
        _list(call, site)
    elif number is not None:
        gone = waivers.remove(site.environ, number)
        call.console.print(f"No longer accepted: {_described(gone)}")
        call.console.print("gate end takes it into account.")
    else:
        waiver = _wanted(site, check or "", pattern or "*", until, reason)
        path = waivers.add(site.environ, waiver)
        call.console.print(f"Accepted: {_described(waiver)}")
        call.console.print(f"It is kept in {name(path, 1000)}; gate end takes it into account.")
    return 0


def _wanted(site: Site, check: str, pattern: str, until: str | None, reason: str | None) -> Waiver:
    registry = survey.load(site)
    registered = registry.get(check)
    if registered is None:
        raise survey.no_such_check(check, [other.check.name for other in registry.checks])
    if until is None or reason is None or not reason.strip():
        raise click.UsageError("a waiver needs --until DATE and --reason TEXT")
    try:
        day = waivers.parse_day(until)
    except ValueError as error:
        raise click.UsageError(f"--{error}") from None
    if day < local_day(site.clock.now()):
        raise GateError(f"--until {day}: that day is over; give one to come")
    everywhere = registered.check.scope == MACHINE
    return Waiver(registered.check.name, pattern, day, reason.strip(), "" if everywhere else _text(site.project.root))


def _list(call: Call, site: Site) -> None:
    known = waivers.load(site.environ)
    for problem in known.problems:
        click.echo(f"session-gate: warning: {problem}", err=True)
    now = site.clock.now()
    if call.format == "json":
        rows = [{"number": i, **w._asdict(), "holds": w.holds(now)} for i, w in enumerate(known.waivers, 1)]
        call.print_json({"schema": 1, "waivers": rows, "problems": [str(problem) for problem in known.problems]})
        return
    for number, waiver in enumerate(known.waivers, 1):
        over = "" if waiver.holds(now) else " (over)"
        call.console.print(f"{number:>3}  {_described(waiver)}{over}")
    if not known.waivers:
        call.console.print("There are no waivers.")


def _described(waiver: Waiver) -> str:
    where = f"in {name(waiver.project, 1000)}" if waiver.project else "everywhere"
    return f"{line(waiver.check)} {name(waiver.pattern)} {where} until {waiver.until}: {line(waiver.reason)}"


def _text(path: str) -> str:
    try:
        return os.fsencode(path).decode("utf-8")
    except UnicodeDecodeError:
        raise GateError(f"{name(path, 1000)}: a path that is not UTF-8 cannot stand in a TOML file") from None
