"""Whether a client really calls the gate for sessions started in a directory."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from gate import jsontext
from gate.clients import OWN_FILE
from gate.diagnosis import GOOD, PROBLEM, WARNING, Answer, of_firing
from gate.quote import line, name
from gate.site import Site
from gate.wiring import consent, own_file, presence
from gate.wiring.client_settings import PROJECT, USER, Installed, Wiring, enabled_plugin, look_at
from gate.wiring.clients import CLIENTS, Client
from gate.wiring.hooks_install import lines
from gate.wiring.this_installation import find_installation

TRIAL = b'{"hook_event_name": "SessionGateTrial"}'
"""An event that is no session's boundary: the hook reads it and does nothing."""

TRIAL_TIMEOUT = 20.0
"""Seconds."""

SHORTEST = 5
"""Seconds: a start hook that is given less may be cut off while it says what it found."""


def diagnose(site: Site, directory: str) -> list[Answer]:
    """What there is to say of every client that is here, the good included; empty where none is.

    That nothing calls the gate is a problem; where one client does, another that does not may be meant so.
    """
    wired: list[Answer] = []
    alone: list[Answer] = []
    others: list[Answer] = []
    for client in CLIENTS.values():
        wiring = look_at(client, site.environ, directory)
        plugin = enabled_plugin(client, site.environ, directory)
        if wiring.installed or plugin:
            wired += _of_wired(client, site, directory, wiring, plugin)
        elif wiring.strangers or presence.where(client, site.environ, site.project):
            alone += [*_files(client, wiring), *_events(client, wiring)]
            text = f"{client.TITLE} is here, and does not call the gate"
            others += _files(client, wiring)
            others.append(Answer(client.NAME, WARNING, text, f"gate install {client.NAME}, if you use it"))
    return wired + others if wired else alone


def _of_wired(client: Client, site: Site, directory: str, wiring: Wiring, plugin: str) -> list[Answer]:
    return [
        *_files(client, wiring),
        *_plugin(client, wiring, plugin),
        *(_events(client, wiring) if wiring.installed or not plugin else ()),
        *_lines(client, site, directory, wiring.installed),
        *consent.of_client(client, site, directory, wiring.installed),
        *of_firing(site, client.NAME, client.TITLE),
    ]


def _files(client: Client, wiring: Wiring) -> list[Answer]:
    about = client.NAME
    answers = [
        Answer(about, PROBLEM, text, f"{client.TITLE} leaves such a file out as a whole; correct it")
        for text in wiring.unreadable.values()
    ]
    if wiring.disabled_by:
        text = f"{name(wiring.disabled_by, 1000)} switches all hooks off"
        answers.append(Answer(about, PROBLEM, text, f"take {client.OFF[0]} out of it"))
    for path, instead in wiring.shadowed.items():
        text = f"{client.TITLE} does not read the hooks in {name(path, 1000)}: {name(instead, 1000)} is there"
        answers.append(Answer(about, PROBLEM, text, "put the gate's entries into that file by hand, or remove it"))
    for path in wiring.strangers:
        text = f"{name(path, 1000)} has a hook of somebody's that seems to call the gate too"
        answers.append(Answer(about, WARNING, text, "see whether it is still wanted"))
    return answers


def _plugin(client: Client, wiring: Wiring, plugin: str) -> list[Answer]:
    if not plugin:
        return []
    if wiring.installed:
        text = f"the plugin {name(plugin)} calls the gate too: each start is told twice"
        return [Answer(client.NAME, WARNING, text, f"gate uninstall {client.NAME}, or disable the plugin")]
    return [Answer(client.NAME, GOOD, f"the plugin {name(plugin)} calls the gate")]


def _events(client: Client, wiring: Wiring) -> list[Answer]:
    about, install, uninstall = client.NAME, f"gate install {client.NAME}", f"gate uninstall {client.NAME}"
    answers = []
    for event, boundary, given in client.HOOKS:
        mine = [entry for entry in wiring.installed if entry.effective and entry.event == event]
        always = [entry for entry in mine if entry.matcher is None]
        where = ", ".join(f"{entry.scope} settings {name(entry.file, 1000)}" for entry in mine)
        if not mine:
            answers.append(Answer(about, PROBLEM, f"no {event} hook calls the gate", install))
        elif not always:
            text = f"the {event} hook is called for the matcher {name(str(mine[0].matcher))} alone ({where})"
            answers.append(Answer(about, PROBLEM, text, f"{uninstall}, then {install}"))
        elif len({entry.command for entry in always}) > 1:
            text = f"the {boundary} hook is installed {len(always)} times, and each start is told as often: {where}"
            answers.append(Answer(about, WARNING, text, f"{uninstall} --scope … takes one of them out"))
        else:
            answers.append(Answer(about, GOOD, f"{event} calls the gate: {where}"))
        answers += [
            Answer(about, WARNING, f"the {event} hook is given {line(f'{entry.seconds:g}')} s only", install)
            for entry in always
            if isinstance(entry.seconds, int | float) and entry.seconds < min(SHORTEST, given)
        ]
    return list(dict.fromkeys(answers))  # two events may be one boundary


def _lines(client: Client, site: Site, directory: str, installed: Sequence[Installed]) -> list[Answer]:
    """Whether the lines start. Only those are tried that the user's own settings have, or that this program would
    write: what else stands in a repository is other people's and must not run.
    """
    answers = []
    for entry in {entry.command: entry for entry in installed if entry.effective}.values():
        written = lines(client, entry.scope, entry.file, find_installation)
        commands = {entry.event: entry.command}
        again = f"gate install {client.NAME} --scope {entry.scope}"
        if client.FORM == OWN_FILE:
            commands = written if own_file.text_of(client, written) == entry.command else {}
            if not commands:
                text = f"{name(entry.file, 1000)} was not tried: this version writes another one"
                answers.append(Answer(client.NAME, WARNING, text, again))
        elif entry.scope != USER and entry.command not in written.values():
            text = f"the {entry.event} line in {name(entry.file, 1000)} was not tried: this version writes another one"
            answers.append(Answer(client.NAME, WARNING, text, again))
            continue
        for command, event in {command: event for event, command in reversed(commands.items())}.items():
            trouble = _try(client, site, directory, command)
            if trouble:
                text = f"the {event} line in {name(entry.file, 1000)} does not start the gate: {trouble}"
                cure = again if entry.scope != PROJECT else "install session-gate where PATH finds it (pipx, uv tool)"
                answers.append(Answer(client.NAME, PROBLEM, text, cure))
    return answers


def _try(client: Client, site: Site, directory: str, command: str) -> str:
    environ = dict(site.environ)
    if client.PROJECT_VARIABLE:
        environ[client.PROJECT_VARIABLE] = directory
    environ.pop("SESSION_GATE_DISABLE", None)
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            input=TRIAL,
            cwd=directory,
            env=environ,
            capture_output=True,
            timeout=TRIAL_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it took longer than {TRIAL_TIMEOUT:g} s"
    except OSError as error:
        return error.strerror or "it could not be run"
    if done.returncode == 0 and not done.stdout and not done.stderr:
        return ""
    return _said(done.stdout or done.stderr) or f"exit status {done.returncode}"


def _said(output: bytes) -> str:
    text = output.decode("utf-8", "backslashreplace").strip()
    try:
        text = jsontext.loads(text)["systemMessage"]
    except (ValueError, KeyError, TypeError):
        text = text.partition("\n")[0]
    return line(str(text))[:300]
