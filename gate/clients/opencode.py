"""OpenCode: what its plugin tells, and the form in which that takes an answer.

Seen with 1.18.33 (Linux). It has no hooks: a plugin of ours in its process (`opencode_plugin.js`, the text of the
file that `gate install` writes) calls the same commands, with a payload of ours. Standard library only: this is on the
silent path.
"""

from __future__ import annotations

import os

from gate import jsontext
from gate.clients import OWN_FILE, SECONDS, Event, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gate.liveness import Stat

NAME = "opencode"
SESSION_VARIABLE = ""
HOOKS = (("chat.message", "start", 10), ("dispose", "end", 10))
"""The plugin's hooks that are a session's boundary, which boundary each is, and the seconds that a command is given."""

TITLE = "OpenCode"
PROGRAM = "opencode"
TRIED = "1.18.33"
FORM, UNIT, COMMENTS, TRAILING_COMMAS = OWN_FILE, SECONDS, False, False
EXPANDS = False
SCOPES = ("user", "project")
DIRECTORY_VARIABLE, PROJECT_VARIABLE = "", ""
SHADOWED_BY = ""
ANY_SHELL = False
AFTERWARDS = (
    "With any plugin, OpenCode installs a package of its own at its next start, and waits for that: seconds with a "
    "network, a minute and a half without one."
)
"""Seen with 1.18.33: `@opencode-ai/plugin`, into each configuration directory, once where that succeeds."""

OFF = ("", True)

PLUGIN = "opencode_plugin.js"


def config_directory(environ: Mapping[str, str]) -> str:
    """The client's own directory."""
    return os.path.join(environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME", ""), ".config"), "opencode")


def settings_path(scope: str, environ: Mapping[str, str], worktree: str) -> str:
    """The settings file of a scope; `worktree` is the directory that project settings lie in."""
    directory = config_directory(environ) if scope == "user" else os.path.join(worktree, ".opencode")
    return os.path.join(directory, "plugins", "session-gate.js")


def managed_settings(platform: str) -> str:
    """An administrator's settings, which no user's override. Empty where there are none that say anything of hooks."""
    return ""


def own_file(lines: Mapping[str, str], title: str) -> str:
    """The text of the gate's own file: `lines` has the command of each boundary, `title` is a line for a reader."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), PLUGIN), encoding="utf-8") as file:
        plugin = file.read()
    for name, value in (("TITLE", title), *((boundary.upper(), jsontext.dumps(lines[boundary])) for boundary in lines)):
        plugin = plugin.replace(f"@{name}@", value)
    return plugin


def read_event(payload: Mapping[str, Any], environ: Mapping[str, str]) -> Event:
    """The event in the plugin's payload."""
    return Event(
        name=text(payload, "hook_event_name"),
        session=text(payload, "session_id"),
        directories=[text(payload, "cwd")],
        source=text(payload, "source"),
        reason=text(payload, "reason"),
        transcript="",
    )


def is_client(process: Stat) -> bool:
    """Whether a process is this client's program."""
    return process.name == PROGRAM


def named_owner(environ: Mapping[str, str]) -> int | None:
    """The process that the plugin runs in, which it passes on under the client's own name for it."""
    number = environ.get("OPENCODE_PID", "")
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else None


def recorded_owner(environ: Mapping[str, str], session: str) -> int | None:
    """It writes down no process for a session."""
    return None


def export_tag(environ: Mapping[str, str], session: str) -> None:
    """The plugin does it."""


def render_start(said: str, line: str) -> str:
    """What a start prints for the plugin: `said` for the model and `line` for the user. Nothing for nothing."""
    if not said:
        return ""
    return jsontext.dumps({"additionalContext": said, "systemMessage": line}) + "\n"
