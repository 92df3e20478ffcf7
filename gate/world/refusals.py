"""Why git refuses to work in a repository: what it says, and what its files show.

A refusal is not yet a broken repository. Where the repository is another user's, git wants to be told that it may be
trusted; where an extension is newer than this git, another git may know it; and a user's own configuration can be at
fault. Only what the repository's own files show is established.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from gate.errors import UnknownError
from gate.project import is_within
from gate.quote import Phrase, say
from gate.world.git import GitFailedError
from gate.world.gitstatus import plainly
from gate.world.pointers import HEAD, head_fault, may_be_away, read

_OWNER = r"dubious ownership|unsafe repository"
_NEWER = r"Expected git repo version|unknown repository extension|repo version is 0, but v1-only"
_RELOCATED = r"Invalid path|cannot chdir to|Could not chdir to|unable to set up work tree"
_IN_FILE = r" in (?:config )?file '?(.+?)'?(?: at line \d+|: [^:/]*)?$"
_VALUE = r"config value '(.*)' for '"
_SETTING = r"(?:missing|invalid) value for '[^']*?([^'.]+)'"
_NAMED = r"(?im)^[ \t]*worktree[ \t]*=(.*)$"
_EXTENSIONS = r"(?im)^[ \t]*\[extensions\]([^\[]*)"
_KEY = r"(?im)^[ \t]*([a-z][a-z0-9-]*)"


class Refusal(NamedTuple):
    """Why git refuses, what mends it, and the file that is at fault (empty: none that is there). Not `known`: that the
    repository is broken is not established.
    """

    text: Phrase
    cure: str
    file: str = ""
    known: bool = True


def explain(error: UnknownError, git_dir: str, common: str, root: str) -> Refusal:
    """Why git refuses to work in the worktree at `root` with these directories of git's, by what it said."""
    if not isinstance(error, GitFailedError):  # it was not started, or had no time
        return Refusal(plainly(error), error.cure or "it is known when git can answer", known=False)
    reason = error.said.replace("\0", "")
    try:
        found = _of_owner(reason) or _of_parts(reason, git_dir, common) or _of_place(reason, git_dir, common)
        found = found or _of_version(reason, common) or _of_configuration(reason, git_dir, common, root)
    except UnknownError as unreadable:
        return Refusal(plainly(unreadable), unreadable.cure, known=False)
    return found or Refusal(say("{}", reason), "it is known when git can answer", known=False)


def _of_owner(reason: str) -> Refusal | None:
    if not re.search(_OWNER, reason):
        return None
    cure = "it is known once git trusts it (safe.directory), which is for whoever owns this machine to say"
    return Refusal(say("git does not trust it, because it is another user's"), cure, known=False)


def _of_parts(reason: str, git_dir: str, common: str) -> Refusal | None:
    if "not a git repository" not in reason:
        return None
    for name in ("objects", "refs"):
        if not os.path.isdir(os.path.join(common, name)):
            return Refusal(
                say("it has no {}", say(name)), "it works again once that directory is back, from a copy or a clone"
            )
    fault = head_fault(git_dir)
    if fault is None:
        return None
    return Refusal(fault, HEAD, os.path.join(git_dir, "HEAD"))


def _of_place(reason: str, git_dir: str, common: str) -> Refusal | None:
    return lost_place(git_dir, common) if re.search(_RELOCATED, reason) else None


def lost_place(git_dir: str, common: str) -> Refusal | None:
    """Where core.worktree leads to nothing; None where it does not."""
    for directory, name in ((git_dir, "config.worktree"), (common, "config")):
        path = os.path.join(directory, name)
        named = re.findall(_NAMED, os.fsdecode(read(path, 1 << 20) or b""))
        value = named[-1].strip(" \t\r").removeprefix('"').removesuffix('"') if named else ""
        place = os.path.normpath(os.path.join(git_dir, value)) if named else ""
        if place and not os.path.isdir(place):
            text = say("core.worktree leads to {}, which is not there", place)
            return Refusal(
                text, "it works again once that is unset, or leads to its files", path, not may_be_away(place)
            )
    return None


def _of_version(reason: str, common: str) -> Refusal | None:
    if not re.search(_NEWER, reason):
        return None
    path = os.path.join(common, "config")
    sections = re.findall(_EXTENSIONS, os.fsdecode(read(path, 1 << 20) or b""))
    keys = sorted({key for section in sections for key in re.findall(_KEY, section)})
    text = say("this git does not understand its format: {}{}", reason, say(" {}", keys) if keys else say(""))
    return Refusal(text, "it is known where a newer git runs; no git knows what was set by mistake", path, known=False)


def _of_configuration(reason: str, git_dir: str, common: str, root: str) -> Refusal | None:
    """By the file that git names, else by the value: a mistake in the user's own configuration breaks no repository."""
    named, value = re.search(_IN_FILE, reason), re.search(_VALUE, reason) or re.search(_SETTING, reason)
    if not named and not value:
        return None
    paths = [os.path.join(common, "config"), os.path.join(git_dir, "config.worktree")]
    if named:
        path = os.path.realpath(os.path.join(root, named[1]))
        if not any(is_within(path, os.path.realpath(place)) for place in (common, root)):
            text = say("a configuration outside of it is at fault: {}", reason)
            return Refusal(text, "it is known once git can read that", known=False)
        paths = [path]
    elif value:
        mistake = os.fsencode(value[1]).lower()
        paths = [path for path in paths if mistake in (read(path, 1 << 20) or b"").lower()]
    if not paths:
        return None
    return Refusal(say("git refuses its configuration: {}", reason), "it works again once that is mended", paths[0])
