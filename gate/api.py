"""The public interface for authors of checks: all that a check may import, and all that stays as it is.

Loaded on demand: nothing on the silent path imports it.
"""

from __future__ import annotations

from gate.check import Check, Context, Options, hookimpl, incident_text, option
from gate.clock import local_second
from gate.errors import SkipCheck, UnknownError
from gate.finding import DEBT, MACHINE, NOTE, PROJECT, UNKNOWN, Chosen, Finding, Subject
from gate.quote import Phrase, ShellWord, say
from gate.units import Duration, Size, duration, size
from gate.world.gitstatus import Entry, Status, plainly, read_statuses
from gate.world.holders import Fate, Holder, fate_of, is_git_at_work, parse_reason
from gate.world.leftovers import Leftover, Signs, Survey, measure_all
from gate.world.locks import Lock, LockSearch
from gate.world.orphans import Orphan, find_orphans
from gate.world.processes import Process
from gate.world.programs import KEPT
from gate.world.recorders import RECORDERS, recorder_of
from gate.world.remedies import gitlink_remedy, lock_remedy, worktree_remedy
from gate.world.traces import trace
from gate.world.tree import Held, find_roots, measure, memory_file_system
from gate.world.weights import Weight, weigh_processes
from gate.world.worktree_life import CACHES, operation
from gate.world.worktrees import AGENT_ROOTS, Worktree, shown

__all__ = [
    "AGENT_ROOTS",
    "CACHES",
    "DEBT",
    "KEPT",
    "MACHINE",
    "NOTE",
    "PROJECT",
    "RECORDERS",
    "UNKNOWN",
    "Check",
    "Chosen",
    "Context",
    "Duration",
    "Entry",
    "Fate",
    "Finding",
    "Held",
    "Holder",
    "Leftover",
    "Lock",
    "LockSearch",
    "Options",
    "Orphan",
    "Phrase",
    "Process",
    "ShellWord",
    "Signs",
    "Size",
    "SkipCheck",
    "Status",
    "Subject",
    "Survey",
    "UnknownError",
    "Weight",
    "Worktree",
    "duration",
    "fate_of",
    "find_orphans",
    "find_roots",
    "gitlink_remedy",
    "hookimpl",
    "incident_text",
    "is_git_at_work",
    "local_second",
    "lock_remedy",
    "measure",
    "measure_all",
    "memory_file_system",
    "operation",
    "option",
    "parse_reason",
    "plainly",
    "read_statuses",
    "recorder_of",
    "say",
    "shown",
    "size",
    "trace",
    "weigh_processes",
    "worktree_remedy",
]
