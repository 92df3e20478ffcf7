"""Why git refuses, by what it says and what its files show."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import UnknownError
from gate.world.git import GitFailedError
from gate.world.refusals import Refusal, explain


class Place:
    """Files of a repository that git is said to refuse."""

    def __init__(self, path: Path) -> None:
        self.root = path
        self.git_dir = path / ".git"
        for name in ("objects", "refs"):
            (self.git_dir / name).mkdir(parents=True, exist_ok=True)
        (self.git_dir / "HEAD").write_text("ref: refs/heads/main\n")
        (self.git_dir / "config").write_text("[core]\n\tbare = false\n")

    def explain(self, said: str) -> Refusal:
        return self.explain_error(GitFailedError(said))

    def explain_error(self, error: UnknownError) -> Refusal:
        common = str(self.git_dir)
        return explain(error, common, common, str(self.root))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize(
    "reason",
    [
        "git gave no answer in 0.4 s",
        "the time for git was over",
        "git was not found in PATH",
        "git could not be started: x",
    ],
)
def test_no_answer_is_no_refusal(reason: str, place: Place) -> None:
    found = place.explain_error(UnknownError(reason, "do something"))
    assert (str(found.text), found.cure, found.known) == (reason, "do something", False)


@pytest.mark.parametrize(
    "reason",
    [
        "fatal: detected dubious ownership in repository at '/x'",
        "fatal: unsafe repository ('/x' is",
    ],
)
def test_a_repository_of_another_user(reason: str, place: Place) -> None:
    found = place.explain(reason)
    assert (str(found.text), found.known) == ("git does not trust it, because it is another user's", False)


def test_what_is_found_in_order_is_not_called_broken(place: Place) -> None:
    found = place.explain("fatal: not a git repository (or any of the parent directories): .git")
    assert not found.known
    assert str(found.text).startswith('"fatal: not a git repository')


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("bad config line 3 in file .git/config", "bad config line 3"),
        ("bad config variable 'core.hookspath' in file '.git/config' at line 9", "at line 9"),
        ("bad numeric config value 'x' for 'core.bigfilethreshold' in file .git/config: invalid unit", "invalid unit"),
        ("bad boolean config value 'false' for 'core.bare'", "for 'core.bare'"),
        ("missing value for 'core.bare'", "missing value"),
    ],
)
def test_its_own_configuration(reason: str, text: str, place: Place) -> None:
    found = place.explain(f"fatal: {reason}")
    assert found.known
    assert str(found.text).startswith("git refuses its configuration: ")
    assert text in str(found.text)
    assert found.file == str(place.git_dir / "config")


@pytest.mark.parametrize(
    "reason",
    [
        "bad config line 3 in file /home/somebody/.gitconfig",
        "bad config line 3 in file ../../elsewhere",
        "bad boolean config value 'nothing of the kind' for 'core.bare'",
        "missing value for 'core.pager'",
        "out of memory, malloc failed",
    ],
)
def test_what_its_own_configuration_does_not_show(reason: str, place: Place) -> None:
    assert not place.explain(f"fatal: {reason}").known


@pytest.mark.parametrize("value", ["../../gone", '"../../gone"', "../../gone\r"])
def test_a_work_tree_that_is_gone(value: str, place: Place) -> None:
    (place.git_dir / "config").write_text(f"[core]\n\tworktree = {value}\n")
    found = place.explain("fatal: cannot chdir to '../../gone': No such file or directory")
    assert found.known
    assert str(found.text) == f"core.worktree leads to {place.root.parent}/gone, which is not there"


def test_a_work_tree_that_may_be_elsewhere(place: Place) -> None:
    (place.git_dir / "config").write_text("[core]\n\tworktree = /workspaces/app\n")
    assert not place.explain("fatal: Invalid path '/workspaces': No such file or directory").known


def test_a_newer_format_names_its_extensions(place: Place) -> None:
    (place.git_dir / "config").write_text("[extensions]\n\trefStorage = reftable\n\tworktreeConfig\n[core]\n\tx = 1\n")
    found = place.explain("fatal: unknown repository extension found:")
    assert not found.known
    assert str(found.text).endswith('"fatal: unknown repository extension found:" refStorage, worktreeConfig')


def test_what_may_not_be_read_is_not_known(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bytes:
        raise UnknownError("a file of git's cannot be read: Permission denied", "ask")

    monkeypatch.setattr("gate.world.refusals.read", refuse)
    found = place.explain("fatal: unknown repository extension found:")
    assert (found.known, found.cure) == (False, "ask")


@given(st.text(max_size=200), st.binary(max_size=200))
def test_whatever_git_says(tmp_path_factory: pytest.TempPathFactory, reason: str, configuration: bytes) -> None:
    place = Place(tmp_path_factory.getbasetemp() / "place")
    (place.git_dir / "config").write_bytes(configuration)
    for text in (reason, f"fatal: bad config value '{reason}' in file {reason}"):
        found = place.explain(text)
        assert "\n" not in str(found.text)
        assert found.cure


def test_a_long_line_takes_no_time_by_its_square(place: Place) -> None:
    """A megabyte of spaces in a configuration once held a session's start up for an hour."""
    (place.git_dir / "config").write_text("[core]\n\tworktree = a" + " " * 1_000_000 + "b\n")
    found = place.explain("fatal: cannot chdir to 'x': No such file or directory")
    assert str(found.text).startswith('core.worktree leads to "')
