"""`gate status`: a project's verdict, marker and open sessions."""

from __future__ import annotations

import os
from typing import Any

import click

from gate.clock import local
from gate.commands.common import Call, common_options
from gate.errors import DamagedError
from gate.marker import Marker
from gate.output.text import findings_of, moment, print_findings
from gate.project import Project, find_project
from gate.quote import line, name
from gate.site import Look, Site
from gate.state import ProjectState
from gate.units import duration
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
    "unanswered": "a file system gave a session no answer",
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
    here = call.site()
    sites = known_sites(here) if everywhere else [here]
    seen = [(site, look, _judge(site, look)) for site, look in ((site, site.look()) for site in sites)]
    if call.format == "json":
        values = [as_json(*one) for one in seen]
        call.print_json({"schema": 1, "projects": values} if everywhere else values[0])
    elif everywhere:
        for site, look, verdict in seen:
            call.console.print(_row(call, site, look, verdict))
        if not seen:
            click.echo(f"session-gate: no project is known in {line(here.state.root)}", err=True)
    else:
        _print_one(call, *seen[0])
    return 1 if exit_code and any(verdict.kind != GREEN for _, _, verdict in seen) else 0


def as_json(site: Site, look: Look, verdict: Verdict) -> dict[str, Any]:
    """The status of one project, as the contract has it."""
    return {
        "schema": 1,
        "project": {"root": site.project.root, "key": os.path.basename(site.state.directory)},
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


def known_sites(here: Site) -> list[Site]:
    """Every project that the state knows, by its directory there: also one that is gone, or whose marker is damaged."""
    try:
        keys = sorted(os.listdir(here.state.root))
    except OSError:
        return []
    sites = []
    for key in keys:
        state = ProjectState(here.state.root, key)
        if os.path.isdir(state.directory):
            site = Site(_project(state, here), here.environ, here.clock, here.state.root)
            site.state = state
            sites.append(site)
    return [site for site in sites if _is_known(site)]


def _project(state: ProjectState, here: Site) -> Project:
    """The project that a directory of the state is about, by what lies there; its place in the state where nothing that
    can be read says more.
    """
    root = ""
    try:
        marker = state.marker_file.read()
        root = str(marker.data["project"]) if marker is not None else ""
    except DamagedError:
        pass
    if not root:
        records, _ = state.ledger.read_all(here.place)
        root = next((record.root for record in records if record.root), "")
    if os.path.isdir(root):
        project = find_project(root)
        if project.key == os.path.basename(state.directory):
            return project
    root = root or state.directory
    return Project(root, root, None)


def _is_known(site: Site) -> bool:
    look = site.look()
    return look.marker is not None or bool(look.records or look.damaged)


def _as_of(site: Site, marker: Marker) -> str:
    """When a marker's findings were so: their ages stand still from then on."""
    ago = site.clock.now() - marker.when
    past = f"{duration(ago)} ago" if ago >= 0 else "which lies in the future"
    return f"as of {local(marker.when)} ({past})" + ("; so are the ages below" if marker.data["findings"] else "")


def _row(call: Call, site: Site, look: Look, verdict: Verdict) -> str:
    gone = "" if os.path.isdir(site.project.root) else " (not there)"
    when = moment(look.marker.data["when"]) if look.marker is not None else "-"
    return f"{call.console.word(verdict.kind, 10)}{when:<18}{name(site.project.root, 200)}{gone}"


def _print_one(call: Call, site: Site, look: Look, verdict: Verdict) -> None:
    console = call.console
    why = f" ({_WHY[verdict.reason]})" if verdict.reason in _WHY else ""
    console.print(f"project   {name(site.project.root, 1000)}")
    console.print(f"verdict   {console.word(verdict.kind)}: {_WORDS[verdict.kind]}{why}")
    if look.marker is not None:
        console.print(f"marker    {console.word(look.marker.state)}, {_as_of(site, look.marker)}")
    for path in look.damaged:
        console.print(f"damaged   {name(path, 1000)}")
    for record in look.records:
        life = {True: "alive", False: "dead", None: "cannot be told"}[record.alive]
        since = moment(record.to_json()["since"])
        console.print(f"session   {line(record.client)} {line(record.id)}: {record.state}, {life}, since {since}")
    if look.marker is not None:
        print_findings(console, findings_of(look.marker.data))
