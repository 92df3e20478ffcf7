"""Where `.git` files and registrations lead, and what may be somewhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import UnknownError
from gate.world import pointers
from gate.world.pointers import head_fault, is_seen_from_elsewhere, may_be_away, misled, read, strays, target_of


@pytest.mark.parametrize(
    "path",
    [
        "C:/code/repo/.git",
        "d:\\work",
        "/no-such-directory/of/a/container/.git",
        "/mnt/no-such-disk/repo/.git",
        "/home/no-such-person/repo/.git",
        "/Users/somebody/repo/.git",
    ],
)
def test_what_may_be_away(path: str) -> None:
    assert may_be_away(path)


def test_what_is_surely_gone(tmp_path: Path) -> None:
    (tmp_path / "beside").mkdir()
    assert not may_be_away(str(tmp_path / "gone"))
    assert not may_be_away(str(tmp_path / "gone/deeper/.git"))
    assert may_be_away(str(tmp_path / "beside/gone")), "a disk that is not mounted leaves an empty directory"


def test_what_may_not_be_listed_may_be_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str) -> list[str]:
        raise PermissionError

    monkeypatch.setattr(os, "listdir", refuse)
    assert may_be_away(str(tmp_path / "gone"))


def test_a_mounted_repository_is_seen_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "a/b"
    mounts = {"/", str(root)}
    monkeypatch.setattr(os.path, "ismount", lambda path: str(path) in mounts)
    monkeypatch.setattr(pointers, "_CONTAINER", ())
    assert is_seen_from_elsewhere(str(root))
    mounts.remove(str(root))
    assert not is_seen_from_elsewhere(str(root))
    mounts.add(str(tmp_path))
    assert not is_seen_from_elsewhere(str(root)), "a disk of this machine's own"
    monkeypatch.setattr(pointers, "_CONTAINER", (str(tmp_path),))
    assert is_seen_from_elsewhere(str(root)), "what lies on a mount in a container"
    mounts.remove(str(tmp_path))
    assert not is_seen_from_elsewhere(str(root)), "what is the container's own"


def test_what_a_dot_git_names(tmp_path: Path) -> None:
    dot_git = tmp_path / ".git"
    for text, expected in {
        "gitdir: ../x": str(tmp_path.parent / "x"),
        "gitdir:/a/b\n": "/a/b",
        "gitdir: C:/a/.git\r\n": "C:/a/.git",
        "gitdir:": "",
        "gitdir: \n": "",
        "rubbish": "",
        "": "",
        "gitdir: a\0b": "",
    }.items():
        dot_git.write_text(text)
        assert target_of(str(dot_git)) == expected, text
    dot_git.unlink()
    dot_git.symlink_to(tmp_path / "nowhere")
    assert target_of(str(dot_git)) == str(tmp_path / "nowhere")


@given(st.binary(max_size=300))
def test_any_dot_git_names_a_path_or_nothing(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> None:
    dot_git = tmp_path_factory.getbasetemp() / "any.git"
    dot_git.write_bytes(text)
    named = target_of(str(dot_git))
    assert "\0" not in named
    assert named == "" or text.startswith(b"gitdir:")


HEADS = {
    "ref: refs/heads/main\n": None,
    "ref:refs/heads/main": None,
    "ref:   refs/heads/fix/a\n": None,
    "a" * 40 + "\n": None,
    "a" * 64 + "\n": None,
    "": "its HEAD is empty",
    "\0" * 41: "its HEAD is empty",
    "\n": "its HEAD is empty",
    "ref: main\n": "its HEAD names no branch",
    "a" * 39 + "\n": "its HEAD is no name",
    "main": "its HEAD is no name",
}


@pytest.mark.parametrize("text", HEADS)
def test_a_head(text: str, tmp_path: Path) -> None:
    (tmp_path / "HEAD").write_text(text)
    fault = head_fault(str(tmp_path))
    assert (fault and str(fault)) == HEADS[text]


def test_a_head_that_is_a_link_or_not_there(tmp_path: Path) -> None:
    assert str(head_fault(str(tmp_path))) == "it has no HEAD"
    (tmp_path / "HEAD").symlink_to("refs/heads/main")
    assert head_fault(str(tmp_path)) is None, "as old versions of git made it"
    (tmp_path / "HEAD").unlink()
    (tmp_path / "HEAD").symlink_to("elsewhere")
    assert str(head_fault(str(tmp_path))) == "its HEAD is a link that leads to no branch"


def test_what_may_not_be_read_is_not_taken_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gitdir").write_text("x")

    def refuse(_: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "stat", refuse)
    with pytest.raises(UnknownError, match=r"^a file of git's cannot be read: Permission denied$"):
        misled(str(tmp_path), str(tmp_path.parent))


def test_nothing_is_waited_for(tmp_path: Path) -> None:
    for name in ("gitdir", "locked", "HEAD"):
        os.mkfifo(tmp_path / name)
    assert read(str(tmp_path / "HEAD")) is None
    found = misled(str(tmp_path), str(tmp_path.parent))
    assert found is not None
    assert found.path == str(tmp_path)


def test_strays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Incident: 13 worktrees that were moved with their repository, and all passed for gone."""
    monkeypatch.setattr(pointers, "is_seen_from_elsewhere", lambda _: False)
    common = tmp_path / "repo/.git"
    (common / "worktrees/live").mkdir(parents=True)
    texts = {
        "moved": f"gitdir: {tmp_path}/old/.git/worktrees/moved\n",
        "away": "gitdir: /workspaces/repo/.git/worktrees/away\n",
        "pruned": f"gitdir: {common}/worktrees/pruned\n",
        "torn": "",
        "live": f"gitdir: {common}/worktrees/live\n",
        "known": "gitdir: nowhere\n",
    }
    places = {}
    for name, text in texts.items():
        places[name] = tmp_path / "repo/.worktrees" / name
        places[name].mkdir(parents=True)
        (places[name] / ".git").write_text(text)
    (tmp_path / "repo/.worktrees/clone/.git").mkdir(parents=True)
    (tmp_path / "repo/.worktrees/plain").mkdir()
    found = list(strays(str(tmp_path / "repo"), str(common), (".worktrees/*",), {str(places["known"])}))
    assert {Path(each.path).name: each.known for each in found} == {
        "moved": True,
        "away": False,
        "pruned": True,
        "torn": True,
    }
    assert {str(each.text) for each in found if each.path.endswith("torn")} == {
        "its .git leads to nothing, which is not there"
    }


def test_what_a_link_leads_to_is_no_stray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pointers, "is_seen_from_elsewhere", lambda _: False)
    for place in ("home/src/mine", "repo/inside/mine"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / ".git").write_text("gitdir: /no/where\n")
    (tmp_path / "repo/.worktrees").symlink_to(tmp_path / "home/src")
    (tmp_path / "repo/.claude").symlink_to("inside")
    asked = (str(tmp_path / "repo"), str(tmp_path / "repo/.git"))
    assert list(strays(*asked, (".worktrees/*",), set())) == []
    assert [each.path for each in strays(*asked, (".claude/*",), set())] == [str(tmp_path / "repo/inside/mine")]
