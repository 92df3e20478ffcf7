"""What a rebase or a bisection keeps of where it began, as git writes it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.world.midway import Midway, read_midway

TIP, COPY, OTHER = "a" * 40, "b" * 40, "c" * 64


def write(place: Path, **files: str) -> None:
    place.mkdir()
    for name, text in files.items():
        (place / name.replace("_", "-")).write_text(text)


@pytest.mark.parametrize(("name", "rewritten"), [("rebase-merge", "rewritten_list"), ("rebase-apply", "rewritten")])
def test_a_rebase_of_a_branch(tmp_path: Path, name: str, rewritten: str) -> None:
    place = tmp_path / name
    copies = {rewritten: f"{TIP} {COPY}\n{TIP} {OTHER}\ntorn\n"}
    write(place, head_name="refs/heads/feature/x\n", orig_head=f"{TIP}\n", **copies)
    expected = Midway("a rebase", "feature/x", "", str(place / "orig-head"), TIP, frozenset((COPY, OTHER)))
    assert read_midway(str(tmp_path)) == expected


def test_a_rebase_of_a_detached_head(tmp_path: Path) -> None:
    write(tmp_path / "rebase-merge", head_name="detached HEAD\n", orig_head=f"{TIP}\n")
    assert read_midway(str(tmp_path)) == Midway(
        "a rebase", "", TIP, str(tmp_path / "rebase-merge/orig-head"), TIP, frozenset()
    )


@pytest.mark.parametrize(
    ("text", "branch", "commit"),
    [("main\n", "main", ""), ("refs/heads/x\n", "x", ""), (f"{TIP}\n", "", TIP)],
)
def test_a_bisection(tmp_path: Path, text: str, branch: str, commit: str) -> None:
    (tmp_path / "BISECT_START").write_text(text)
    assert read_midway(str(tmp_path)) == Midway("a bisection", branch, commit, str(tmp_path / "BISECT_START"))


def test_nothing_waits(tmp_path: Path) -> None:
    assert read_midway(str(tmp_path)) is None
    write(tmp_path / "rebase-apply", applying="")  # `git am` moves no branch
    (tmp_path / "rebase-merge").mkdir()
    (tmp_path / "BISECT_START").mkdir()
    assert read_midway(str(tmp_path)) is None


NAMES = ("head-name", "orig-head", "rewritten-list", "rewritten")


@given(
    st.dictionaries(
        st.sampled_from([*NAMES, "BISECT_START"]),
        st.binary(max_size=90)
        | st.sampled_from([b"refs/heads/main\n", b"detached HEAD\n", TIP.encode(), f"{TIP} {COPY}\n".encode() * 2]),
    )
)
def test_whatever_stands_in_its_files(tmp_path_factory: pytest.TempPathFactory, texts: dict[str, bytes]) -> None:
    git_dir = tmp_path_factory.getbasetemp() / "any-midway"
    for place in ("rebase-merge", "rebase-apply", ""):
        (git_dir / place).mkdir(parents=True, exist_ok=True)
        for name in (*NAMES, "BISECT_START"):
            (git_dir / place / name).write_bytes(texts.get(name, b""))
    found = read_midway(str(git_dir))
    if found is None:
        assert not texts.get("head-name", b"").strip() or texts["head-name"].strip() not in texts["head-name"]
        return
    for commit in (found.commit, found.tip, *found.copies):
        assert commit == "" or len(commit) in range(40, 65)
    assert not (found.branch and found.commit)
