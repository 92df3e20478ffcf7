"""How to look at what was left of worktrees and their locks, and what clears it.

A command to look with changes nothing. What clears it is said in words, with those of git's commands that only take
back what git itself remembers: `git worktree unlock`, and `git worktree remove` of one whose directory is gone already.
Never `git worktree prune`: it takes every other one along that is not there at that moment, with its commits.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from gate.project import Project
from gate.quote import Phrase, ShellWord, say
from gate.world.leftovers import Hold, Leftover
from gate.world.locks import Lock
from gate.world.stashes import Stash
from gate.world.stranded import Stranded
from gate.world.worktrees import Worktree

_KEEP = say("it goes when what it holds is kept elsewhere, and then whoever knows what it was for removes it")
_EMPTY = say("it goes when it is removed as a worktree; its branch stays")
_UNKNOWN = say("it is known when all in it can be read in time: gate run old_worktrees takes more than a start")
_AWAY = say("it is looked at again when its disk or container is here")
_HELD = {
    Hold.PERSON: say("it is kept until whoever locked it unlocks it"),
    Hold.ALIVE: say("it is in use until its holder ends"),
    Hold.ELSEWHERE: say("whether it is in use is known where its holder runs"),
}


def worktree_remedy(leftover: Leftover, root: str) -> Phrase:
    """The remedy of a worktree that was left, in the repository at `root`."""
    return say("{} shows it; {}", _look(leftover, root), _cure(leftover))


def lock_remedy(lock: Lock, project: Project, worktrees: Sequence[Worktree], known: bool = True) -> Phrase:
    """The remedy of a lock; one that `git worktree lock` put on a worktree is lifted, not removed. Not `known`: whether
    it is held could not be told.
    """
    process = say(" and ps -p {} show", str(lock.holder.pid)) if lock.holder.pid else say(" shows")
    ask = say("" if known else "whoever owns it, or root, can tell whether it is held: gate run stale_locks; ")
    for tree in worktrees:
        if lock.path == os.path.join(os.path.realpath(tree.git_dir), "locked"):
            look = say("git -C {} worktree list --verbose{} it", ShellWord(project.root), process)
            text = "{}; {}once nobody works there, git worktree unlock {} clears it"
            return say(text, look, ask, ShellWord(tree.path))
    ends = say("git takes it away when it ends; " if lock.of_git else "")
    text = "ls -l {}{} it; {}{}once nobody holds it, it can be removed"
    return say(text, ShellWord(lock.path), process, ask, ends)


def gitlink_remedy(path: str) -> Phrase:
    """The remedy of an agent's worktree that stands in the index of the worktree at `path`; it itself stays."""
    cure = "it goes when it is out of the index and that is committed (.gitignore keeps it out)"
    return say("git -C {} ls-files --stage shows it; {}", ShellWord(path), say(cure))


def stranded_remedy(stranded: Stranded, directory: str) -> Phrase:
    """The remedy of commits that are found nowhere else, in the repository at `directory`."""
    one = stranded.total == 1
    text = "git -C {} log --oneline -{} {} shows {}; {} when pushed, merged, or on a branch that stays"
    number, commit = say(str(min(stranded.total, 20))), say(stranded.head.commit[:12])
    return say(text, ShellWord(directory), number, commit, *map(say, ("it", "it goes") if one else ("them", "they go")))


def stash_remedy(stashes: Sequence[Stash], directory: str) -> Phrase:
    """The remedy of stashes; they are named by their commits, because their numbers move on when another one comes."""
    where, cure = ShellWord(directory), "each goes when whoever put it there takes it back, or gives it up"
    text = "git -C {} stash list shows all, git -C {} stash show {} the newest by its commit; {}"
    return say(text, where, where, say(stashes[0].commit[:12]), say(cure))


def _look(leftover: Leftover, root: str) -> Phrase:
    if leftover.worktree is None:
        return say("ls -la {}", ShellWord(leftover.path))
    if leftover.worktree.missing:
        return say("git -C {} worktree list --verbose", ShellWord(root))
    return say("git -C {} status", ShellWord(leftover.path))


def _cure(leftover: Leftover) -> Phrase:
    life, tree = leftover.life, leftover.worktree
    if leftover.is_removable:
        return _EMPTY
    if life.idle is None:
        return _UNKNOWN
    if leftover.hold in _HELD:
        return _HELD[leftover.hold]
    unlock = say("")
    if leftover.hold is not Hold.NONE:
        text = "once nobody works there, git worktree unlock {} lifts the lock; then "
        unlock = say(text, ShellWord(leftover.path))
    if tree is None or not tree.missing:
        return say("{}{}", unlock, _KEEP)
    if leftover.away:
        return _AWAY
    keep = say("") if life.commits == 0 and not life.gaps else say("once its commits are on a branch that stays, ")
    forget = say("git worktree remove {} makes git forget it", ShellWord(leftover.path))
    return say("{}{}{}", unlock, keep, forget)
