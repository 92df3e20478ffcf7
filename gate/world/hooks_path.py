"""Where a repository's configuration has git look for hooks, and whether they are there.

Where `core.hooksPath` leads to nothing, git runs no hook and says nothing, and those in its own directory are passed
over (incident: 24 jobs before each push did not run for weeks). Much that looks like it is ordinary, though: a null
device switches hooks off on purpose, and a directory that an installation makes is in no fresh worktree.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gate.project import is_within
from gate.world.pointers import may_be_away, read
from gate.world.worktrees import Worktree

_BRANCHES = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master", "refs/remotes/origin/main")
"""Branches that most others come back to: what one of them has is not lost, it is not checked out."""

_GENERATED = "_"
"""The name of the directory that husky's installation makes beside a repository's own scripts (`.husky/_`)."""


class Dangling(NamedTuple):
    """A `core.hooksPath` that leads to nothing from any worktree in which it could: as it is written, and a place that
    is not there. `passed_over` are the hooks in git's own directory that therefore do not run either. `away` says that
    the place may be on a disk or in a container that is not here now.
    """

    value: str
    place: str
    passed_over: tuple[str, ...]
    away: bool


class HooksPath(NamedTuple):
    """Looks for it in the repository with this common directory; `environ` is where `~` leads, `ask` gives the output
    of a git command in a worktree and raises UnknownError.
    """

    common: str
    environ: Mapping[str, str]
    ask: Callable[..., str]

    def dangling(self, trees: Sequence[Worktree]) -> list[Dangling]:
        """Those that lead to nothing. `trees` are worktrees in which git works. Raises UnknownError.

        Only what the repository itself says counts: a path in the user's own configuration is for all repositories, and
        need not be in this one.
        """
        values: dict[str, list[Worktree]] = {}
        shared = [tree for tree in trees if not self._mentions(os.path.join(tree.git_dir, "config.worktree"))]
        if shared and self._mentions(os.path.join(self.common, "config")):
            values.setdefault(self._value(shared[0]), []).extend(shared)
        for tree in trees:
            if tree not in shared:
                values.setdefault(self._value(tree), []).append(tree)
        found = (self._look(value, those) for value, those in values.items())
        return [dangling for dangling in found if dangling is not None]

    def _mentions(self, path: str) -> bool:
        text = (read(path, 1 << 20) or b"").lower()
        return b"hookspath" in text or b"include" in text

    def _value(self, tree: Worktree) -> str:
        """What the repository's own configuration says in a worktree; empty where it says nothing, or nothing on
        purpose. The `-c` with which this gate switches hooks off is a scope of its own.
        """
        asked = ("config", "--show-scope", "-z", "--get-all", "core.hooksPath")
        fields = self.ask(tree.path, *asked, ok=(0, 1)).split("\0")
        own = [value for scope, value in zip(fields[::2], fields[1::2], strict=False) if scope in ("local", "worktree")]
        return own[-1] if own else ""

    def _look(self, value: str, trees: Sequence[Worktree]) -> Dangling | None:
        if not value or value.startswith("%(prefix)"):
            return None
        path = self._without_tilde(value)
        if os.path.isabs(path):
            if os.path.exists(path) or os.path.realpath(path) == os.path.join(self.common, "hooks"):
                return None
            place = os.path.realpath(path)
            inside = [tree for tree in trees if is_within(place, tree.path)]
            if not inside:
                return Dangling(value, place, self._hooks(), may_be_away(place) and not self._is_temporary(place))
            trees, path = inside, os.path.relpath(place, inside[0].path)
        places = {tree.path: os.path.normpath(os.path.join(tree.path, path)) for tree in trees}
        if any(map(os.path.exists, places.values())):
            return None
        likely = [tree for tree in trees if _could_be_there(tree.path, places[tree.path])]
        if not likely or self._is_on_another_branch(likely[0].path, os.path.normpath(path)):
            return None
        return Dangling(value, places[likely[0].path], self._hooks(), away=False)

    def _is_temporary(self, place: str) -> bool:
        """Whether it lay in the temp directory, which may be empty by now: a test made it, and it is gone for good."""
        temps = (self.environ.get("TMPDIR") or "/tmp", "/tmp")  # noqa: S108
        return any(is_within(place, os.path.realpath(temp)) for temp in temps)

    def _without_tilde(self, value: str) -> str:
        if value == "~" or value.startswith("~/"):
            return self.environ.get("HOME", "~") + value[1:]
        return os.path.expanduser(value)

    def _is_on_another_branch(self, tree: str, name: str) -> bool:
        """Whether it would be there if another branch were checked out; what this one has was removed."""
        if name.startswith(".."):
            return False

        def has(branch: str) -> bool:
            return bool(self.ask(tree, "rev-parse", "--verify", "--quiet", f"{branch}:{name}", ok=(0, 1)))

        return not has("HEAD") and any(map(has, _BRANCHES))

    def _hooks(self) -> tuple[str, ...]:
        """The hooks in git's own directory."""
        directory = os.path.join(self.common, "hooks")
        try:
            names = sorted(os.listdir(directory))
        except OSError:
            return ()
        paths = [os.path.join(directory, name) for name in names if not name.endswith(".sample")]
        return tuple(os.path.basename(path) for path in paths if os.path.isfile(path) and os.access(path, os.X_OK))


def _could_be_there(tree: str, place: str) -> bool:
    """Whether a directory could be in a worktree by now: one that an installation makes is there after it."""
    if os.path.basename(place) != _GENERATED:
        return True
    package = os.path.dirname(os.path.dirname(place))
    return any(os.path.isdir(os.path.join(above, "node_modules")) for above in (tree, package))
