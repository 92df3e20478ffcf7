"""One module for each client: its payload, its output form, its owner."""

from __future__ import annotations

from gate.liveness import read_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gate.liveness import Stat

AGENTS = ("claude", "codex", "gemini", "qwen", "copilot", "opencode", "cursor", "droid")
"""The clients with settings of their own that `gate install` writes to, each a module of this package."""

NAMES = (*AGENTS, "shell")
"""What `--client` takes."""

GROUPED, FLAT, OWN_FILE = "grouped", "flat", "own file"
"""How a client keeps hooks: `{"hooks": {EVENT: [{"hooks": [HOOK, ...]}, ...]}}` in a file that others use too; the same
without groups, `{"version": 1, "hooks": {EVENT: [HOOK, ...]}}`; or a file that is the gate's alone."""

SECONDS, MILLISECONDS = 1, 1000
"""Units of a hook's time limit: how many of them a second has."""

LONGEST_TEXT = 1 << 14
"""Characters of what a payload says under one key; a longer one counts as not said. It would be kept in a record."""


class Event:
    """What a client told its hook, in our words.

    `name` is the client's own name of the event, `directories` where the session may be, the most reliable first,
    `source` why it starts (startup, resume, clear, compact, fork), `reason` why it ends, `subagent` that it is about a
    subagent, whose start and end are not a session's. Empty where it was not said. `unheard` says that the client drops
    what its hook says to this event, `prompt` that this is a prompt, whose hook is heard: a start for a session that
    has had none, or an unheard one.
    """

    __slots__ = ("directories", "name", "prompt", "reason", "session", "source", "subagent", "transcript", "unheard")

    def __init__(
        self,
        name: str,
        session: str,
        directories: Sequence[str],
        source: str,
        reason: str,
        transcript: str,
        subagent: bool = False,
        unheard: bool = False,
        prompt: bool = False,
    ) -> None:
        self.name = name
        self.session = session
        self.directories = [directory for directory in directories if directory]
        self.source = source
        self.reason = reason
        self.transcript = transcript
        self.subagent = subagent
        self.unheard = unheard
        self.prompt = prompt


INTERPRETERS = ("node", "bun", "deno", "MainThread", "node-MainThread")
"""What runs a client that is a script; some call themselves after their thread."""


def is_script(process: Stat, *names: str) -> bool:
    """Whether a process is an interpreter that runs a script of one of these names, or one that lies in a package of
    that name: `node --max-old-space-size=1024 …/@google/gemini-cli/bundle/gemini.js`.
    """
    if process.name not in INTERPRETERS or not process.pid:
        return False
    arguments = [word for word in read_command(process.pid)[1:] if not word.startswith("-")]
    parts = arguments[0].split("/") if arguments else [""]
    return parts[-1].removesuffix(".js") in names or not set(names).isdisjoint(parts[:-1])


def text(payload: Mapping[str, Any], key: str) -> str:
    """A payload's text under a key, empty where there is none or something else."""
    value = payload.get(key)
    return value if isinstance(value, str) and len(value) <= LONGEST_TEXT else ""


def calling(named: str, payload: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    """The client that really calls a hook which was installed for `named`.

    Copilot CLI (seen with 1.0.102) and Cursor (cursor.com/docs/reference/third-party-hooks) also run the hooks in
    Claude Code's settings, with its names of events and payloads and answers of their own. The payload's shape tells;
    the environment only where there is none, because a client that was started by another one's shell tool has that
    one's variables too.
    """
    if named != "claude":
        return named
    if "cursor_version" in payload or "workspace_roots" in payload:
        return "cursor"
    if "sessionId" in payload or ("timestamp" in payload and "transcript_path" not in payload):
        return "copilot"
    if payload or environ.get("CLAUDECODE"):
        return named
    return "copilot" if environ.get("COPILOT_CLI") else "cursor" if environ.get("CURSOR_VERSION") else named
