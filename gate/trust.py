"""A project's own checks, `.gate/checks/*.py`: run only after the user has trusted exactly their content.

The gate runs on entering any repository, so what a repository brings is other people's code. What is trusted is a
digest of a file's bytes in one project; the bytes that were compared are those that run. Standard library only.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import NamedTuple

from gate import files, jsontext
from gate.directories import STATE_CURE
from gate.errors import DamagedError, StateError
from gate.project import Project, is_brought
from gate.quote import name
from gate.stamp import MOST_BROUGHT

DIRECTORY = os.path.join(".gate", "checks")
LONGEST = 1 << 20
"""Bytes of a file; a check has some 2,000."""

SCHEMA = 1
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)

TRUSTED, CHANGED, UNTRUSTED = "trusted", "changed", "untrusted"


class ProjectFile(NamedTuple):
    """A file that a project brings: its name, where it lies, its bytes and their digest (hexadecimal SHA-256). Where it
    cannot be one that counts, `fault` says why, and there are none.
    """

    name: str
    path: str
    data: bytes = b""
    digest: str = ""
    fault: str = ""


def project_files(project: Project) -> list[ProjectFile]:
    """What a project brings, sorted by name; at the root of its main worktree, so that an agent's branch arms nothing.

    No symbolic link is followed: what it leads to can change without a trace in the repository.
    """
    directory = os.path.join(project.root, DIRECTORY)
    for place in (os.path.dirname(directory), directory):
        if os.path.islink(place):
            return [
                ProjectFile("", place, fault="is a link, and no link is followed here: put the directory itself there")
            ]
    try:
        names = sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        return [ProjectFile("", directory, fault=f"cannot be read: {error.strerror}")]
    chosen = [each for each in names if each.endswith(".py") and each[0] not in "_." and not each.startswith("test_")]
    if len(chosen) > MOST_BROUGHT:  # each would be read, and named, at each start
        fault = f"holds {len(chosen)} files that could be checks, and {MOST_BROUGHT} is the most: none of them is one"
        return [ProjectFile("", directory, fault=fault)]
    return [_read(os.path.join(directory, each)) for each in chosen]


def _read(path: str) -> ProjectFile:
    import hashlib  # 5 ms, for what few projects have

    base = os.path.basename(path)
    if os.path.islink(path):
        return ProjectFile(base, path, fault="is a link, and no link is followed here: put the file itself there")
    try:
        fd = os.open(path, _FLAGS)
        with open(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return ProjectFile(base, path, fault="is no regular file")
            data = file.read(LONGEST + 1)
    except OSError as error:
        return ProjectFile(base, path, fault=f"cannot be read: {error.strerror}")
    if len(data) > LONGEST:
        return ProjectFile(base, path, fault="is no file that could be a check (of 1 MiB at most)")
    return ProjectFile(base, path, data, hashlib.sha256(data).hexdigest())


class Trust:
    """What the user has trusted, kept in the state directory."""

    def __init__(self, state_root: str) -> None:
        self.path = os.path.join(state_root, "trusted.json")
        self._root = state_root

    def of(self, project: Project) -> Mapping[str, str]:
        """The digests of the files that are trusted in a project, by name. Nothing where nothing can be believed: a
        state that the project itself holds is no word of the user's.
        """
        return {} if is_brought(self._root, project) else self._read().get(project.key, {})

    def state(self, project: Project, file: ProjectFile) -> str:
        """Whether a file is trusted as it is, was before it changed, or never was."""
        known = self.of(project).get(file.name)
        return UNTRUSTED if known is None else TRUSTED if known == file.digest else CHANGED

    def change(self, project: Project, trusted: Mapping[str, str], revoked: frozenset[str] = frozenset()) -> None:
        """Trust these digests, by name, and no more what is `revoked`. Raises StateError."""
        files.make_private_dir(self._root)
        if is_brought(self._root, project):
            raise StateError(f"{self._root}: lies in this project, so what is kept there trusts nothing; {STATE_CURE}")
        with files.Lock(self.path + ".lock"):
            everything = self._read()
            mine = {**everything.get(project.key, {}), **trusted}
            everything[project.key] = {each: digest for each, digest in mine.items() if each not in revoked}
            kept = {key: digests for key, digests in everything.items() if digests}
            value = {"schema": SCHEMA, "trusted": kept}
            files.write(self.path, jsontext.dumps(value).encode("ascii"))

    def _read(self) -> dict[str, dict[str, str]]:
        if not _is_private(self._root) or not _is_private(self.path):
            return {}  # who can write there could let anything run
        try:
            value = jsontext.loads((files.read(self.path) or b"{}").decode("ascii"))
        except (DamagedError, StateError, ValueError):
            return {}
        trusted = value.get("trusted") if isinstance(value, dict) and value.get("schema") == SCHEMA else None
        if not isinstance(trusted, dict):
            return {}
        return {
            key: {each: digest for each, digest in digests.items() if isinstance(digest, str)}
            for key, digests in trusted.items()
            if isinstance(digests, dict)
        }


def _is_private(path: str) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    own = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    return own and not status.st_mode & 0o022 and not stat.S_ISLNK(status.st_mode)


def why_not(state: str, file: ProjectFile) -> str:
    """Why a file of a project does not run, in words."""
    if file.fault:
        return file.fault
    what = "has changed since it was trusted" if state == CHANGED else "is this project's own, and not trusted"
    return f"{what}: it was not run. A person decides, who reads {name(file.name)} first (gate trust)"
