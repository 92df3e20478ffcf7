"""Changes that are kept in another form: how git's answers are read, and what counts as the same change."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import copied

from gate.errors import UnknownError
from gate.testing import World
from gate.world import forms
from gate.world.forms import LOG, Ask, Commit, find_kept, not_kept, parse_log, parse_patch, reach
from gate.world.git import Git

A, B, C = "a" * 40, "b" * 40, "c" * 40
NAMES = [b"plain", b":100644 100644 a", b"new\nline", b"not-utf8-\xff", b' "quoted"', b"a b/c"]


class Pair(World):
    """The branch `lost` with a commit that puts files there, and `main` with another that puts the same ones there."""

    def build(self) -> None:
        self.repository()
        self.git("config", "core.fsync", "none")
        self.git("branch", "lost")
        for branch in ("lost", "main"):
            self.git("checkout", "--quiet", branch)
            self.git("commit", "--quiet", "--allow-empty", "--message", f"begin {branch}")
            for name in NAMES:
                self.file(name, name)
            self.git("add", "--all")
            self.git("commit", "--quiet", "--message", branch)

    @property
    def ask(self) -> Ask:
        return Ask(Git(self.environ), str(self.root), time.monotonic() + 20)

    def commit(self, name: str) -> str:
        return self.git("rev-parse", name).strip()

    def kept(self) -> frozenset[str]:
        head = self.commit("lost")
        lost = parse_log(self.ask(*LOG, "main..lost", "--"))
        return find_kept(self.ask, lost, [head], lambda since: [self.commit("main")]).commits


@pytest.fixture
def world(tmp_path: Path) -> Pair:
    return copied(tmp_path / "world", Pair, Pair.build)


def test_a_log_with_paths_of_any_bytes(world: Pair) -> None:
    log = parse_log(world.ask(*LOG, "lost", "--"))
    tip, begin, root = log.values()
    assert [commit.parents for commit in (begin, root)] == [(world.commit("lost~2"),), ()]
    assert {path.encode("utf-8", "surrogateescape") for path in tip.changes} == set(NAMES)
    assert begin.changes == {}
    assert list(root.changes) == ["README"], "the first commit has changes, too"
    before, after = tip.changes["plain"]
    assert (before, after) == (f"000000 {'0' * 40}", f"100644 {world.commit('lost:plain')}")


def test_copies_are_found_whatever_the_names_and_the_configuration(world: Pair) -> None:
    for name, value in (
        ("log.follow", "true"), ("log.showRoot", "false"), ("color.ui", "always"), ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"), ("diff.renames", "copies"), ("diff.submodule", "log"), ("log.date", "iso"),
        ("format.pretty", "fuller"), ("log.decorate", "full"), ("diff.external", "/no/where"), ("diff.context", "9"),
    ):  # fmt: skip
        world.git("config", name, value)
    assert world.kept() == {world.commit("lost"), world.commit("lost~1")}


def test_of_many_paths_none_is_named(world: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "MOST_PATHS", 2)
    assert world.commit("lost") in world.kept()


def test_the_same_lines_in_another_place_are_the_same_change(world: Pair) -> None:
    """And a limit on how many are compared leaves the commits counted."""
    begin = "".join(f"{number}\n" for number in range(40))
    for branch, text in (("lost", begin + "end\n"), ("main", "first\n" + begin)):
        world.git("checkout", "--quiet", "--detach", branch)
        world.file("plain", begin)
        world.git("commit", "--quiet", "--all", "--message", "begin")
        world.file("plain", text)
        world.git("commit", "--quiet", "--all", "--message", "before")
        world.file("plain", text.replace("20\n", "twenty\n"))
        world.git("commit", "--quiet", "--all", "--message", "twenty")
        world.git("branch", "--force", branch)
    assert world.commit("lost") in world.kept()
    assert world.commit("lost~1") not in world.kept()


@pytest.mark.parametrize("limit", ["MOST_LIKE_ONE", "MOST_PATCHES"])
def test_what_is_beyond_a_limit_is_not_kept(world: Pair, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    for branch, text in (("lost", "one\ntwo\n"), ("main", "other\nlines\n")):
        world.git("checkout", "--quiet", "--detach", branch)
        world.file("plain", text * 20)
        world.git("commit", "--quiet", "--all", "--message", "otherwise")
        world.file("plain", text * 20 + "end\n")
        world.git("commit", "--quiet", "--all", "--message", "end")
        world.git("branch", "--force", branch)
    assert world.commit("lost") in world.kept()
    monkeypatch.setattr(forms, limit, 0)
    assert world.commit("lost") not in world.kept()


def test_no_time_is_unknown(world: Pair) -> None:
    with pytest.raises(UnknownError):
        Ask(Git(world.environ), str(world.root), time.monotonic())("log")


def test_histories_with_nothing_in_common(world: Pair) -> None:
    world.git("checkout", "--quiet", "--orphan", "new")
    world.git("commit", "--quiet", "--allow-empty", "--message", "new")
    world.git("branch", "--force", "lost")
    world.file("plain", "otherwise")
    world.git("commit", "--quiet", "--all", "--message", "otherwise")
    world.git("branch", "--force", "lost")
    assert world.kept() == frozenset()


def test_what_a_commit_reaches() -> None:
    commits = {name: Commit(parents, 0.0, 0.0) for name, parents in ((A, (B, C)), (B, (C, "d" * 40)), (C, ()))}
    assert reach(A, commits) == {A, B, C}
    assert reach(B, commits) == {B, C}
    assert reach("d" * 40, commits) == set()


def test_merges_and_words_count_only_where_no_change_was_kept() -> None:
    change = {"a": ("old", "new")}
    lost = {A: Commit((B,), 0.0, 0.0, change), B: Commit((C,), 0.0, 0.0), C: Commit((), 0.0, 0.0, change)}
    assert not_kept({A, B, C}, lost, set()) == {A, B, C}
    assert not_kept({A, B, C}, lost, {A}) == {B, C}
    assert not_kept({A, B, C}, lost, {A, C}) == set()
    assert not_kept({B}, lost, {A, C}) == {B}


RAW = f"{A} {B} {C}\n20 10\0\n:100644 100755 {B} {C} M\0:a\0:100644 000000 {B} {C} D\0b\0{B} \n5 5\0"


def test_what_git_prints() -> None:
    assert parse_log(RAW) == {
        A: Commit((B, C), 20.0, 10.0, {":a": (f"100644 {B}", f"100755 {C}"), "b": (f"100644 {B}", f"000000 {C}")}),
        B: Commit((), 5.0, 5.0),
    }
    assert parse_log("") == {}


@pytest.mark.parametrize("end", [RAW.index("\n") + 3, RAW.index(":a") - 1, RAW.index("D")])
def test_an_answer_that_was_cut_off_is_unknown(end: int) -> None:
    with pytest.raises(UnknownError, match="could not be understood"):
        parse_log(RAW[:end])


@given(st.text(alphabet="\0\n: a1"))
def test_anything_else_is_unknown(text: str) -> None:
    with contextlib.suppress(UnknownError):
        parse_log(text)


PATCH = """diff --git a/x b/x
index 1111111..2222222 100644
--- a/x
+++ b/x
@@ -3 +3 @@ def f():
-old
+diff --git is no header here
@@ -9,0 +10,2 @@
+@@ -1 +1 @@ nor is this a place
+
diff --git a/y b/y
new file mode 100644
index 0000000..3333333
Binary files /dev/null and b/y differ
"""


def test_a_patch_is_what_it_takes_out_and_puts_in() -> None:
    assert parse_patch(PATCH) == {
        "a/x b/x": "--- a/x\n+++ b/x\n@@\n-old\n+diff --git is no header here\n@@\n+@@ -1 +1 @@ nor is this a place\n+",
        "a/y b/y": "new file mode 100644\nBinary files /dev/null and b/y differ",
    }
    assert parse_patch(PATCH) == parse_patch(PATCH.replace("@@ -3 +3 @@ def f():", "@@ -70,2 +80,2 @@"))
    assert parse_patch("") == {}
