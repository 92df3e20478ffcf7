"""The checks that ask git, with answers that are spoiled: each finds something, or says what it could not establish.

Whatever else a check raises is a mistake of its own; the engine would call it unknown, with nobody to mend it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from answers import Spoiling
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from worlds import copied

from gate.errors import SkipCheck, UnknownError
from gate.registry import load_registry
from gate.soundness import sound
from gate.testing import World

ASKING = (
    "stranded_work",
    "uncommitted_paths",
    "old_worktrees",
    "broken_repository",
    "tree_junk",
    "unfinished_operation",
)
DAY = 86400


class Full(World):
    """A repository that holds something for each of them."""

    def build(self) -> None:
        self.repository()
        for name in ("one", "two", "tmpclaude-12ab-cwd", "nul"):
            self.file(name, "text\n" * 5)
        self.commit("more")
        self.git("checkout", "--quiet", "-b", "claude/task")
        for number in (1, 2):
            self.file("work", "x\n" * number)
            self.commit("work")
        self.git("checkout", "--quiet", "main")
        self.file("elsewhere", "x\n")
        self.commit("other")
        self.worktree(".claude/worktrees/a", locked="claude session x (pid 4194303 start 1)")
        self.worktree("../apart", branch="worktree-old")
        self.file("one", "changed\n")
        self.git("stash", "--quiet")
        self.git("mv", "two", "renamed")
        self.file("odd\nname/file")
        head = self.git("rev-parse", "HEAD").strip()
        for name in ("sub", ".claude/worktrees/taken"):
            self.git("update-index", "--add", "--cacheinfo", f"160000,{head},{name}")
        self.git("update-ref", "refs/remotes/origin/main", "HEAD~1")
        self.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
        self.git("config", "branch.claude/task.remote", "origin")
        self.git("config", "branch.claude/task.merge", "refs/heads/gone")
        self.git("config", "core.hooksPath", "nohooks")
        (self.root / ".git/MERGE_HEAD").write_text(head + "\n")

    def commit(self, message: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Full:
    made = copied(tmp_path_factory.mktemp("test_any_answer") / "world", Full, Full.build)
    made.pass_time(10 * DAY)
    return made


@st.composite
def ways(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """How one answer is spoiled."""
    place, size = draw(st.floats(0, 1)), draw(st.integers(0, 12))
    other = draw(st.sampled_from([b"", b"\0", b"\n", b" ", b"\xff", b"9" * 30, b"\0\0"]) | st.binary(max_size=6))
    how = draw(st.sampled_from(("other", "cut", "cut", "lines", "twice", "replace", "replace", "replace")))

    def spoil(answer: bytes) -> bytes:
        begin = int(place * len(answer))
        if how == "replace":
            return answer[:begin] + other + answer[begin + size :]
        changed = {"other": other, "cut": answer[:begin], "lines": answer.replace(b"\0", b"\n"), "twice": answer * 2}
        return changed[how]

    return spoil


@pytest.mark.parametrize("name", ASKING)
def test_any_answer_is_understood_or_unknown(world: Full, name: str) -> None:
    check = next(each.check for each in load_registry().checks if each.check.name == name)
    git = Spoiling(world.environ, {})

    @settings(max_examples=60, suppress_health_check=list(HealthCheck))
    @given(st.dictionaries(st.integers(1, 12), ways(), min_size=1, max_size=4))
    def ask(spoil: dict[int, Callable[[bytes], bytes]]) -> None:
        git.spoil, git.number = spoil, 0
        try:
            for finding in check.run(replace(world.context(check), git=git)) or ():
                sound(finding)
        except (UnknownError, SkipCheck):
            pass

    git.number = 0
    assert list(check.run(replace(world.context(check), git=git)) or ()), "or there is nothing to be spoiled"
    ask()
