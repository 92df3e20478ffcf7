"""A client's file that is the gate's alone: written as a whole, removed as a whole. Pure.

Edited by hand it is still the gate's, and is brought up to date, with a backup; one of this name that does not call
the gate is somebody else's and is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, cast

from gate.errors import GateError
from gate.wiring.change import ADDED, ALREADY, NOTHING, REMOVED, UPDATED, Plan
from gate.wiring.clients import Client
from gate.wiring.hook_entries import is_blank
from gate.wiring.installed_line import marker
from gate.wiring.own_commands import BOUNDARIES


class _Writer(Protocol):
    def own_file(self, lines: Mapping[str, str], title: str) -> str:
        """The text of the file: `lines` has the command of each boundary, `title` is a line for a reader."""


def text_of(client: Client, lines: Mapping[str, str]) -> str:
    """The text that the file has with these commands, by event."""
    title = f"session-gate: written by `gate install {client.NAME}`, removed by `gate uninstall {client.NAME}`"
    by_boundary = {boundary: lines[event] for event, boundary, _ in client.HOOKS}
    return cast(_Writer, client).own_file(by_boundary, title)


def calls_gate(client: Client, text: str) -> bool:
    """Whether a file is the gate's."""
    return any(marker(boundary, client.NAME) in text for boundary in BOUNDARIES)


def install(client: Client, text: str, lines: Mapping[str, str]) -> Plan:
    """Make it the gate's file. Raises GateError where it is somebody else's."""
    wanted = text_of(client, lines)
    if not is_blank(text) and not calls_gate(client, text):
        raise GateError("is not the gate's own file: it does not call the gate; move it away and run this again")
    what = ADDED if is_blank(text) else ALREADY if text == wanted else UPDATED
    return Plan(wanted, {event: what for event, _, _ in client.HOOKS})


def uninstall(client: Client, text: str) -> Plan:
    """Remove it where it is the gate's."""
    ours = calls_gate(client, text)
    return Plan(None if ours else text, {event: REMOVED if ours else NOTHING for event, _, _ in client.HOOKS})
