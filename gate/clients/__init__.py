"""One module for each client: its payload, its output form, its owner."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

AGENTS = ("claude", "codex", "gemini", "qwen", "copilot", "opencode", "cursor", "droid")
"""The clients with settings of their own that `gate install` writes to, each a module of this package."""

NAMES = (*AGENTS, "shell")
"""What `--client` takes."""

GROUPED, FLAT, OWN_FILE = "grouped", "flat", "own file"
"""How a client keeps hooks: `{"hooks": {EVENT: [{"hooks": [HOOK, ...]}, ...]}}` in a file that others use too; the same
without groups, `{"version": 1, "hooks": {EVENT: [HOOK, ...]}}`; or a file that is the gate's alone."""

SECONDS, MILLISECONDS = 1, 1000
"""Units of a hook's time limit: how many of them a second has."""


class Event:
    """What a client told its hook, in our words.

    `name` is the client's own name of the event, `directories` where the session may be, the most reliable first,
    `source` why it starts (startup, resume, clear, compact, fork), `reason` why it ends, `subagent` that it is about a
    subagent, whose start and end are not a session's. Empty where it was not said.
    """

    __slots__ = ("directories", "name", "reason", "session", "source", "subagent", "transcript")

    def __init__(
        self,
        name: str,
        session: str,
        directories: Sequence[str],
        source: str,
        reason: str,
        transcript: str,
        subagent: bool = False,
    ) -> None:
        self.name = name
        self.session = session
        self.directories = [directory for directory in directories if directory]
        self.source = source
        self.reason = reason
        self.transcript = transcript
        self.subagent = subagent


def text(payload: Mapping[str, Any], key: str) -> str:
    """A payload's text under a key, empty where there is none or something else."""
    value = payload.get(key)
    return value if isinstance(value, str) else ""
