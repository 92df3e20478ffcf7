"""What is broken in a repository, so that git does not work in it, or leaves something out without a word.

git's own answer decides: as long as it answers in a worktree, that one is not broken, whatever its files look like. Why
it does not is then looked up in them. Two things git does not say by itself: hooks that it does not find it does not
run, and a worktree that it cannot find it does not list.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gate.errors import UnknownError
from gate.finding import DEBT, NOTE, UNKNOWN
from gate.project import Project
from gate.quote import Phrase, ShellWord, say
from gate.world.child import UNCLEAR
from gate.world.git import Git
from gate.world.gitlinks import list_gitlinks
from gate.world.gitstatus import in_two_threads, plainly
from gate.world.hooks_path import HooksPath
from gate.world.index import name_bytes
from gate.world.lost_heads import lost_heads
from gate.world.pointers import UNLISTED, Misled, may_be_away, misled, read, strays, target_of
from gate.world.refusals import Refusal, explain, lost_place
from gate.world.worktrees import AGENT_ROOTS, Worktree, shown

_BARE = "true"
_UNSURE = "could not check whether git can work in the worktree {}: {}"
_ELSEWHERE = "what it leads to may be on a disk, or in a container, that is not here now; there it is in order"
REPAIR = (
    "git worktree repair, in the repository, writes anew what a worktree and its registration say of each other (one "
    "that was moved is named to it)"
)


class Fault(NamedTuple):
    """One thing that is broken. `text` says what; `look` is a command that shows it and changes nothing, `cure` says in
    words what mends it. `state` changes when the fault does; `changed` is when the file that is at fault was written,
    by the file system (None: there is none). Its `kind` is unknown where it could not be established, and note where
    it may be right elsewhere.
    """

    key: str
    name: str
    text: Phrase
    look: Phrase
    cure: str
    state: str = "broken"
    changed: float | None = None
    worktree: str | None = None
    details: tuple[Phrase, ...] = ()
    kind: str = DEBT


class Inspection(NamedTuple):
    """Looks for what is broken in a project's repository, until `deadline` (by `time.monotonic`); `environ` is where
    `~` leads.
    """

    git: Git
    project: Project
    worktrees: Sequence[Worktree]
    environ: Mapping[str, str]
    deadline: float

    def faults(self) -> Iterator[Fault]:
        """All that is broken, and what could not be looked at."""
        project, common = self.project, self.project.common_dir
        if project.broken:
            yield dot_git_fault(project.here, project.root, project.broken)
        if common is None:
            return
        faulty = dict(self._registrations(common))
        yield from faulty.values()
        # What git makes just now is not whole yet; where it was cut off, that is told of the worktree and its lock.
        made = [tree for tree in self.worktrees if not tree.missing and tree.locked != "initializing"]
        there = [tree for tree in made if tree.path not in faulty]
        answers, unasked = self._answers(common, there)
        yield from unasked
        for path, answer in answers.items():
            # What holds for all is said once, and of where one stands it may have been said already.
            if isinstance(answer, Fault) and answer.name == path and not (project.broken and path == project.here):
                yield answer
        usable = [tree for tree in there if not isinstance(answers.get(tree.path), Fault)]
        bare = [tree for tree in usable if answers.get(tree.path) == _BARE]
        if bare:
            yield self._bare(common, bare)
        yield from self._tried("HEAD", self._heads, usable)
        yield from self._tried("hooks", self._hooks, usable)
        yield from self._tried("submodules", self._submodules, [tree for tree in usable if tree not in bare])

    def _where(self, path: str, main: bool) -> Phrase:
        return say("in the main worktree" if main else "in the worktree {}", shown(path, self.project.root))

    def _ask(self, directory: str, *arguments: str, ok: Sequence[int] = (0,)) -> str:
        left = self.deadline - time.monotonic()
        return os.fsdecode(self.git.run(directory, *arguments, timeout=left, ok=ok))

    def _tried(
        self, what: str, look: Callable[[Sequence[Worktree]], Iterator[Fault]], trees: Sequence[Worktree]
    ) -> Iterator[Fault]:
        try:
            yield from look(trees) if trees else ()
        except UnknownError as error:
            key, root = f"{self.project.common_dir}\0{what}", self.project.root
            text = say("could not check whether {} can be used: {}", say(what), plainly(error))
            cure = error.cure or "gate run broken_repository takes more time than a start"
            yield Fault(key, root, text, _status(root), cure, kind=UNKNOWN)

    def _registrations(self, common: str) -> Iterator[tuple[str, Fault]]:
        """The linked worktrees that git cannot use, by their paths: those that it knows, and those that lie where
        agents keep theirs.
        """
        directory = os.path.join(common, "worktrees")
        configuration = os.fsdecode(_content(os.path.join(common, "config")))
        for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else ():
            registration = os.path.join(directory, name)
            try:
                found = misled(registration, common, name_bytes(configuration))
            except UnknownError as error:
                found = Misled(registration, plainly(error), known=False)
            if found is not None:
                yield found.path, self._misled(found, registration)
        known = {tree.path for tree in self.worktrees}
        for stray in strays(self.project.root, common, AGENT_ROOTS, known):
            if stray.path != self.project.here:  # of which it has been said
                yield stray.path, self._misled(stray, stray.path, unsure=NOTE)

    def _misled(self, found: Misled, registration: str, unsure: str = UNKNOWN) -> Fault:
        text = "git does not work in the worktree {}: {}" if found.known else _UNSURE
        if found.text is UNLISTED:
            text = "git does not know of one worktree, {}: {}"
        sides = sorted({registration, found.path})
        return Fault(
            key=f"{registration}\0registration",
            name=found.path,
            text=say(text, shown(found.path, self.project.root), found.text),
            look=say("ls -la {} shows it", say(" ".join(["{}"] * len(sides)), *map(ShellWord, sides))),
            cure=found.cure if found.known else _ELSEWHERE,
            state=str(found.text),
            worktree=found.path if found.path != registration else None,
            kind=DEBT if found.known else unsure,
        )

    def _answers(self, common: str, trees: Sequence[Worktree]) -> tuple[dict[str, str | Fault], list[Fault]]:
        """For each worktree whether git takes it for bare, or why git does not work there; one in which it surely does
        is not asked. (Linked ones see what the shared configuration says of that only with extensions.worktreeConfig.)
        And that some could not be asked.
        """
        main = next((tree for tree in trees if tree.main), None)
        linked = [tree for tree in trees if not tree.main]
        first = self._answer(main.path if main else common, common)
        answers = {main.path if main else common: first}
        if isinstance(first, Fault) and linked and isinstance(self._answer(linked[0].path, linked[0].git_dir), Fault):
            return answers | dict.fromkeys((tree.path for tree in linked), first), []
        if b"worktreeconfig" in _content(os.path.join(common, "config")).lower():
            found = in_two_threads(lambda tree: self._answer(tree.path, tree.git_dir), linked)
            late = [answer for answer in found if isinstance(answer, Fault) and answer.kind == UNKNOWN]
            answers.update(zip((tree.path for tree in linked), found, strict=True))
            if len(late) > 1:
                names = [shown(fault.name, self.project.root) for fault in late]
                text = say("could not check whether git can work in {} linked worktrees: {}", len(late), names)
                answers |= {fault.name: fault._replace(name="") for fault in late}  # said once, for all
                return answers, [late[0]._replace(key=f"{common}\0unasked", text=text, worktree=None)]
        return answers, []

    def _answer(self, path: str, git_dir: str) -> str | Fault:
        # A bare repository is named outright: a user's safe.bareRepository would have git refuse to find it.
        named = ("--git-dir=.",) if path == git_dir else ()
        common = self.project.common_dir or git_dir
        try:
            answer = self._ask(path, *named, "rev-parse", "--is-bare-repository", "--is-inside-work-tree").split()
            if len(answer) != 2:
                raise UnknownError(UNCLEAR)
        except UnknownError as error:
            return self._refused(path, git_dir, explain(error, git_dir, common, path))
        bare, inside = answer
        # git answers this as long as it needs no work tree, wherever an absolute core.worktree leads.
        refusal = lost_place(git_dir, common) if (bare, inside) == ("false", "false") and path != git_dir else None
        return bare if refusal is None else self._refused(path, git_dir, refusal)

    def _refused(self, path: str, git_dir: str, refusal: Refusal) -> Fault:
        is_main = path in (self.project.root, self.project.common_dir)
        where = self._where(path, is_main) if path != git_dir else say("in the repository")
        text = "git does not work {}: {}" if refusal.known else "could not check whether git can work {}: {}"
        return Fault(
            key=f"{git_dir}\0git",
            name=path,
            text=say(text, where, refusal.text),
            look=_status(path),
            cure=refusal.cure,
            state=str(refusal.text),
            changed=_changed(refusal.file),
            worktree=None if is_main else path,
            kind=DEBT if refusal.known else UNKNOWN,
        )

    def _bare(self, common: str, trees: Sequence[Worktree]) -> Fault:
        names = [self._where(tree.path, tree.main) for tree in trees]
        text = say("core.bare is true, though there is a work tree: git can show and commit nothing {}", names)
        look = say("git -C {} config --show-origin --get-all core.bare shows it", ShellWord(trees[0].path))
        cure = "git works there again once core.bare is false; only a repository without a work tree is bare"
        changed = _changed(os.path.join(common, "config"))
        return Fault(f"{common}\0core.bare", trees[0].path, text, look, cure, str(len(trees)), changed)

    def _heads(self, trees: Sequence[Worktree]) -> Iterator[Fault]:
        for tree, why in lost_heads(self._ask, self.project.common_dir or "", trees):
            text = say("HEAD {} leads nowhere: {}", self._where(tree.path, tree.main), why)
            cure = "it is in order once it leads to a commit; logs/HEAD, in git's directory of it, has those before"
            key, state = f"{tree.git_dir}\0HEAD", str(why)
            yield Fault(key, tree.path, text, _status(tree.path), cure, state, worktree=tree.path)

    def _hooks(self, trees: Sequence[Worktree]) -> Iterator[Fault]:
        common = self.project.common_dir or ""
        for found in HooksPath(common, self.environ, self._ask).dangling(trees):
            over = say(", nor those of its own: {}", found.passed_over) if found.passed_over else say("")
            where = say("may be elsewhere" if found.away else "is not there")
            yield Fault(
                key=f"{common}\0core.hooksPath",
                name="core.hooksPath",
                text=say("core.hooksPath leads to {}, which {}: git runs no hook{}", found.place, where, over),
                look=say("git -C {} config --show-origin --get-all core.hooksPath shows it", ShellWord(trees[0].path)),
                cure="hooks run again once it leads to them, or is unset; /dev/null says that there are to be none",
                state=found.value,
                changed=_changed(os.path.join(common, "config")),
                kind=NOTE if found.away else DEBT,
            )

    def _submodules(self, trees: Sequence[Worktree]) -> Iterator[Fault]:
        """Submodules that are checked out, and whose `.git` leads nowhere."""
        for tree in trees:
            if not os.path.lexists(os.path.join(tree.path, ".gitmodules")):
                continue
            for name in list_gitlinks(self.git, tree.path, tree.git_dir, self.deadline):
                path = os.path.join(tree.path, name)
                project = self.git.project(path)
                if project.broken:
                    yield dot_git_fault(path, self.project.root, project.broken, tree.path)


def dot_git_fault(path: str, root: str, broken: str, worktree: str | None = None) -> Fault:
    """The fault of a directory whose `.git` leads to no repository, for a reason that `broken` says; in `worktree`."""
    dot_git = os.path.join(path, ".git")
    try:
        target = "" if os.path.isdir(dot_git) else target_of(dot_git)
    except UnknownError:
        target = ""
    where = say("here" if path == root else "in {}", shown(path, root))
    away = bool(target) and not os.path.isdir(target) and may_be_away(target)
    why = say("{}{}", plainly(broken), say(" ({})", target) if target else say(""))
    cure = "it works again once .git leads to its repository; the files beside it are as they were"
    if os.path.isdir(dot_git):
        cure = "it works again once that is back, from a copy or a clone; where HEAD was is in .git/logs/HEAD"
    return Fault(
        key=f"{path}\0.git",
        name=path,
        text=say("could not check whether git can work {}: {}" if away else "git does not work {}: {}", where, why),
        look=say("ls -la {} shows it", ShellWord(dot_git if os.path.isdir(dot_git) else path)),
        cure=_ELSEWHERE if away else cure,
        state=target or broken,
        worktree=worktree or (None if path == root else path),
        kind=UNKNOWN if away else DEBT,
    )


def _status(path: str) -> Phrase:
    return say("git -C {} status shows it", ShellWord(path))


def _content(path: str) -> bytes:
    try:
        return read(path, 1 << 20) or b""
    except UnknownError:
        return b""


def _changed(path: str) -> float | None:
    try:
        return os.lstat(path).st_ctime if path else None
    except OSError:
        return None
