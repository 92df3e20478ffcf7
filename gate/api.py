"""The public interface for authors of checks: all that a check may import, and all that stays as it is.

Loaded on demand: nothing on the silent path imports it.
"""

from __future__ import annotations

from gate.check import Check, Context, Options, hookimpl, incident_text, option
from gate.clock import local_second
from gate.errors import SkipCheck, UnknownError
from gate.finding import DEBT, DEFERRED, MACHINE, NOTE, PROJECT, SKIPPED, UNKNOWN, Chosen, Finding, Subject
from gate.quote import Phrase, ShellWord, say
from gate.units import Duration, Size, duration, size
from gate.world.agent_heads import AGENT_BRANCHES
from gate.world.excess import Excess, Limits, weigh_all
from gate.world.faults import Fault, Inspection
from gate.world.gitstatus import Entry, Status, plainly, read_statuses
from gate.world.holders import Fate, Holder, fate_of, is_git_at_work, parse_reason
from gate.world.leftovers import Leftover, Signs, Survey, measure_all
from gate.world.locks import Lock, LockSearch
from gate.world.operations import Operation, operation, read_operations, what_waits
from gate.world.orphans import Orphan, find_orphans
from gate.world.outputs import OUTLETS, Found, Outlet, find_outputs, place_pattern
from gate.world.piles import File
from gate.world.processes import Process
from gate.world.programs import KEPT
from gate.world.recorders import RECORDERS, recorder_of
from gate.world.references import read_references
from gate.world.remedies import gitlink_remedy, lock_remedy, stash_remedy, stranded_remedy, worktree_remedy
from gate.world.session_records import BACKGROUND, CLAUDE, COPILOT, Here, SessionRecord, SessionSearch, fate_of_session
from gate.world.stashes import Stash, list_stashes
from gate.world.stranded import CommitSearch, Stranded
from gate.world.taken_in import Junk, TakenIn, all_taken_in, untracked_droppings
from gate.world.traces import trace
from gate.world.tree import Held, find_roots, measure, memory_file_system
from gate.world.unheld import half_made_packs, removed_files, sort_out, unfinished
from gate.world.weights import Weight, weigh_processes
from gate.world.worktree_life import CACHES
from gate.world.worktrees import AGENT_LOCKS, AGENT_NAMES, AGENT_ROOTS, Worktree, shown

__all__ = [
    "AGENT_BRANCHES",
    "AGENT_LOCKS",
    "AGENT_NAMES",
    "AGENT_ROOTS",
    "BACKGROUND",
    "CACHES",
    "CLAUDE",
    "COPILOT",
    "DEBT",
    "DEFERRED",
    "KEPT",
    "MACHINE",
    "NOTE",
    "OUTLETS",
    "PROJECT",
    "RECORDERS",
    "SKIPPED",
    "UNKNOWN",
    "Check",
    "Chosen",
    "CommitSearch",
    "Context",
    "Duration",
    "Entry",
    "Excess",
    "Fate",
    "Fault",
    "File",
    "Finding",
    "Found",
    "Held",
    "Here",
    "Holder",
    "Inspection",
    "Junk",
    "Leftover",
    "Limits",
    "Lock",
    "LockSearch",
    "Operation",
    "Options",
    "Orphan",
    "Outlet",
    "Phrase",
    "Process",
    "SessionRecord",
    "SessionSearch",
    "ShellWord",
    "Signs",
    "Size",
    "SkipCheck",
    "Stash",
    "Status",
    "Stranded",
    "Subject",
    "Survey",
    "TakenIn",
    "UnknownError",
    "Weight",
    "Worktree",
    "all_taken_in",
    "duration",
    "fate_of",
    "fate_of_session",
    "find_orphans",
    "find_outputs",
    "find_roots",
    "gitlink_remedy",
    "half_made_packs",
    "hookimpl",
    "incident_text",
    "is_git_at_work",
    "list_stashes",
    "local_second",
    "lock_remedy",
    "measure",
    "measure_all",
    "memory_file_system",
    "operation",
    "option",
    "parse_reason",
    "place_pattern",
    "plainly",
    "read_operations",
    "read_references",
    "read_statuses",
    "recorder_of",
    "removed_files",
    "say",
    "shown",
    "size",
    "sort_out",
    "stash_remedy",
    "stranded_remedy",
    "trace",
    "unfinished",
    "untracked_droppings",
    "weigh_all",
    "weigh_processes",
    "what_waits",
    "worktree_remedy",
]
