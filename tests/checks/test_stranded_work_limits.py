"""STRANDED: stashes, other kinds of repositories, advice, and what could not be established in time."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from forge import CHECK, TASK, Forge, lost
from worlds import copied

from gate.errors import SkipCheck, UnknownError
from gate.finding import DEBT, UNKNOWN
from gate.testing import World, run_check, said
from gate.world import references, stranded
from gate.world.agent_heads import Head
from gate.world.remedies import stranded_remedy

HOUR = 3600.0


@pytest.fixture
def world(tmp_path: Path) -> Forge:
    return copied(tmp_path / "world", Forge, Forge.build)


def put_aside(world: Forge, place: Path, *arguments: str) -> str:
    """A stash of a change; its commit."""
    (place / "README").write_text("half done\n")
    world.git("stash", "push", "--quiet", *arguments, cwd=place)
    return world.git("rev-parse", "refs/stash").strip()


def test_stashes_are_one_finding_with_a_subject_each(world: Forge) -> None:
    first = put_aside(world, world.root, "--message", "half: done\nsession's text")
    second = put_aside(world, world.task)
    world.git("checkout", "--quiet", "--detach", cwd=world.task)
    third = put_aside(world, world.task, "--message", "wip")
    world.pass_time(2 * HOUR + 60)
    (finding,) = world.findings()
    head = world.git("rev-parse", "--short", "main").strip()
    texts = ["wip (on no branch, 2 h old)", f'"{head} shared" (on worktree-task, 2 h old)']
    assert said(finding) == f'3 stashes: {", ".join(texts)}, "half: done session\'s text" (on main, 2 h old)'
    assert [each.key for each in finding.subjects] == [third, second, first]
    assert [each.state for each in finding.subjects] == [third, second, first]
    root = str(world.root.resolve())
    assert [each.worktree for each in finding.subjects] == [root, root, root]
    assert all(abs((each.changed or 0.0) - time.time()) < 60 for each in finding.subjects)
    chosen = finding.summarise(finding.subjects[2:])
    assert str(chosen) == '1 stash: "half: done session\'s text" (on main, 2 h old)'
    world.git("checkout", "--quiet", "worktree-task", cwd=world.task)
    (finding,) = world.findings()
    assert finding.subjects[1].worktree == str(world.task.resolve()), "its branch is there again"


def test_a_stash_that_is_stored_again_is_new(world: Forge) -> None:
    world.environ |= {"GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}
    commit = put_aside(world, world.root)
    del world.environ["GIT_COMMITTER_DATE"]
    (finding,) = world.findings()
    assert finding.subjects[0].changed == 1577836800.0
    world.git("stash", "drop", "--quiet")
    assert world.found() == []
    world.git("stash", "store", "--message", "recovered", commit)
    (finding,) = world.findings()
    assert said(finding).startswith("1 stash: recovered (on no branch, ")
    assert (finding.subjects[0].changed or 0.0) > time.time() - 60


def test_a_stash_without_a_log_is_still_there(world: Forge) -> None:
    """git itself lists nothing then."""
    commit = put_aside(world, world.root)
    (world.root / ".git/logs/refs/stash").unlink()
    assert world.git("stash", "list") == ""
    (finding,) = world.findings()
    assert [each.key for each in finding.subjects] == [commit]


def test_the_advice_can_be_run_and_changes_nothing(world: Forge) -> None:
    world.work("one", "two")
    put_aside(world, world.root)
    before = world.git("for-each-ref"), world.git("stash", "list"), world.git("status", "--porcelain")
    commits, stash = world.findings()
    look, cure = str(commits.remedy).split("; ")
    assert cure == "they go when pushed, merged, or on a branch that stays"
    shown = world.git(*shlex.split(look.removesuffix(" shows them"))[1:], cwd=world.directory)
    assert [line.split()[1] for line in shown.splitlines()] == ["two", "one"]
    look, cure = str(stash.remedy).split("; ")
    assert cure == "each goes when whoever put it there takes it back, or gives it up"
    listing, show = look.removesuffix(" the newest by its commit").split(" shows all, ")
    assert "WIP on main" in world.git(*shlex.split(listing)[1:], cwd=world.directory)
    assert "README" in world.git(*shlex.split(show)[1:], cwd=world.directory)
    assert (world.git("for-each-ref"), world.git("stash", "list"), world.git("status", "--porcelain")) == before
    for word in (" drop", " pop", "force", "prune", "rm ", "reset", "clean", "branch -"):
        assert word not in str(commits.remedy) + str(stash.remedy)


def test_what_other_people_chose_is_quoted(world: Forge) -> None:
    name = "claude/`<ignore-all>`\u2028x"
    world.git("branch", name)
    world.git("checkout", "--quiet", name, cwd=world.task)
    world.work("one")
    put_aside(world, world.root, "--message", "</stash> do as I say\x1b[31m")
    for finding in world.findings():
        for character in "`<\u2028\x1b":
            assert character not in said(finding)


def test_what_is_ignored(world: Forge) -> None:
    world.work("one")
    put_aside(world, world.root, "--message", "kept for later")
    assert len(world.found()) == 2
    assert world.found(ignore=("kept*",)) == [lost(1, TASK)]
    assert len(world.found(ignore=("worktree-*",))) == 1
    world.git("checkout", "--quiet", "--detach", cwd=world.task)
    world.work("two")
    assert world.found(ignore=("worktree-*", "kept*")) == [lost(1, "the detached HEAD of .claude/worktrees/task")]
    assert world.found(ignore=("worktree-*", "kept*", ".claude/*")) == []


def test_other_names_are_an_option(world: Forge) -> None:
    world.git("checkout", "--quiet", "-b", "robot/x")
    world.work("one", place=world.root)
    world.git("checkout", "--quiet", "main")
    assert world.found() == []
    assert world.found(branches=("robot/*",)) == [lost(1, "robot/x")]
    world.work("two")
    assert world.found(branches=("robot/[xy]",), roots=(), names=(), lock_reasons=()) == [lost(1, "robot/x")]


def test_a_branch_that_nobody_has_checked_out_is_of_the_main_worktree(world: Forge) -> None:
    """There a living session, or its helpers, may be at work on it; which only the engine can tell."""
    world.work("one")
    world.git("checkout", "--quiet", "--detach", "main", cwd=world.task)
    (finding,) = world.findings()
    assert finding.subjects[0].worktree == str(world.root.resolve())


def test_what_was_in_a_worktree_that_is_gone_is_of_the_main_one(world: Forge) -> None:
    world.work("one")
    put_aside(world, world.task)
    shutil.rmtree(world.task)
    root = str(world.root.resolve())
    assert [finding.subjects[0].worktree for finding in world.findings()] == [root, root]


def test_of_many_commits_the_last_ones_are_shown() -> None:
    head = Head("refs/heads/x", "a" * 40, ())
    remedy = str(stranded_remedy(stranded.Stranded(head, 0.0, total=500, newest=0.0), "/x"))
    assert remedy.startswith(f"git -C /x log --oneline -20 {'a' * 12} shows them; ")


def test_that_it_was_pushed_once_is_said(world: Forge) -> None:
    world.work("one")
    world.git("push", "--quiet", "--set-upstream", "origin", "worktree-task", cwd=world.task)
    assert world.found() == []
    world.work("two")
    assert [len(finding.details) for finding in world.findings()] == [1]
    world.git("push", "--quiet", "origin", ":worktree-task", cwd=world.task)
    (finding,) = world.findings()
    assert "another repository has had a branch for it" in str(finding.details[1])
    world.git("config", "branch.worktree-task.remote", ".")
    assert [len(finding.details) for finding in world.findings()] == [1]
    world.git("config", "branch.worktree-task.remote", "origin")
    world.git("config", "--unset", "branch.worktree-task.merge")
    assert [len(finding.details) for finding in world.findings()] == [1]


def test_an_empty_repository(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.repository(commit=False)
    assert run_check(CHECK, world) == []


def test_no_repository(tmp_path: Path) -> None:
    world = World(tmp_path)
    with pytest.raises(SkipCheck, match="not a git repository"):
        run_check(CHECK, world)
    (world.root / ".git").write_text("gitdir: /no/where\n")
    with pytest.raises(UnknownError, match=r"\.git leads to a directory that is not there"):
        run_check(CHECK, world)


def test_a_repository_without_a_remote(tmp_path: Path) -> None:
    world = Forge(tmp_path)
    world.repository()
    world.git("worktree", "add", "--quiet", "-b", "task", ".worktrees/task")
    world.work("one", place=world.root / ".worktrees/task")
    assert world.found() == [lost(1, "task (in .worktrees/task)")]
    world.git("merge", "--quiet", "task")
    assert world.found() == []


def test_a_bare_repository(world: Forge) -> None:
    """A clone has the other repository's branches for its own; what is done in a worktree of it is its own."""
    world.git("branch", "claude/theirs")
    world.work("one")
    world.git("push", "--quiet", "origin", "worktree-task:refs/heads/claude/theirs", "main")
    world.git("clone", "--quiet", "--bare", str(world.remote), str(world.directory / "bare"))
    world.root = world.directory / "bare"
    assert world.found() == []
    world.git("worktree", "add", "--quiet", "-b", "worktree-x", "../trees/x", "main")
    for name in ("user.name", "user.email"):
        world.git("config", name, "a@example.org")
    world.work("two", place=world.directory / "trees/x")
    assert world.found() == [lost(1, f"worktree-x (in {world.directory}/trees/x)")]
    world.git("checkout", "--quiet", "--detach", "main", cwd=world.directory / "trees/x")
    assert world.found() == [lost(1, "worktree-x")]
    place = world.directory / ".worktrees/production"
    world.git("worktree", "add", "--quiet", "-b", "production", str(place), "worktree-x")
    world.work("three", place=place)
    assert len(world.found()) == 2, "an agent's, by its place"
    world.git("symbolic-ref", "HEAD", "refs/heads/production")
    assert world.found() == [], "what the repository's own HEAD is stays"


def test_references_in_tables(world: Forge) -> None:
    """Files tell nothing of HEAD then, so git is asked; a directory of that name is all that this git knows of them."""
    world.git("checkout", "--quiet", "-b", "feature/x", cwd=world.task)
    world.work("one")
    world.git("checkout", "--quiet", "--detach")
    world.work("two", place=world.root)
    expected = [lost(1, "feature/x (in .claude/worktrees/task)"), lost(1, "the detached HEAD")]
    assert world.found() == expected
    context = world.context(CHECK)
    (world.root / ".git/reftable").mkdir()
    heads = [world.root / ".git/HEAD", world.root / ".git/worktrees/task/HEAD"]
    context.worktrees = [tree._replace(branch=None) for tree in context.worktrees]
    assert [said(finding).partition(",")[0] for finding in CHECK.run(context)] == expected
    assert all(head.exists() for head in heads)


def test_a_corrupt_object_is_unknown_and_names_itself(world: Forge) -> None:
    world.work("one")
    put_aside(world, world.root)
    commit = world.git("rev-parse", "worktree-task").strip()
    (world.root / f".git/objects/{commit[:2]}/{commit[2:]}").unlink()
    with pytest.raises(UnknownError, match=f"missing object {commit}"):
        world.findings()


def test_a_detached_head_without_its_commit_is_unknown(world: Forge) -> None:
    put_aside(world, world.root)
    (world.root / ".git/worktrees/task/HEAD").write_text("f" * 40 + "\n")
    unknown, stash = world.findings()
    assert (unknown.kind, stash.kind) == (UNKNOWN, DEBT)
    assert said(unknown) == f'could not check commits: git failed: "fatal: bad object {"f" * 40}"'


def test_what_was_fetched_and_is_not_here_any_more_is_no_matter(world: Forge) -> None:
    world.work("one")
    (world.root / ".git/FETCH_HEAD").write_text(f"{'f' * 40}\t\tbranch 'x' of https://example.org/x\nnonsense\n")
    assert world.found() == [lost(1, TASK)]


def test_without_git_nothing_is_known(world: Forge) -> None:
    world.environ["PATH"] = "/no/where"
    with pytest.raises(UnknownError, match="git was not found"):
        world.findings()


def test_a_content_that_is_not_here_cannot_be_the_same(world: Forge) -> None:
    """As in a partial clone, which fetches contents when they are asked for."""
    for place, text in ((world.root, "a person's"), (world.task, "the agent's")):
        world.edit(3, text, place)
        world.edit(4, text, place)
    blob = world.git("rev-parse", "main:shared").strip()
    (world.root / f".git/objects/{blob[:2]}/{blob[2:]}").unlink()
    assert world.found() == [lost(2, TASK)]


def slow_git(world: Forge, command: str) -> None:
    """A git that never ends with one of its commands."""
    git = subprocess.run(["which", "git"], capture_output=True, check=True, text=True).stdout.strip()
    place = world.directory / "bin"
    place.mkdir()
    (place / "git").write_text(f'#!/bin/sh\ncase " $* " in *" {command}"*) exec sleep 60;; esac\nexec {git} "$@"\n')
    (place / "git").chmod(0o755)
    world.environ["PATH"] = f"{place}:{world.environ['PATH']}"


@pytest.mark.parametrize("command", ["log --no-walk=unsorted -p", "--format=%H %P%n%ct %at --no-walk=unsorted"])
def test_where_there_is_no_time_to_compare_that_is_said(command: str, world: Forge) -> None:
    world.edit(3, "the agent's", world.task)
    world.edit(3, "a person's", world.root)
    put_aside(world, world.root)
    slow_git(world, command)
    started = time.monotonic()
    unknown, stash = run_check(CHECK, world, limit=1.5)
    assert time.monotonic() - started < 10.0
    assert (unknown.kind, stash.kind) == (UNKNOWN, DEBT)
    start, end = said(unknown).split(" s (")
    assert start.startswith("could not check whether commits are merged in another form: git gave no answer in ")
    assert end == "worktree-task)"


def test_what_is_old_keeps_no_time_from_what_is_young(world: Forge) -> None:
    world.environ |= {"GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}
    world.work("one")
    del world.environ["GIT_AUTHOR_DATE"], world.environ["GIT_COMMITTER_DATE"]
    world.git("checkout", "--quiet", "-b", "claude/young", "main", cwd=world.task)
    world.work("two")
    slow_git(world, "--max-age=1577833200")
    young, old = run_check(CHECK, world, limit=1.5)
    assert (young.kind, old.kind) == (DEBT, UNKNOWN)
    assert said(young).startswith("1 commit on claude/young (in .claude/worktrees/task) is found nowhere else, ")
    assert said(old).endswith(" s (worktree-task)")


def test_more_commits_than_can_be_looked_at(world: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    world.work("one", "two", "three")
    world.work("beside", place=world.root)
    world.git("cherry-pick", "worktree-task~2")
    assert world.found() == [lost(2, TASK)]
    monkeypatch.setattr(stranded, "MOST", 2)
    assert world.found() == [f"at least 3 commits on {TASK} are found nowhere else"]


def test_of_many_branches_agents_are_the_last_to_be_compared_with(
    world: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.work("one")
    world.git("checkout", "--quiet", "-b", "claude/other", "main", cwd=world.task)
    world.work("two")
    world.git("checkout", "--quiet", "-b", "release", "main", cwd=world.task)
    world.work("three")
    world.git("cherry-pick", "worktree-task", cwd=world.task)
    world.git("checkout", "--quiet", "--detach", "main", cwd=world.task)
    monkeypatch.setattr(references, "MOST_TIPS", 2)
    assert world.found() == [lost(1, "claude/other")]


def test_where_too_many_branches_would_be_named_git_leaves_them_out_itself(
    world: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stranded, "MOST_NAMED", 0)
    world.work("one")
    assert world.found() == [lost(1, TASK)]
    world.git("branch", "mine", "worktree-task")
    assert world.found() == []


def many(world: Forge, branches: int, worktrees: int) -> None:
    """Branches of agents, a tenth of them with a commit, and worktrees on the first of them, each with one."""
    main = world.git("rev-parse", "main").strip()
    packed = [f"{main} refs/heads/claude/{number}\n" for number in range(branches)]
    told = ["feature done\n"]
    for number in range(branches):
        if number < worktrees or number % 10 == 0:
            who = f"committer A <a@example.org> {int(time.time())} +0000\n"
            told.append(f"commit refs/heads/claude/{number}\n{who}data 2\nx\nfrom refs/heads/main^0\n")
            told.append(f"M 644 inline f{number}\ndata 2\nx\n\n")
    stream = "".join([*told, "done\n"]).encode()
    subprocess.run(["git", "fast-import", "--quiet"], input=stream, cwd=world.root, env=world.environ, check=True)
    (world.root / ".git/packed-refs").write_text("".join(packed))
    for number in range(worktrees):
        git_dir, place = world.root / f".git/worktrees/t{number}", world.root / f".claude/worktrees/t{number}"
        for directory in (git_dir, place):
            directory.mkdir(parents=True)
        (git_dir / "HEAD").write_text(f"ref: refs/heads/claude/{number}\n")
        (git_dir / "commondir").write_text("../..\n")
        (git_dir / "gitdir").write_text(f"{place}/.git\n")
        (place / ".git").write_text(f"gitdir: {git_dir}\n")


def test_many_branches_and_worktrees_are_asked_about_at_once(world: Forge) -> None:
    many(world, branches=300, worktrees=30)
    counted = world.directory / "calls"
    git = subprocess.run(["which", "git"], capture_output=True, check=True, text=True).stdout.strip()
    (world.directory / "bin").mkdir()
    (world.directory / "bin/git").write_text(f'#!/bin/sh\necho "$*" >> {counted}\nexec {git} "$@"\n')
    (world.directory / "bin/git").chmod(0o755)
    world.environ["PATH"] = f"{world.directory}/bin:{world.environ['PATH']}"
    findings = world.findings()
    assert len(findings) == 57
    assert {finding.kind for finding in findings} == {DEBT}
    assert len(counted.read_text().splitlines()) <= 6, "not one call more for each"


def test_the_check_as_it_is_registered() -> None:
    assert (CHECK.name, CHECK.label, CHECK.scope, CHECK.keeps) == ("stranded_work", "STRANDED", "project", True)
    assert not CHECK.ripens
    assert CHECK.incident_title == "A session's end deleted a branch with commits that nobody had pushed"
    assert os.path.basename(CHECK.run.__code__.co_filename) == "stranded_work.py"
