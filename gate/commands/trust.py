"""`gate trust`: let the checks run that a project brings, exactly as they are now."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import click

from gate.commands.common import Call, common_options
from gate.errors import GateError
from gate.quote import line, name
from gate.site import Site
from gate.tags import tag_of
from gate.trust import DIRECTORY, ProjectFile, Trust, project_files
from gate.world.agents import agent_of


@click.command(epilog="Example: gate trust flaky_ports.py")
@click.argument("names", metavar="[FILE]...", nargs=-1)
@click.option("--list", "listing", is_flag=True, help="Show what this project brings, and what of it is trusted.")
@click.option("--revoke", is_flag=True, help="Trust these files no more; without a name, none of this project.")
@common_options
def trust(call: Call, names: Sequence[str], listing: bool, revoke: bool) -> int:
    """Trust the project's own checks, .gate/checks/FILE, exactly as they are now; without a name, all of them.

    A check is code that runs as you, at each start and end of a session here: read it first. Whatever changes in a
    file, by a pull or by hand, it is asked for again.
    """
    if not (listing or revoke) and _is_an_agents(os.environ):
        raise GateError(
            "an agent's session cannot trust code: a person reads it, and gives it in a terminal of their own"
        )
    site = call.site()
    if listing and (revoke or names):
        raise click.UsageError("--list stands alone")
    trusted, found = Trust(site.state.root), project_files(site.project)
    if listing:
        _list(call, site, trusted, found)
        return 0
    known = trusted.of(site.project)
    wanted = list(dict.fromkeys(names)) or [*known, *(file.name for file in found if file.name not in known)]
    if revoke:
        _refuse_unknown(wanted, known, "is not trusted here")
        trusted.change(site.project, {}, frozenset(wanted))
        lines = [f"No longer trusted: {name(each)}" for each in wanted] or ["Nothing is trusted here."]
    else:
        usable = {file.name: file for file in found}
        wanted = wanted if names else list(usable)
        _refuse_unknown(wanted, usable, f"there is no such file in {DIRECTORY}")
        files = [usable[each] for each in wanted]
        for file in files:
            if file.fault:
                raise GateError(f"{name(file.path, 1000)}: {line(file.fault)}")
        trusted.change(site.project, {file.name: file.digest for file in files})
        lines = [f"Trusted: {name(file.path, 1000)} (SHA-256 {file.digest})" for file in files]
        lines = lines or [f"This project brings no checks of its own: there is nothing in {DIRECTORY}."]
    for text in lines:
        call.console.print(text)
    return 0


def _is_an_agents(environ: Mapping[str, str]) -> bool:
    """Whether a client started this command: what a finding names must not be trusted by whoever reads the finding."""
    return agent_of(environ) is not None or tag_of(environ) is not None


def _refuse_unknown(wanted: Sequence[str], known: Any, why: str) -> None:
    for each in wanted:
        if each not in known:
            raise GateError(f"{line(each)}: {why}; gate trust --list shows what there is")


def _list(call: Call, site: Site, trusted: Trust, found: Sequence[ProjectFile]) -> None:
    rows = [
        {
            "file": file.path,
            "state": "unusable" if file.fault else trusted.state(site.project, file),
            "sha256": file.digest or None,
            "reason": file.fault or None,
        }
        for file in found
    ]
    if call.format == "json":
        call.print_json({"schema": 1, "files": rows})
        return
    for row in rows:
        said = row["reason"] or f"SHA-256 {row['sha256']}"
        call.console.print(
            f"{call.console.word(str(row['state']), 9)}  {name(str(row['file']), 1000)}  {line(str(said))}"
        )
    if not rows:
        call.console.print(f"This project brings no checks of its own: there is nothing in {DIRECTORY}.")
