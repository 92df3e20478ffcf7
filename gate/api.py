"""The public interface for authors of checks: all that a check may import, and all that stays as it is.

Loaded on demand: nothing on the silent path imports it.
"""

from __future__ import annotations

from gate.check import Check, Context, Options, hookimpl, incident_text, option
from gate.errors import SkipCheck, UnknownError
from gate.finding import DEBT, MACHINE, NOTE, PROJECT, UNKNOWN, Chosen, Finding, Subject
from gate.processes import Process
from gate.quote import Phrase, say
from gate.units import Duration, Size, duration, size
from gate.worktrees import Worktree

__all__ = [
    "DEBT",
    "MACHINE",
    "NOTE",
    "PROJECT",
    "UNKNOWN",
    "Check",
    "Chosen",
    "Context",
    "Duration",
    "Finding",
    "Options",
    "Phrase",
    "Process",
    "Size",
    "SkipCheck",
    "Subject",
    "UnknownError",
    "Worktree",
    "duration",
    "hookimpl",
    "incident_text",
    "option",
    "say",
    "size",
]
