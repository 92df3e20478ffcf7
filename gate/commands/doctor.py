"""`gate doctor`: whether the gate can be relied on here."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from gate.commands.common import Call, common_options
from gate.diagnosis import PROBLEM, Answer, of_machine
from gate.wiring import client_diagnosis, shell_diagnosis
from gate.wiring.this_installation import find_installation


@click.command(epilog="Example: gate doctor")
@common_options
def doctor(call: Call) -> int:
    """Tell whether the gate can be relied on here: is it wired in, does it start, has it fired?

    Each problem is named with its cure. Runs the installed hook lines once, with an event that does nothing; writes
    nothing. Exit 1 where the gate cannot be relied on.
    """
    site = call.site()
    directory = os.path.realpath(call.directory)
    answers = of_machine(site)
    clients = client_diagnosis.diagnose(site, directory) + shell_diagnosis.diagnose(site.environ, find_installation)
    if not clients:
        text = "no client that the gate can be wired into was found: nothing calls it at a session's start and end"
        clients = [Answer("clients", PROBLEM, text, "gate install --help names the clients")]
    answers += clients
    reliable = not any(answer.level == PROBLEM for answer in answers)
    if call.format == "json":
        call.print_json({"schema": 1, "reliable": reliable, "answers": [answer._asdict() for answer in answers]})
    else:
        _print(call, answers, reliable)
    return 0 if reliable else 1


def _print(call: Call, answers: Sequence[Answer], reliable: bool) -> None:
    console = call.console
    for answer in answers:
        console.fill(f"{console.word(answer.level, 8)} {answer.about}: {answer.text}", hanging="         ")
        if answer.cure:
            console.fill(f"         → {answer.cure}", hanging="           ")
    console.print()
    console.print("The gate can be relied on here." if reliable else "The gate cannot be relied on here.")
