"""Whether a client's user has allowed it to run the hooks of these settings: each client has a consent of its own.

What is told here was seen, or is documented; a client of which nothing is known has nothing said of it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from gate import jsontext
from gate.clients import claude, codex
from gate.diagnosis import GOOD, PROBLEM, WARNING, Answer
from gate.quote import line, name
from gate.site import Site
from gate.wiring import codex_hooks
from gate.wiring.client_settings import USER, Installed
from gate.wiring.clients import Client
from gate.world.git import find_program


def of_client(client: Client, site: Site, directory: str, installed: Sequence[Installed]) -> list[Answer]:
    """What there is to say of the consent to these hooks."""
    if client.NAME == claude.NAME:
        return _of_claude(site, directory, installed)
    if client.NAME == codex.NAME:
        return _of_codex(site, directory, installed)
    return []


def _of_claude(site: Site, directory: str, installed: Sequence[Installed]) -> list[Answer]:
    """In a directory that its user has not trusted, the terminal interface asks before it runs any hook."""
    if not any(entry.scope != USER for entry in installed):
        return []
    home = site.environ.get("CLAUDE_CONFIG_DIR") or site.environ.get("HOME", "")
    try:
        with open(os.path.join(home, ".claude.json"), encoding="utf-8") as file:
            trusted = jsontext.loads(file.read())["projects"][directory]["hasTrustDialogAccepted"]
    except (OSError, ValueError, KeyError, TypeError):
        trusted = False
    if trusted is True:
        return []
    text = f"{name(directory, 1000)} is not yet trusted: {claude.TITLE} asks before it runs the hooks of its settings"
    return [Answer(claude.NAME, WARNING, text, f"start {claude.TITLE} there once and answer")]


def _of_codex(site: Site, directory: str, installed: Sequence[Installed]) -> list[Answer]:
    """Codex runs a hook once it is trusted just as it stands, and those of a project once that is trusted too."""
    program = find_program(codex.PROGRAM, site.environ, site.project)
    if program is None or not installed:
        return []
    known = codex_hooks.ask(program, site.environ, directory)
    if known is None:
        text = f"{codex.TITLE} did not say whether it trusts the hooks"
        return [Answer(codex.NAME, WARNING, text, f"start codex in {name(directory, 1000)} and see /hooks")]
    answers = []
    for entry in installed:
        same = [
            hook
            for hook in known
            if hook.command == entry.command and os.path.realpath(hook.file) == os.path.realpath(entry.file)
        ]
        if not same:
            text = f"{codex.TITLE} does not read the {entry.event} hook in {name(entry.file, 1000)}"
            cure = "see whether its config.toml switches hooks off under [features]"
            if entry.scope != USER:
                cure = f"start codex in {name(directory, 1000)} and trust the directory, then the hooks in /hooks"
            answers.append(Answer(codex.NAME, PROBLEM, text, cure))
        elif not same[0].runs:
            state = line(same[0].trust) if same[0].enabled else "switched off"
            text = f"{codex.TITLE} does not run the {entry.event} hook in {name(entry.file, 1000)}: it is {state}"
            cure = "start codex, type /hooks, look at the gate's two lines and trust them"
            answers.append(Answer(codex.NAME, PROBLEM, text, cure))
    return answers or [Answer(codex.NAME, GOOD, f"{codex.TITLE} says that the hooks are trusted")]
