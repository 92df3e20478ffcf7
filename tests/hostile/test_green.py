"""Whoever controls a repository cannot make it green: what was found stays until it is gone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from assault import Assault
from kit import Client
from tally import tried


def by_file(git_dir: Path, place: Path) -> None:
    place.write_text(f"gitdir: {git_dir}\n")


def by_link(git_dir: Path, place: Path) -> None:
    place.symlink_to(git_dir)


def by_common_directory(git_dir: Path, place: Path) -> None:
    place.mkdir()
    (place / "commondir").write_text(f"{git_dir}\n")
    for name in ("HEAD", "index"):
        shutil.copy2(git_dir / name, place / name)


@pytest.mark.parametrize("lead", [by_file, by_link, by_common_directory], ids=lambda way: way.__name__)
def test_a_clean_directory_that_passes_for_another_repository(
    assault: Assault, lead: Callable[[Path, Path], None]
) -> None:
    """Its `.git` leads to the other's, so both are one project; a session in it once wrote the other's debt off."""
    project, machine = assault.repository(), assault.machine
    Client(machine, project).leave("left.py")
    assert machine.verdict(project) == "debt"
    passing = machine.directory / "passing"
    passing.mkdir()
    shutil.copy2(project / "README", passing / "README")
    lead(project / ".git", passing / ".git")
    killed = Client(machine, project, "killed")
    killed.start()
    machine.settle()
    (project / "another.py").write_text("")
    killed.kill()
    client = Client(machine, passing, "passing")
    client.start()
    machine.settle()
    client.end()
    machine.gate("end", cwd=passing)
    tried(2)
    assert machine.verdict(project) != "green"
    client = Client(machine, project, "next")
    said = client.start()
    assert "2 uncommitted paths" in said
    assert "from before" not in said
    client.end()


def graft(assault: Assault, project: Path, main: str, tip: str) -> None:
    (project / ".git/info").mkdir(exist_ok=True)
    (project / ".git/info/grafts").write_text(f"{main} {tip}\n{tip}\n")


def replacement(assault: Assault, project: Path, main: str, tip: str) -> None:
    tree = assault.git(project, "rev-parse", "main^{tree}").strip()
    alone, onto = (assault.git(project, "commit-tree", *more, "-m", "x", tree).strip() for more in ((), ("-p", tip)))
    assault.git(project, "replace", tip, alone)
    assault.git(project, "replace", main, onto)


@pytest.mark.parametrize("hide", [graft, replacement], ids=lambda way: way.__name__)
def test_commits_that_are_shown_as_merged_and_are_not(
    assault: Assault, hide: Callable[[Assault, Path, str, str], None]
) -> None:
    project, machine = assault.repository(), assault.machine
    assault.git(project, "checkout", "--quiet", "-b", "worktree-task")
    (project / "work.py").write_text("")
    machine.commit(project)
    assault.git(project, "checkout", "--quiet", "main")
    hide(assault, project, *(assault.git(project, "rev-parse", name).strip() for name in ("main", "worktree-task")))
    assert assault.git(project, "rev-list", "worktree-task", "--not", "main") == "", "or the test proves nothing"
    said = machine.text("run", "stranded_work", cwd=project, code=1)
    tried()
    assert "1 commit on worktree-task is found nowhere else" in said


HIDING = {
    "status.showUntrackedFiles": "no",
    "core.fileMode": "false",
    "diff.ignoreSubmodules": "all",
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
    "diff.noprefix": "true",
    "diff.renames": "false",
    "status.relativePaths": "true",
    "status.short": "true",
    "column.ui": "always",
    "color.ui": "always",
    "core.quotePath": "true",
    "log.follow": "true",
    "log.showRoot": "false",
    "log.decorate": "full",
    "log.date": "relative",
    "log.excludeDecoration": "*",
    "core.abbrev": "4",
    "core.logAllRefUpdates": "false",
    "gc.reflogExpire": "now",
    "i18n.logOutputEncoding": "UTF-16",
    "i18n.commitEncoding": "UTF-16",
    "diff.algorithm": "patience",
    "diff.mnemonicPrefix": "true",
    "diff.orderFile": "/dev/null",
    "diff.relative": "true",
    "diff.wsErrorHighlight": "all",
    "diff.context": "50",
    "advice.statusHints": "false",
    "transfer.hideRefs": "refs/heads",
}


def test_a_configuration_that_hides(assault: Assault) -> None:
    """With every setting that makes git say less, or otherwise, as much is found as without."""
    project, machine = assault.repository(), assault.machine
    assault.git(project, "checkout", "--quiet", "-b", "worktree-task")
    (project / "work.py").write_text("")
    machine.commit(project)
    assault.git(project, "checkout", "--quiet", "main")
    (project / "new.py").write_text("")
    (project / "README").write_text("changed\n")
    asked = (
        "run",
        "uncommitted_paths",
        "stranded_work",
        "broken_repository",
        "unfinished_operation",
        "--format",
        "json",
    )
    plain = machine.json(*asked[:-2], cwd=project, code=1)["findings"]
    assert len(plain) == 2
    assault.configure(project, HIDING)
    hidden = machine.json(*asked[:-2], cwd=project, code=1)["findings"]
    tried(len(HIDING))
    for finding in (*plain, *hidden):
        finding["summary"] = finding["summary"].partition(" is found nowhere else")[0]  # how old it is comes behind
    assert [{**f, "first_seen": ""} for f in hidden] == [{**f, "first_seen": ""} for f in plain]
