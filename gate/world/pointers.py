"""Whether what points to a repository's parts leads there: `.git` files, and the registrations of linked worktrees.

Each linked worktree has a registration in the repository that names it, and a `.git` file that names the registration.
Where one of the two leads nowhere, git does not work there, or does not list the worktree; and what it holds is looked
at by nobody, which must not pass for clean.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from gate import foreign
from gate.errors import UnknownError
from gate.quote import Phrase, say
from gate.world.index import has_files_of

_MOUNTS = ("/", "/mnt", "/media", "/media/*", "/run/media/*", "/Volumes", "/home", "/Users")
"""Directories below which disks, and other systems' files, come and go."""

_CONTAINER = ("/.dockerenv", "/run/.containerenv")
"""Files by which Docker and Podman tell a container."""

_DRIVE = r"[A-Za-z]:[\\/]"
_COMMIT = "[0-9a-f]{40,64}"

REPAIR = (
    "git worktree repair, in the repository, writes anew what a worktree and its registration say of each other (one "
    "that was moved is named to it)"
)
HEAD = "it works again once HEAD names a branch, or a commit; the last line of logs/HEAD beside it says where it was"
UNLISTED = say("its registration does not say where it is, and git does not list it")


class Misled(NamedTuple):
    """A worktree at `path` that git cannot use, and why; not `known` where what it needs may be elsewhere. Of one that
    is UNLISTED, `path` is the registration. `cure` is what mends it.
    """

    path: str
    text: Phrase
    cure: str = REPAIR
    known: bool = True


def read(path: str, limit: int = 1 << 16) -> bytes | None:
    """The content of a file of git's; None where there is none. Raises UnknownError where it may not be read."""
    try:
        return foreign.read(path, limit)
    except OSError as error:
        cure = "it is known once whoever owns it lets it be read"
        raise UnknownError(f"a file of git's cannot be read: {error.strerror}", cure) from None


def read_name(path: str) -> str:
    """A path in a file of git's; empty where there is none."""
    named = os.fsdecode(read(path) or b"").strip("\r\n")
    return "" if "\0" in named else named


def target_of(dot_git: str) -> str:
    """What a `.git` file, or a symbolic link in its place, names: a real path, or as it is written where that is a path
    of Windows. Empty where it names nothing.
    """
    if os.path.islink(dot_git):
        return os.path.realpath(dot_git)
    kind, _, named = os.fsdecode(read(dot_git) or b"").partition(":")
    named = named.strip()
    if kind != "gitdir" or not named or "\0" in named:
        return ""
    return named if _is_elsewhere(named) else os.path.realpath(os.path.join(os.path.dirname(dot_git), named))


def may_be_away(path: str) -> bool:
    """Whether something that is not there may be on a disk or in a container that is not here now, or on the other side
    of Windows and WSL (incident: one side took the other's living worktrees for gone). Not so where a directory above
    it is there and holds something.
    """
    if _is_elsewhere(path):
        return True
    above = os.path.dirname(path)
    while not os.path.isdir(above) and above != os.path.dirname(above):
        above = os.path.dirname(above)
    if any(fnmatch.fnmatchcase(above, mount) and above.count("/") == mount.count("/") for mount in _MOUNTS):
        return True
    try:
        return not os.listdir(above)
    except OSError:
        return True


def _is_elsewhere(path: str) -> bool:
    return os.sep == "/" and re.match(_DRIVE, path) is not None


def head_fault(git_dir: str) -> Phrase | None:
    """Why git cannot use a HEAD, by the test with which it begins; None where it can."""
    path = os.path.join(git_dir, "HEAD")
    if os.path.islink(path):
        return None if os.readlink(path).startswith("refs/") else say("its HEAD is a link that leads to no branch")
    if not os.path.lexists(path):
        return say("it has no HEAD")
    content = read(path, 1024)
    text = os.fsdecode(content or b"")
    if text.startswith("ref:"):
        return None if text[4:].lstrip().startswith("refs/") else say("its HEAD names no branch")
    if re.match(_COMMIT, text):
        return None
    return say("its HEAD is {}", say("no name" if text.strip("\0 \r\n") else "empty"))


def misled(registration: str, common: str, name_bytes: int = 20) -> Misled | None:
    """What git cannot use of the linked worktree of a registration; None where it can use it, or where its directory is
    gone, which is no fault: it may be on a disk that is not here. Raises UnknownError.
    """
    if (read(os.path.join(registration, "locked")) or b"").strip() == b"initializing":
        return None  # git makes it just now, or was cut off, which is told of a worktree and its lock
    named = read_name(os.path.join(registration, "gitdir"))
    if not named:
        if not os.path.lexists(os.path.join(registration, "HEAD")):
            return None  # what is left of one that was removed
        return Misled(registration, UNLISTED)
    dot_git = os.path.join(registration, named)
    path = os.path.realpath(os.path.dirname(dot_git))
    if not os.path.lexists(dot_git):
        is_there = has_files_of(os.path.join(registration, "index"), path, name_bytes)
        return Misled(path, say("its .git is gone, and its files are there")) if is_there else None
    return None if os.path.isdir(dot_git) else _through(dot_git, path, registration, common)


def _through(dot_git: str, path: str, registration: str, common: str) -> Misled | None:
    """The same, by way of the `.git` file that stands in the worktree. (A directory is another repository by now.)"""
    target = target_of(dot_git)
    if not target:
        return Misled(path, say("its .git names no git directory"))
    if not os.path.isdir(target):
        return Misled(path, say("its .git leads to {}, which is not there", target), known=not may_be_away(target))
    if not os.path.samefile(target, registration):
        return None  # a copy of another worktree
    shared = read_name(os.path.join(registration, "commondir"))
    if not shared or os.path.realpath(os.path.join(registration, shared)) != common:
        text = say("its registration does not lead to the repository (commondir)")
        return Misled(path, text, "it works again once commondir, in its registration, says ../.. again")
    fault = head_fault(registration)
    return None if fault is None else Misled(path, fault, HEAD)


def is_seen_from_elsewhere(root: str) -> bool:
    """Whether other places than here may call the repository at `root` by another path: it is mounted, or lies on a
    mount in a container. Worktrees that were made there name paths that are not here, and are in order there.
    """
    if os.path.ismount(root):
        return True
    above = os.path.dirname(root)
    while not os.path.ismount(above):
        above = os.path.dirname(above)
    return above != os.path.dirname(above) and any(map(os.path.exists, _CONTAINER))


def strays(root: str, common: str, patterns: Sequence[str], known: Collection[str]) -> Iterator[Misled]:
    """Directories below `root` that match one of these patterns and none of git's `known` worktrees, and whose `.git`
    leads nowhere: the repository was moved with them (incident: 13 at once, and all passed for gone), or what git knew
    of them was removed. Those that only a link leads to lie elsewhere, and are nobody's of this repository.
    """
    inside = os.path.join(root, "")
    for pattern in patterns:
        for dot_git in glob.iglob(os.path.join(glob.escape(root), pattern, ".git")):
            path = os.path.realpath(os.path.dirname(dot_git))
            if path in known or os.path.isdir(dot_git) or not path.startswith(inside):
                continue
            target = target_of(dot_git)
            if not os.path.isdir(target):
                text = say("its .git leads to {}, which is not there", target or say("nothing"))
                gone = not target or target.startswith(os.path.join(common, ""))
                yield Misled(path, text, known=gone or not (may_be_away(target) or is_seen_from_elsewhere(root)))
