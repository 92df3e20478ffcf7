"""Whether Claude Code really calls the gate for sessions started in a directory."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from gate import jsontext
from gate.clients import claude
from gate.diagnosis import GOOD, PROBLEM, WARNING, Answer, of_firing
from gate.quote import line, name
from gate.site import Site
from gate.wiring.claude_install import lines
from gate.wiring.claude_settings import PROJECT, USER, Installed, Wiring, enabled_plugin, look_at
from gate.wiring.this_installation import find_installation
from gate.world.git import find_program

TITLE = "Claude Code"
ABOUT = "claude"
TRIAL = b'{"hook_event_name": "SessionGateTrial"}'
"""An event that is no session's boundary: the hook reads it and does nothing."""

TRIAL_TIMEOUT = 20.0
"""Seconds."""

SHORTEST = 5
"""Seconds: a start hook that is given less may be cut off while it says what it found."""


def diagnose(site: Site, directory: str) -> list[Answer]:
    """What there is to say, the good included; empty where neither the client nor a hook of ours is here."""
    wiring = look_at(site.environ, directory)
    plugin = enabled_plugin(site.environ, directory)
    program = find_program("claude", site.environ.get("PATH", os.defpath), outside=site.project.root)
    if program is None and not wiring.installed and not os.path.isdir(claude.config_directory(site.environ)):
        return []
    answers = [
        *_files(wiring),
        *_plugin(wiring, plugin),
        *(_events(wiring) if wiring.installed or not plugin else ()),
        *_lines(site, directory, wiring.installed),
        *_trust(site, directory, wiring.installed),
    ]
    return answers + (of_firing(site, claude.NAME, TITLE) if wiring.installed or plugin else [])


def _files(wiring: Wiring) -> list[Answer]:
    answers = [
        Answer(ABOUT, PROBLEM, text, f"{TITLE} leaves such a file out as a whole; correct it")
        for text in wiring.unreadable.values()
    ]
    if wiring.disabled_by:
        text = f"{name(wiring.disabled_by, 1000)} switches all hooks off"
        answers.append(Answer(ABOUT, PROBLEM, text, f"take {claude.OFF[0]} out of it"))
    for path in wiring.strangers:
        text = f"{name(path, 1000)} has a hook of somebody's that seems to call the gate too"
        answers.append(Answer(ABOUT, WARNING, text, "see whether it is still wanted"))
    return answers


def _plugin(wiring: Wiring, plugin: str) -> list[Answer]:
    if not plugin:
        return []
    if wiring.installed:
        text = f"the plugin {name(plugin)} calls the gate too: each start is told twice"
        return [Answer(ABOUT, WARNING, text, "gate uninstall claude, or disable the plugin")]
    return [Answer(ABOUT, GOOD, f"the plugin {name(plugin)} calls the gate")]


def _events(wiring: Wiring) -> list[Answer]:
    answers = []
    for event, boundary, _ in claude.HOOKS:
        mine = [entry for entry in wiring.installed if entry.effective and entry.event == event]
        always = [entry for entry in mine if entry.matcher is None]
        where = ", ".join(f"{entry.scope} settings {name(entry.file, 1000)}" for entry in mine)
        if not mine:
            answers.append(Answer(ABOUT, PROBLEM, f"no {event} hook calls the gate", "gate install claude"))
        elif not always:
            text = f"the {event} hook is called for the matcher {name(str(mine[0].matcher))} alone ({where})"
            answers.append(Answer(ABOUT, PROBLEM, text, "gate uninstall claude, then gate install claude"))
        elif len({entry.command for entry in always}) > 1:
            text = f"the {boundary} hook is installed {len(always)} times, and each start is told as often: {where}"
            answers.append(Answer(ABOUT, WARNING, text, "gate uninstall claude --scope … takes one of them out"))
        else:
            answers.append(Answer(ABOUT, GOOD, f"{event} calls the gate: {where}"))
        answers += [
            Answer(
                ABOUT, WARNING, f"the {event} hook is given {line(str(entry.seconds))} s only", "gate install claude"
            )
            for entry in always
            if isinstance(entry.seconds, int | float) and entry.seconds < SHORTEST
        ]
    return answers


def _lines(site: Site, directory: str, installed: Sequence[Installed]) -> list[Answer]:
    """Whether the lines start. Only those are tried that the user's own settings have, or that this program would
    write: what else stands in a repository is other people's and must not run.
    """
    answers = []
    for entry in {entry.command: entry for entry in installed if entry.effective}.values():
        written = lines(entry.scope, entry.file, find_installation)
        if entry.scope != USER and entry.command not in written.values():
            text = f"the {entry.event} line in {name(entry.file, 1000)} was not tried: this version writes another one"
            answers.append(Answer(ABOUT, WARNING, text, f"gate install claude --scope {entry.scope}"))
            continue
        trouble = _try(site, directory, entry.command)
        if trouble:
            text = f"the {entry.event} line in {name(entry.file, 1000)} does not start the gate: {trouble}"
            again = f"gate install claude --scope {entry.scope}"
            cure = again if entry.scope != PROJECT else "install session-gate where PATH finds it (pipx, uv tool)"
            answers.append(Answer(ABOUT, PROBLEM, text, cure))
    return answers


def _try(site: Site, directory: str, command: str) -> str:
    environ = {**site.environ, "CLAUDE_PROJECT_DIR": directory}
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


def _trust(site: Site, directory: str, installed: Sequence[Installed]) -> list[Answer]:
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
    text = f"{name(directory, 1000)} is not yet trusted: {TITLE} asks before it runs the hooks of its settings"
    return [Answer(ABOUT, WARNING, text, f"start {TITLE} there once and answer")]
