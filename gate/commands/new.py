"""`gate new`: a post-mortem becomes a check of one's own."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence

import click

from gate import survey
from gate.commands.common import Call, common_options
from gate.directories import CONFIG_CURE, config_file
from gate.errors import GateError
from gate.files import make_private_dir
from gate.finding import MACHINE, PROJECT
from gate.quote import ShellWord, name
from gate.scaffold import plan as planning
from gate.scaffold import words, writing
from gate.scaffold.plan import File, Plan, Wanted


@click.command(
    short_help="Begin a check of your own: its module, its incident and its test.",
    epilog="Example: gate new keep_awake --label AWAKE --looks-at processes --incident - < post-mortem.md",
)
@click.argument("check", metavar="NAME")
@click.option("--label", metavar="LABEL", help="A short word in capitals, shown with what it finds (made of NAME).")
@click.option("--scope", type=click.Choice([PROJECT, MACHINE]), help="Whether what it looks at is of one project.")
@click.option("--summary", metavar="TEXT", help="When it is debt, in a line: 'debt when more than 2 …'.")
@click.option(
    "--looks-at",
    type=click.Choice(list(planning.KINDS)),
    default="processes",
    help="What its skeleton looks at: processes by name (default), files below a directory, what a git command says.",
)
@click.option("--incident", metavar="TEXT", help="What happened: a title line and a text; - reads standard input.")
@click.option("--package", metavar="DIR", help="Make it a package of its own in DIR, called like it.")
@click.option("--here", is_flag=True, help="Make it one of session-gate's own checks, in a checkout of it.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@common_options
def new(
    call: Call,
    check: str,
    label: str | None,
    scope: str | None,
    summary: str | None,
    looks_at: str,
    incident: str | None,
    package: str | None,
    here: bool,
    dry_run: bool,
) -> int:
    """Write the check NAME, its incident and a test, for you to fill in; it works as it stands.

    It goes into your own checks directory (`checks` beside config.toml), or where --package or --here says. A check
    exists because something happened: until its incident is written it is refused. No file is overwritten.
    """
    if package is not None and here:
        raise click.UsageError("one of these: --package, --here")
    registry = survey.load(call.site())
    words.refuse_name(check, registry)
    wanted = Wanted(
        name=check,
        label=words.label_of(label, check, registry),
        looks_at=looks_at,
        scope=scope or planning.KINDS[looks_at][0],
        summary=words.summary_of(summary) if summary is not None else "",
        incident=words.incident_of(_read(incident)) if incident is not None else "",
    )
    directory = ""
    if here:
        plan = planning.in_repository(wanted, planning.find_checkout(call.directory))
    elif package is not None:
        directory = os.path.normpath(os.path.join(call.directory, package))
        plan = planning.in_package(wanted, directory)
    else:
        directory = os.path.join(os.path.dirname(config_file(os.environ)), "checks")
        plan = planning.in_directory(wanted, directory)
    writing.refuse_existing(plan)
    if not here:
        words.refuse_installed(planning.package_of(directory) if package is not None else check)
    if not dry_run:
        if not here and package is None:
            make_private_dir(directory, CONFIG_CURE)
        writing.write(plan)
    _show(call, wanted, plan, _next(wanted, plan, directory if package is not None else "", here), dry_run)
    return 0


def _read(incident: str) -> str:
    if incident != "-":
        return incident
    if sys.stdin.isatty():
        click.echo("What happened? A title line and a text; end with Ctrl-D.", err=True)
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        raise GateError("--incident -: standard input is not UTF-8: give a text that is") from None


def _show(call: Call, wanted: Wanted, plan: Plan, steps: Sequence[str], dry_run: bool) -> None:
    changed = [plan.changed.path] if plan.changed is not None else []
    if call.format == "json":
        call.print_json(
            {
                "schema": 1,
                "check": wanted.name,
                "label": wanted.label,
                "dry_run": dry_run,
                "files": [file.path for file in plan.files],
                "changed": changed,
                "next": list(steps),
            }
        )
        return
    for file in plan.files:
        call.console.print(f"{'Would write' if dry_run else 'Wrote'} {_path(file)}")
    for path in changed:
        call.console.print(f"{'Would change' if dry_run else 'Changed'} {name(path, 1000)}: BUILT_IN, the last of it")
    call.console.print()
    call.console.print("Next:")
    for number, step in enumerate(steps, 1):
        call.console.fill(f"  {number}. {step}", hanging="     ")


def _next(wanted: Wanted, plan: Plan, package: str, here: bool) -> list[str]:
    """The three steps from here to a check that does its work."""
    incident, check, test = (name(os.path.basename(file.path)) for file in (plan.incident, plan.check, plan.test))
    write = f"Answer the questions in {incident}; until then the check is refused, and that is said."
    if wanted.incident:
        write = (
            f"Complete {incident}: what was left, what would have seen it, what must not be mistaken for "
            "it, how it is cleared."
        )
    fill = (
        f"Say in {check} what it looks for and how much is too much, and retell the incident and every trap in {test}."
    )
    tests = f"{ShellWord(sys.executable)} -m pytest {ShellWord(package or plan.test.path)}"
    if here:
        registry = os.path.join("tests", "test_registry.py")
        place = "" if plan.changed is not None else f"Add {wanted.name} to BUILT_IN in gate/registry.py. "
        table = "put what gate list --format markdown prints into README.md"
        return [write, fill, f"{place}Run {tests} {registry}, then {table}."]
    first = [_install("pytest")] if importlib.util.find_spec("pytest") is None else []
    if package:
        first.append(_install(f"-e {ShellWord(package)}"))
    return [write, fill, f"Run {', then '.join([*first, tests, f'gate run {wanted.name}'])}."]


def _install(what: str) -> str:
    """The command that puts something beside this very gate, which may have an environment of its own."""
    if importlib.util.find_spec("pip") is None:
        return f"uv pip install --python {ShellWord(sys.executable)} {what}"
    return f"{ShellWord(sys.executable)} -m pip install {what}"


def _path(file: File) -> str:
    return name(file.path, 1000)
