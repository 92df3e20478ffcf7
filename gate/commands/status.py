"""`gate status`: a project's verdict, marker and open sessions."""

from __future__ import annotations

import os
from typing import Any

import click

from gate.commands.common import Call, common_options
from gate.errors import DamagedError
from gate.output.text import findings_of, moment, print_findings
from gate.quote import line, name
from gate.site import Look, Site
from gate.state import ProjectState
from gate.verdict import GREEN, Verdict

_WORDS = {
    "green": "nothing was left behind",
    "first": "no session has been recorded here",
    "stale": "the marker is no evidence",
    "debt": "something was left behind",
    "abandoned": "a session ended without a word",
    "pending": "an end is not complete",
    "damaged": "a file of the gate's cannot be believed",
}
_WHY = {
    "age": "too old",
    "boot": "from before a restart",
    "configuration": "made under another configuration",
    "deferred": "another session was at work",
    "untold": "it cannot be told whether a session still lives",
    "unwritten": "an end could not write what it found",
    "missing": "it is missing",
    "future": "its time lies in the future",
    "unreadable": "unreadable",
}


@click.command(epilog="Example: gate status --all")
@click.option("--all", "everywhere", is_flag=True, help="Every project known here, a row each.")
@click.option("--exit-code", is_flag=True, help="Exit 1 unless green.")
@common_options
def status(call: Call, everywhere: bool, exit_code: bool) -> int:
    """Show this project's verdict, marker and open sessions. Runs nothing and writes nothing."""
    sites = _known_sites(call) if everywhere else [call.site()]
    seen = [(site, look, _judge(site, look)) for site, look in ((site, site.look()) for site in sites)]
    if call.format == "json":
        values = [as_json(*one) for one in seen]
        call.print_json({"schema": 1, "projects": values} if everywhere else values[0])
    elif everywhere:
        for site, look, verdict in seen:
            call.console.print(_row(call, site, look, verdict))
    else:
        _print_one(call, *seen[0])
    return 1 if exit_code and any(verdict.kind != GREEN for _, _, verdict in seen) else 0


def as_json(site: Site, look: Look, verdict: Verdict) -> dict[str, Any]:
    """The status of one project, as the contract has it."""
    root = os.fsencode(site.project.root).decode("utf-8", "backslashreplace")
    return {
        "schema": 1,
        "project": {"root": root, "key": site.project.key},
        "verdict": verdict.kind,
        "marker": look.marker.data if look.marker is not None else None,
        "sessions": [
            {
                "id": record.id,
                "client": record.client,
                "state": record.state,
                "alive": record.alive,
                "since": record.to_json()["since"],
            }
            for record in look.records
        ],
    }


def _judge(site: Site, look: Look) -> Verdict:
    mine = look.asking(os.environ)
    return site.judge(look, mine.id if mine is not None else None)


def _known_sites(call: Call) -> list[Site]:
    here = call.site()
    sites = []
    for key in sorted(os.listdir(here.state.root)) if os.path.isdir(here.state.root) else []:
        try:
            marker = ProjectState(here.state.root, key).marker_file.read()
        except DamagedError:
            continue
        if marker is not None and os.path.isdir(marker.data["project"]):
            site = Site.at(marker.data["project"], os.environ)
            if site.project.key == key:
                sites.append(site)
    return sites


def _row(call: Call, site: Site, look: Look, verdict: Verdict) -> str:
    when = moment(look.marker.data["when"]) if look.marker is not None else "-"
    return f"{call.console.word(verdict.kind, 10)}{when:<18}{name(site.project.root, 200)}"


def _print_one(call: Call, site: Site, look: Look, verdict: Verdict) -> None:
    console = call.console
    why = f" ({_WHY[verdict.reason]})" if verdict.reason in _WHY else ""
    console.print(f"project   {name(site.project.root, 1000)}")
    console.print(f"verdict   {console.word(verdict.kind)}: {_WORDS[verdict.kind]}{why}")
    if look.marker is not None:
        console.print(f"marker    {console.word(look.marker.state)}, of {moment(look.marker.data['when'])}")
    for path in look.damaged:
        console.print(f"damaged   {name(path, 1000)}")
    for record in look.records:
        life = {True: "alive", False: "dead", None: "cannot be told"}[record.alive]
        since = moment(record.to_json()["since"])
        console.print(f"session   {line(record.client)} {line(record.id)}: {record.state}, {life}, since {since}")
    if look.marker is not None:
        print_findings(console, findings_of(look.marker.data))
