"""What is kept of trust: nothing but the very digest that was trusted makes a file trusted, whatever stands there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.project import find_project
from gate.trust import CHANGED, TRUSTED, UNTRUSTED, ProjectFile, Trust

DIGESTS = ("1" * 64, "2" * 64)
NAMES = st.text(st.characters(exclude_characters="\0/"), min_size=1, max_size=9)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([*DIGESTS, "a.py", "trusted", 1]) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2)
    | st.dictionaries(st.sampled_from(["a.py", "schema", "trusted"]) | st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


class Kept:
    """A state directory, and two projects."""

    def __init__(self, path: Path) -> None:
        for name in ("state", "one", "other"):
            (path / name).mkdir(mode=0o700)
        self.file = path / "state/trusted.json"
        self.trust = Trust(str(path / "state"))
        self.project, self.other = (find_project(str(path / name)) for name in ("one", "other"))

    def put(self, content: bytes) -> None:
        self.file.write_bytes(content)
        self.file.chmod(0o600)

    def state(self, name: str, digest: str) -> str:
        return self.trust.state(self.project, ProjectFile(name, f"/p/{name}", b"", digest))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return Kept(tmp_path_factory.mktemp("trust"))


@given(st.dictionaries(NAMES, st.sampled_from(DIGESTS), max_size=4), st.data())
def test_what_was_trusted_is_until_it_is_revoked(kept: Kept, digests: dict[str, str], data: st.DataObject) -> None:
    kept.file.unlink(missing_ok=True)
    kept.trust.change(kept.other, {"a.py": DIGESTS[0]})
    kept.trust.change(kept.project, digests)
    assert kept.trust.of(kept.project) == digests
    for name, digest in digests.items():
        assert kept.state(name, digest) == TRUSTED
        assert kept.state(name, digest[::-1].replace("1", "3")) == (TRUSTED if digest == DIGESTS[1] else CHANGED)
        assert kept.state(name + "x", digest) == (
            UNTRUSTED if name + "x" not in digests else kept.state(name + "x", digest)
        )
    revoked = frozenset(data.draw(st.lists(st.sampled_from(sorted(digests)), max_size=3)) if digests else ())
    kept.trust.change(kept.project, {}, revoked)
    assert kept.trust.of(kept.project) == {name: digest for name, digest in digests.items() if name not in revoked}
    assert kept.trust.of(kept.other) == {"a.py": DIGESTS[0]}


@given(st.binary() | JSON.map(json.dumps).map(str.encode))
def test_of_anything_else_nothing_is_believed(kept: Kept, content: bytes) -> None:
    kept.put(content)
    assert kept.trust.of(kept.project) == {}
    for name in ("a.py", "trusted", "schema", ""):
        assert kept.state(name, DIGESTS[0]) == UNTRUSTED


def test_no_damage_of_a_bit_makes_a_file_trusted_that_was_not(kept: Kept) -> None:
    """Nor the loss of its end: each bit of it in turn, and each length."""
    kept.file.unlink(missing_ok=True)
    kept.trust.change(kept.project, {"a.py": DIGESTS[0]})
    whole = kept.file.read_bytes()
    damaged = [whole[:length] for length in range(len(whole))]
    damaged += [
        bytes([*whole[:at], whole[at] ^ 1 << bit, *whole[at + 1 :]]) for at in range(len(whole)) for bit in range(8)
    ]
    for content in damaged:
        kept.put(content)
        for digest in kept.trust.of(kept.project).values():
            assert sum(a != b for a, b in zip(digest, DIGESTS[0], strict=False)) <= 1
            assert digest != DIGESTS[1]
