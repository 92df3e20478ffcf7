"""What can go wrong in a way we expect: one line for the user, no traceback."""

from __future__ import annotations


class GateError(Exception):
    """An expected failure; its text is one line that names the thing and the cure. By hand: exit 2."""


class StateError(GateError):
    """The state directory cannot be used (missing rights, somebody else's, full)."""


class DamagedError(GateError):
    """A file of ours holds something that we did not write, or only a part of it."""


class NewerSchemaError(DamagedError):
    """Written by a newer version of session-gate: neither believed nor overwritten."""


class UnknownError(Exception):
    """Raised by a check, or by what it uses, when something could not be established. Never read as clean.

    `cure` says in words of ours what would make it known; empty where asking again is all that can be done.
    """

    def __init__(self, reason: str = "", cure: str = "") -> None:
        super().__init__(reason)
        self.cure = cure


class SkipCheck(Exception):
    """Raised by a check that has nothing to look at here (say, no repository)."""
