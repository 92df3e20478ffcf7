"""One module for each client: its payload, its output form, its owner."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = ("claude", "shell")
"""The clients that `--client` takes, each a module of this package."""


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
