"""The trail of state directories: what was remembered is known, and of anything else nothing is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate import trail

PATHS = (
    st.binary(min_size=1, max_size=20).filter(lambda path: b"\0" not in path).map(lambda path: os.fsdecode(b"/" + path))
)


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {"HOME": str(tmp_path_factory.mktemp("home")), "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}


def place(environ: dict[str, str]) -> Path:
    return Path(environ["XDG_CACHE_HOME"]) / "session-gate/state-directories"


@given(st.lists(PATHS, max_size=5), PATHS)
def test_what_was_remembered_and_is_not_there_was_removed(
    environ: dict[str, str], paths: list[str], other: str
) -> None:
    place(environ).unlink(missing_ok=True)
    for path in paths:
        trail.remember(path, environ)
    for path in (*paths, other):
        names = os.listdir(path) if os.path.isdir(path) else []
        is_used = any(os.path.isdir(os.path.join(path, name, "sessions")) for name in names)
        assert trail.is_removed(path, environ) == (path in paths and not is_used)


@given(st.binary())
def test_whatever_stands_there(environ: dict[str, str], content: bytes) -> None:
    place(environ).parent.mkdir(exist_ok=True, mode=0o700)
    place(environ).write_bytes(content)
    assert trail.is_removed("/no/such/state", environ) == (b"/no/such/state" in content.split(b"\0"))
    trail.remember("/no/such/state", environ)
    assert trail.is_removed("/no/such/state", environ)


def test_a_directory_that_holds_a_project_was_not_removed(environ: dict[str, str], tmp_path: Path) -> None:
    trail.remember(str(tmp_path), environ)
    assert trail.is_removed(str(tmp_path), environ)
    (tmp_path / "project-0123456789abcdef/sessions").mkdir(parents=True)
    assert not trail.is_removed(str(tmp_path), environ)


def test_it_does_not_grow(environ: dict[str, str]) -> None:
    for number in range(3 * trail.MOST):
        trail.remember(f"/state/{number}", environ)
    assert place(environ).read_bytes().count(b"\0") == trail.MOST - 1
    assert trail.is_removed(f"/state/{3 * trail.MOST - 1}", environ)
    assert not trail.is_removed("/state/0", environ)
