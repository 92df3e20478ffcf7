"""Whether the gate can be relied on here, apart from clients: git, Python, state, configuration, what fired last."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gate import __version__, files, fired, survey
from gate.clock import local
from gate.config import configuration
from gate.directories import config_file, is_config_named
from gate.errors import StateError, UnknownError
from gate.quote import line, name
from gate.site import Site
from gate.world.git import Git

GOOD, WARNING, PROBLEM = "good", "warning", "problem"
"""How an answer is to be taken: a problem means that the gate cannot be relied on."""

GIT_TIMEOUT = 10.0
"""Seconds."""


class Answer(NamedTuple):
    """One thing that was looked at: what it is about, how it is, and what cures it."""

    about: str
    level: str
    text: str
    cure: str = ""


def of_machine(site: Site) -> list[Answer]:
    """What does not depend on a client."""
    return [
        Answer(
            "session-gate", GOOD, f"{__version__}, Python {platform.python_version()} at {name(sys.executable, 1000)}"
        ),
        _git(site),
        _state(site),
        *_configuration(site),
        *_switch(site.environ),
    ]


def _git(site: Site) -> Answer:
    git = Git(site.environ)
    try:
        version = git.run(site.project.here, "--version", timeout=GIT_TIMEOUT)
    except UnknownError as error:
        cure = "install git, or put the directory that it lies in into PATH (absolute, and outside of the project)"
        return Answer("git", PROBLEM, line(str(error)), cure)
    finally:
        git.close()
    return Answer("git", GOOD, line(version.decode("utf-8", "backslashreplace").strip().removeprefix("git version ")))


def _state(site: Site) -> Answer:
    root = site.state.root
    shown = name(root, 1000)
    if not os.path.lexists(root):
        return Answer("state", GOOD, f"{shown} is made at the first start")
    probe = os.path.join(root, "doctor")
    try:
        files.make_private_dir(root)
        files.write(probe, b"")
    except StateError as error:
        return Answer(
            "state", PROBLEM, line(str(error)), "mend that, or set SESSION_GATE_STATE_DIR to another directory"
        )
    finally:
        files.remove(probe)
    return Answer("state", GOOD, shown)


def _configuration(site: Site) -> list[Answer]:
    registry = survey.load(site)
    options = {registered.check.name: registered.check.options for registered in registry.checks}
    loaded = configuration.load(site.project, site.environ, options)
    answers = [
        Answer("configuration", PROBLEM, line(str(problem)), "gate config shows what is in force")
        for problem in loaded.problems
    ]
    answers += [Answer("checks", PROBLEM, str(problem), "mend or remove the plugin") for problem in registry.problems]
    if is_config_named(site.environ) and not os.path.lexists(config_file(site.environ)):
        text = f"SESSION_GATE_CONFIG names {name(config_file(site.environ), 1000)}, which is not there"
        answers.append(Answer("configuration", WARNING, text, "correct the variable, or unset it"))
    if loaded.disabled:
        checks = ", ".join(f"{check} (by {name(source, 1000)})" for check, source in loaded.disabled.items())
        answers.append(Answer("checks", WARNING, f"disabled: {checks}", "take them out of `disable`"))
    return answers or [Answer("configuration", GOOD, f"{len(options)} checks, all in force")]


def _switch(environ: Mapping[str, str]) -> list[Answer]:
    if not environ.get("SESSION_GATE_DISABLE"):
        return []
    cure = "take it out of the environment and of the clients' settings"
    return [Answer("switch", PROBLEM, "SESSION_GATE_DISABLE is set: the hooks check nothing", cure)]


def of_firing(site: Site, client: str, title: str) -> list[Answer]:
    """When a client's hooks last fired in this project, and whether an end was missed or cut off."""
    moments = fired.read(site.state.directory).get(client, {})
    if fired.START not in moments:
        text = f"{title} has not yet called the start hook in {name(site.project.root, 1000)}"
        return [Answer("fired", WARNING, text, f"start {title} there once: it reads its settings when it starts")]
    answers = [Answer("fired", GOOD, f"{title}: {_times(moments, (fired.START, fired.END, fired.FINISHED))}")]
    if moments.get(fired.CUT_OFF, 0.0) > moments.get(fired.FINISHED, 0.0):
        text = f"{title}: an end was cut off before it was complete, seen {local(moments[fired.CUT_OFF])}"
        answers.append(Answer("fired", WARNING, text, "if that comes back, something ends the gate's own processes"))
    elif moments.get(fired.UNENDED, 0.0) > moments.get(fired.END, 0.0):
        text = f"{title}: a session ended without calling the end hook, seen {local(moments[fired.UNENDED])}"
        cure = f"normal after a crash or a kill; if every session does, the end hook of {title} does not fire"
        answers.append(Answer("fired", WARNING, text, cure))
    return answers


def _times(moments: Mapping[str, float], wanted: Sequence[str]) -> str:
    words = {fired.START: "start", fired.END: "end", fired.FINISHED: "end completed"}
    return ", ".join(f"{words[one]} {local(moments[one]) if one in moments else 'never'}" for one in wanted)
