"""The contract's row for STRANDED, on real repositories: what would be lost, and what is kept elsewhere in any form."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from forge import Forge, lost


class Branches(Forge):
    """Many branches of agents' making, each with a history of its own; what is said of all of them together."""

    def build(self) -> None:
        super().build()
        self.place = self.directory / "scratch"
        self.git("worktree", "add", "--quiet", "--detach", str(self.place))
        for how in (*KEPT, *LOST):
            how(self, self.name(how))
        self.git("checkout", "--quiet", "--detach", "main", cwd=self.place)
        self.git("fetch", "--quiet", "--prune", "origin")
        (self.root / ".git/FETCH_HEAD").unlink()  # it names all of them, and the next fetch of one branch takes it away

    @staticmethod
    def name(how: Callable[[Branches, str], None]) -> str:
        return "claude/" + how.__name__

    def two(self, name: str) -> None:
        """A branch with two commits, each with a file."""
        who, told = f"committer A Person <person@example.org> {int(time.time())} +0000\n", ["feature done\n"]
        for number, file in enumerate(("one", "two")):
            begin = "from refs/heads/main^0\n" if number == 0 else ""
            told.append(f"commit refs/heads/{name}\n{who}data 4\n{file}\n{begin}")
            told.append(f"M 644 inline {name.partition('/')[2]}.{file}\ndata 5\ntext\n\n")
        stream = "".join([*told, "done\n"]).encode()
        subprocess.run(["git", "fast-import", "--quiet"], input=stream, cwd=self.root, env=self.environ, check=True)

    def check_out(self, name: str) -> None:
        """In the scratch worktree; made from the main branch where it is not there."""
        is_there = (self.root / ".git/refs/heads" / name).exists()
        self.git("checkout", "--quiet", *([name] if is_there else ["-b", name, "main"]), cwd=self.place)

    def push(self, *arguments: str) -> None:
        self.git("push", "--quiet", *arguments)


def without_commits(r: Branches, name: str) -> None:
    r.git("branch", name)


def pushed(r: Branches, name: str) -> None:
    r.two(name)
    r.push("origin", name)


def pushed_under_another_name(r: Branches, name: str) -> None:
    r.two(name)
    r.push("origin", f"{name}:refs/heads/review/1")


def fast_forwarded(r: Branches, name: str) -> None:
    r.two(name)
    r.git("merge", "--quiet", "--ff-only", name)


def merged(r: Branches, name: str) -> None:
    r.two(name)
    r.work("beside-merged", place=r.root)
    r.git("merge", "--quiet", "--no-ff", "--message", "merge", name)


def tagged(r: Branches, name: str) -> None:
    r.two(name)
    r.git("tag", "v1", name)


def on_a_persons_branch(r: Branches, name: str) -> None:
    r.two(name)
    r.git("branch", "backup", name)


def kept_by_jujutsu(r: Branches, name: str) -> None:
    r.two(name)
    r.git("update-ref", f"refs/jj/keep/{'a' * 40}", name)


def kept_by_branchless(r: Branches, name: str) -> None:
    r.two(name)
    r.git("update-ref", f"refs/branchless/{'a' * 40}", name)


def squashed(r: Branches, name: str) -> None:
    r.two(name)
    r.git("merge", "--quiet", "--squash", name)
    r.git("commit", "--quiet", "--message", "squashed")


def squashed_and_changed_since(r: Branches, name: str) -> None:
    squashed(r, name)
    r.work("squashed_and_changed_since.two", place=r.root, text="otherwise\n")


def squashed_and_reverted(r: Branches, name: str) -> None:
    squashed(r, name)
    r.git("revert", "--no-edit", "HEAD")


def squashed_beside_another_change(r: Branches, name: str) -> None:
    """Of the same file, in between: its content is nowhere as the branch has it."""
    r.check_out(name)
    r.edit(20, "by the agent", r.place)
    r.edit(21, "by the agent too", r.place)
    r.edit(2, "by a person", r.root)
    squashed_as_it_is(r, name)


def squashed_as_it_is(r: Branches, name: str) -> None:
    r.git("merge", "--quiet", "--squash", name)
    r.git("commit", "--quiet", "--message", "squashed")


def squashed_without_what_came_and_went(r: Branches, name: str) -> None:
    r.two(name)
    r.check_out(name)
    r.work("only-for-a-while", place=r.place)
    r.git("rm", "--quiet", "only-for-a-while", cwd=r.place)
    (r.place / "binary.at-last").write_bytes(b"\0")
    r.git("add", "--all", cwd=r.place)
    r.git("commit", "--quiet", "--message", "away again", cwd=r.place)
    r.git("merge", "--quiet", "--squash", name)
    r.git("commit", "--quiet", "--message", "squashed")


def taken_over_file_by_file(r: Branches, name: str) -> None:
    r.check_out(name)
    for file in ("by-file.one", "by-file.two"):
        (r.place / file).write_text("text\n")
    r.git("add", "--all", cwd=r.place)
    r.git("commit", "--quiet", "--message", "both", cwd=r.place)
    r.work("by-file.two", "by-file.one", place=r.root)


def squashed_at_the_remote_alone(r: Branches, name: str) -> None:
    """As forges do it; and `origin/HEAD` is not known here."""
    squashed(r, name)
    r.push("origin", "main")
    r.git("reset", "--quiet", "--hard", "HEAD~1")
    r.work("after-the-squash", place=r.root)


def brought_up_to_date_and_squashed(r: Branches, name: str) -> None:
    r.two(name)
    r.check_out(name)
    r.work("meanwhile", place=r.root)
    r.git("merge", "--quiet", "--message", "up to date", "main", cwd=r.place)
    r.work("brought_up_to_date_and_squashed.three", place=r.place)
    squashed_as_it_is(r, name)


def squashed_edited_and_deleted_there(r: Branches, name: str) -> None:
    """A person changed it in the merge, and the forge deleted the branch: its changes are nowhere as they were."""
    r.two(name)
    r.push("--set-upstream", "origin", name)
    r.git("merge", "--quiet", "--squash", name)
    (r.root / "squashed_edited_and_deleted_there.two").write_text("as the review had it\n")
    r.git("commit", "--quiet", "--all", "--message", "squashed")
    r.push("origin", f":{name}")


def cherry_picked(r: Branches, name: str) -> None:
    r.two(name)
    r.edit(25, "by a person", r.root)
    r.git("cherry-pick", f"{name}~1", name)
    r.work("cherry_picked.one", place=r.root, text="changed since\n")


def cherry_picked_beside_another_change(r: Branches, name: str) -> None:
    r.check_out(name)
    r.edit(10, "picked", r.place)
    r.edit(28, "by a person, meanwhile", r.root)
    r.git("cherry-pick", name)
    r.edit(10, "picked, and changed since", r.root)


def cherry_picked_onto_another_branch(r: Branches, name: str) -> None:
    r.two(name)
    r.git("checkout", "--quiet", "-b", "release/1", "main", cwd=r.place)
    r.git("cherry-pick", f"{name}~1", name, cwd=r.place)


def rebased_at_the_remote(r: Branches, name: str) -> None:
    r.two(name)
    r.work("rebased-onto", place=r.root)
    r.git("checkout", "--quiet", "--detach", "main", cwd=r.place)
    r.git("cherry-pick", f"{name}~1", name, cwd=r.place)
    r.git("push", "--quiet", "origin", f"HEAD:refs/heads/{name}", cwd=r.place)


def picked_with_its_merges_left_out(r: Branches, name: str) -> None:
    r.check_out(name)
    r.work("left-out.one", place=r.place)
    r.work("meanwhile-too", place=r.root)
    r.git("merge", "--quiet", "--message", "up to date", "main", cwd=r.place)
    r.git("cherry-pick", f"{name}~1")
    r.work("left-out.one", place=r.root, text="changed since\n")


def fetched_from_a_fork(r: Branches, name: str) -> None:
    """`gh pr checkout` of a fork fetches straight into a branch."""
    fork = r.directory / "fork.git"
    r.git("clone", "--quiet", "--bare", str(r.remote), str(fork))
    r.two(name)
    r.push(str(fork), name)
    r.git("branch", "--quiet", "--delete", "--force", name)
    r.git("fetch", "--quiet", str(fork), f"refs/heads/{name}:{name}")


def begun_from_a_branch_that_was_pruned(r: Branches, name: str) -> None:
    r.two(name)
    r.push("origin", name)
    r.git("branch", "--quiet", "--delete", "--force", name)
    r.git("branch", "--no-track", name, f"origin/{name}")
    r.push("origin", f":{name}")


KEPT = [
    without_commits, fast_forwarded, pushed, pushed_under_another_name, merged, tagged, on_a_persons_branch,
    kept_by_jujutsu, kept_by_branchless, squashed, squashed_and_changed_since, squashed_and_reverted,
    squashed_beside_another_change, squashed_without_what_came_and_went, taken_over_file_by_file,
    squashed_at_the_remote_alone, brought_up_to_date_and_squashed,
    squashed_edited_and_deleted_there, cherry_picked, cherry_picked_beside_another_change,
    cherry_picked_onto_another_branch, rebased_at_the_remote, picked_with_its_merges_left_out, fetched_from_a_fork,
    begun_from_a_branch_that_was_pruned,
]  # fmt: skip


def two_commits(r: Branches, name: str) -> None:
    r.two(name)


def one_of_two_pushed(r: Branches, name: str) -> None:
    r.two(name)
    r.push("origin", f"{name}~1:refs/heads/{name}")


def one_of_two_cherry_picked(r: Branches, name: str) -> None:
    r.two(name)
    r.git("cherry-pick", f"{name}~1")
    r.work("one_of_two_cherry_picked.one", place=r.root, text="changed since\n")


def one_commit_after_the_squash(r: Branches, name: str) -> None:
    squashed(r, name)
    r.check_out(name)
    r.work("one_commit_after_the_squash.three", place=r.place)


def nothing_but_words(r: Branches, name: str) -> None:
    r.check_out(name)
    r.git("commit", "--quiet", "--allow-empty", "--message", "an idea", cwd=r.place)


def a_revert_of_what_was_there(r: Branches, name: str) -> None:
    """It brings back a content that the main branch once had: that is no copy of it."""
    r.work("reverted", place=r.root, text="once\n")
    r.work("beside-reverted", place=r.root)
    r.work("reverted", place=r.root, text="and now\n")
    r.check_out(name)
    r.work("reverted", place=r.place, text="once\n")


def the_same_paths_otherwise(r: Branches, name: str) -> None:
    r.two(name)
    for path in ("the_same_paths_otherwise.one", "the_same_paths_otherwise.two"):
        (r.root / path).write_text("a person's own\n")
    r.git("add", "--all")
    r.git("commit", "--quiet", "--message", "a person's own")


def binary(r: Branches, place: Path, content: bytes, file: str) -> None:
    (place / file).write_bytes(b"\0" + content)
    r.git("add", "--all", cwd=place)
    r.git("commit", "--quiet", "--message", "binary", cwd=place)


def one_of_two_binary_files_cherry_picked(r: Branches, name: str) -> None:
    """Of a binary file no lines tell."""
    r.check_out(name)
    binary(r, r.place, b"agent", "picked.one")
    binary(r, r.place, b"agent", "picked.two")
    r.work("beside-picked", place=r.root)
    r.git("cherry-pick", f"{name}~1")


def other_bytes_in_a_new_binary_file(r: Branches, name: str) -> None:
    r.check_out(name)
    binary(r, r.place, b"agent", "binary.new")
    binary(r, r.root, b"person", "binary.new")


def other_bytes_in_a_binary_file(r: Branches, name: str) -> None:
    binary(r, r.root, b"", "binary.old")
    r.check_out(name)
    binary(r, r.place, b"agent", "binary.old")
    binary(r, r.root, b"person", "binary.old")


def deleted_at_the_remote_and_never_merged(r: Branches, name: str) -> None:
    """What the main branch changed in the same file before it began is no merge of it."""
    r.check_out(name)
    then = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 1800))
    r.environ["GIT_COMMITTER_DATE"] = then
    r.work("deleted_at_the_remote", place=r.root, text="a person's\n")
    del r.environ["GIT_COMMITTER_DATE"]
    r.work("deleted_at_the_remote", place=r.place)
    r.push("--set-upstream", "origin", name)
    r.push("origin", f":{name}")


def in_the_stash_alone(r: Branches, name: str) -> None:
    """A stash keeps what it was made on; nobody would look for it there."""
    r.two(name)
    r.check_out(name)
    (r.place / "README").write_text("half done\n")
    r.git("stash", "--quiet", cwd=r.place)


LOST = {
    two_commits: 2,
    one_of_two_pushed: 1,
    one_of_two_cherry_picked: 1,
    one_commit_after_the_squash: 1,
    nothing_but_words: 1,
    a_revert_of_what_was_there: 1,
    the_same_paths_otherwise: 2,
    one_of_two_binary_files_cherry_picked: 1,
    other_bytes_in_a_new_binary_file: 1,
    other_bytes_in_a_binary_file: 1,
    deleted_at_the_remote_and_never_merged: 1,
    in_the_stash_alone: 2,
}


def of(how: Callable[[Branches, str], None], branches: list[str]) -> list[str]:
    return [text for text in branches if Branches.name(how) in text.split()]


def test_work_that_is_nowhere_else_is_debt_and_what_is_kept_is_not(tmp_path: Path) -> None:
    world = Branches(tmp_path)
    world.build()
    *commits, stash = sorted(world.found(), key=lambda text: "stash" in text)
    assert {how.__name__: of(how, commits) for how in KEPT} == {how.__name__: [] for how in KEPT}
    assert {how.__name__: of(how, commits) for how in LOST} == {
        how.__name__: [lost(count, Branches.name(how))] for how, count in LOST.items()
    }
    assert len(commits) == len(LOST)
    assert re.fullmatch(r'1 stash: "[0-9a-f]{7} two" \(on claude/in_the_stash_alone\)', stash)
