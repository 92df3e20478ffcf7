"""Commits that are found nowhere else: which would be lost with an agent's branch, or when a HEAD moves on."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gate import foreign
from gate.errors import UnknownError
from gate.project import Project
from gate.quote import Phrase, say
from gate.world.agent_heads import Head, Places, read_worktrees
from gate.world.child import UNCLEAR, epoch
from gate.world.forms import LOG, Ask, Commit, Kept, find_kept, not_kept, parse_log, reach
from gate.world.git import Git
from gate.world.leftovers import Signs
from gate.world.references import HEADS, KEEPERS, REMOTES, References
from gate.world.reflogs import fetched, last_moves
from gate.world.worktrees import Worktree

MOST = 5000
"""Commits that are looked at. Where there are more, they are "at least" so many, and not looked for in other forms."""

MOST_NAMED = 10_000
"""Commits of other branches that are named to git; a command line has an end (some 1 MB on macOS)."""

MONTH = 30 * 86400.0

_COMMIT = "[0-9a-f]{40,64}"
_LIMIT = 1 << 20


class Stranded(NamedTuple):
    """A head, which came to where it is at `moved`, and how many commits are found nowhere else (`least`: at least so
    many); each is counted at one head. The newest was committed at `newest`; both in epoch seconds. `was_pushed`:
    another repository has had a branch for it that is not seen here any more. `doubt` says why it is not known whether
    they are kept in another form.
    """

    head: Head
    moved: float
    total: int
    newest: float
    least: bool = False
    was_pushed: bool = False
    doubt: str = ""

    @property
    def commits(self) -> Phrase:
        """How many, in words."""
        least = say("at least " if self.least else "")
        return say("{}{} commit{}", least, self.total, say("" if self.total == 1 else "s"))


class CommitSearch(NamedTuple):
    """Looks for stranded commits in the repository that `directory` lies in. `patterns` are how agents call their
    branches.
    """

    git: Git
    project: Project
    worktrees: Sequence[Worktree]
    references: References
    signs: Signs
    patterns: Sequence[str]
    directory: str

    def find(self, seconds: float) -> list[Stranded]:
        """Every head with such commits, within `seconds`. Raises UnknownError."""
        ask = Ask(self.git, self.directory, time.monotonic() + seconds)
        worktrees, at = self.worktrees, dict[str, str]()
        if os.path.isdir(os.path.join(self.project.common_dir or "", "reftable")):
            worktrees, at = read_worktrees(ask, worktrees)
        places = Places(self.project, worktrees, self.references, self.signs, self.patterns, at)
        heads = places.heads()
        if not heads:
            return []
        only = _only_in(heads, self.references)
        commits = _listed(ask, only)
        holding = [head for head in heads if head.commit in commits]
        elsewhere = self._from_elsewhere(holding) if holding else []
        if elsewhere:
            commits = _listed(ask, [*only, "--ignore-missing", *elsewhere])
        own = _divided(holding, commits)
        least = len(commits) > MOST
        if not own or least:
            return [_stranded(each, commits, each.commits, least=least) for each in own]
        without = {HEADS + head.branch for head in heads if head.branch}
        return self._compare(ask, own, commits, lambda since: self.references.tips(since, places.main, without))

    def _compare(
        self,
        ask: Ask,
        own: Sequence[_Own],
        commits: Mapping[str, Commit],
        tips_since: Callable[[float], Sequence[str]],
    ) -> list[Stranded]:
        """Those that are not kept in another form. The young ones are compared first: where a copy may be a year old,
        the history of a year has to be looked at, and that is not to keep the time from the others.
        """
        kept, covered = set[str](), set[str]()
        done: dict[str, _Own] = {}
        lost: dict[str, Commit] = {}
        pushed: frozenset[str] = frozenset()
        doubt = ""
        try:
            ids = set().union(*(reach(each.head.commit, commits) for each in own))
            lost = parse_log(ask(*LOG, "--no-walk=unsorted", *sorted(ids), "--"))
            if not ids <= lost.keys():
                raise UnknownError(UNCLEAR)
            pushed = self._that_were_pushed(ask)
            for group in _by_age(own, lost):
                tips = [each.head.commit for each in group]
                within = {commit: lost[commit] for tip in tips for commit in reach(tip, lost)}
                found = find_kept(ask, within, tips, tips_since)
                kept |= found.commits
                covered |= found.covered
                done |= {each.head.key: each for each in group}
        except UnknownError as error:
            doubt = str(error)
        in_doubt = [_stranded(each, commits, each.commits, doubt=doubt) for each in own if each.head.key not in done]
        return [*_left(done.values(), lost, Kept(frozenset(kept), frozenset(covered)), pushed), *in_doubt]

    def _from_elsewhere(self, heads: Sequence[Head]) -> list[str]:
        """Commits that were fetched. In a shallow clone the oldest ones are named; what was fetched last is, too."""
        common = self.project.common_dir or ""
        found = set(_ids(os.path.join(common, "shallow")))
        for git_dir in (common, *(tree.git_dir for tree in self.worktrees)):
            found.update(_ids(os.path.join(git_dir, "FETCH_HEAD")))
        for head in heads:
            for log in head.logs:
                found |= fetched(last_moves(log))
        return sorted(found)[:MOST_NAMED]

    def _that_were_pushed(self, ask: Ask) -> frozenset[str]:
        """Branches with an upstream that is not seen here: it was deleted there, or is not fetched."""
        settings: dict[str, dict[str, str]] = {}
        for entry in ask("config", "-z", "--get-regexp", r"^branch\..*\.(remote|merge)$", ok=(0, 1)).split("\0"):
            name, _, value = entry.partition("\n")
            branch, _, key = name.removeprefix("branch.").rpartition(".")
            settings.setdefault(branch, {})[key] = value
        pushed = set()
        for branch, setting in settings.items():
            remote, merge = setting.get("remote", "."), setting.get("merge", "")
            seen = f"{REMOTES}{remote}/{merge.removeprefix(HEADS)}"
            if remote != "." and merge and seen not in self.references.commits:
                pushed.add(branch)
        return frozenset(pushed)


def _only_in(heads: Sequence[Head], references: References) -> list[str]:
    """What tells git-rev-list(1) to list what no other place than these heads keeps."""
    own = {head.branch for head in heads}
    others = dict.fromkeys(references.commits[HEADS + name] for name in references.branches if name not in own)
    # git compares each branch with each exclusion, which for thousands takes longer than all the rest.
    if len(others) <= MOST_NAMED:
        keepers = [*others, *KEEPERS[1:]]
    else:
        keepers = [*(f"--exclude={branch}" for branch in own if branch), *KEEPERS]
    return [*dict.fromkeys(head.commit for head in heads), "--not", *keepers]


def _listed(ask: Ask, which: Sequence[str]) -> dict[str, Commit]:
    text = ask("rev-list", "--parents", "--timestamp", f"--max-count={MOST + 1}", *which, "--")
    lines = (line.split(" ") for line in text.split("\n")[:-1])
    try:
        return {commit: Commit(tuple(parents), epoch(when), epoch(when)) for when, commit, *parents in lines}
    except ValueError:
        raise UnknownError(UNCLEAR) from None


class _Own(NamedTuple):
    """A head, when it came to where it is, and the commits that count as its own."""

    head: Head
    moved: float
    commits: set[str]


def _divided(heads: Iterable[Head], commits: Mapping[str, Commit]) -> list[_Own]:
    """For each head the commits that count as its own: those that no other has had for longer (but branches come before
    a HEAD that is on none), and that no rebase copied.
    """
    own, taken = [], set[str]()
    dated = sorted(((not head.branch, head.moved, head.key), head) for head in heads)
    for (_, moved, _), head in dated:
        found = reach(head.commit, commits) - taken
        found -= reach(head.found, commits) if head.found else set()
        taken |= found
        found -= head.midway.copies if head.midway is not None else set()
        if found:
            own.append(_Own(head, moved, found))
    return own


def _by_age(own: Sequence[_Own], lost: Mapping[str, Commit]) -> list[list[_Own]]:
    """Those whose oldest commit was made in the month before the newest of all, and the others."""
    begun = [min(lost[commit].authored for commit in reach(each.head.commit, lost)) for each in own]
    border = max(lost[commit].authored for each in own for commit in each.commits) - MONTH
    young = [each for each, since in zip(own, begun, strict=True) if since >= border]
    old = [each for each, since in zip(own, begun, strict=True) if since < border]
    return [group for group in (young, old) if group]


def _left(own: Iterable[_Own], lost: Mapping[str, Commit], kept: Kept, pushed: frozenset[str]) -> Iterator[Stranded]:
    for each in own:
        rest = not_kept(each.commits, lost, kept.commits)
        was_pushed = each.head.branch in pushed
        # Its branch elsewhere was deleted, and one commit changed all that it did: a merge that was edited on the way.
        if rest and not (was_pushed and each.head.commit in kept.covered):
            yield _stranded(each, lost, rest, was_pushed=was_pushed)


def _stranded(
    own: _Own,
    commits: Mapping[str, Commit],
    found: Iterable[str],
    least: bool = False,
    was_pushed: bool = False,
    doubt: str = "",
) -> Stranded:
    times = [commits[commit].committed for commit in found]
    return Stranded(own.head, own.moved, len(times), max(times), least, was_pushed, doubt)


def _ids(path: str) -> list[str]:
    """The commits with which a file's lines begin (git-fetch(1), FETCH_HEAD; gitrepository-layout(5), shallow)."""
    lines = foreign.text(path, _LIMIT).split("\n")
    return [match[0] for line in lines if (match := re.match(_COMMIT, line))]
