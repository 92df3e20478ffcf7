"""Which clients are on this machine: their program is in PATH, or their directory is in the home."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gate.project import Project
from gate.wiring.clients import CLIENTS, Client
from gate.world.git import find_program


def where(client: Client, environ: Mapping[str, str], project: Project) -> str:
    """What of a client was found, a program (none that lies in the project) or a directory; empty where nothing was."""
    program = find_program(client.PROGRAM, environ, project)
    directory = client.config_directory(environ)
    return program or (directory if os.path.isabs(directory) and os.path.isdir(directory) else "")


def found_here(environ: Mapping[str, str], project: Project) -> dict[str, str]:
    """The clients on this machine in the order of the table, with what of each was found."""
    found = {name: where(client, environ, project) for name, client in CLIENTS.items()}
    return {name: place for name, place in found.items() if place}
