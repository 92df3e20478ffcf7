"""Other projects' markers, whatever they hold: nothing is raised, and what cannot be believed claims nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.attribution import key_of
from gate.clock import rfc3339
from gate.finding import Subject
from gate.neighbours import Neighbours
from gate.state import ProjectState

NOW = 1_796_200_000.0
RECORDER = Subject("4242:77", changed=1.0, state="s")
CHECK = "capture_streams"


def marker(root: str, **changes: Any) -> dict[str, Any]:
    """The marker of a project that knows the recorder as its debt."""
    result = {"check": CHECK, "outcome": "clean", "reason": "", "duration_ms": 1}
    return {
        "schema": 1, "state": "ok", "when": rfc3339(NOW - 60), "project": root, "session": None, "duration_ms": 1.0,
        "results": [result], "findings": [], "began": {"boot": "b", "since_boot": 1.0}, "stale_after": 3600.0,
        "stamp": [], "memory": {CHECK: {"debt": {key_of(RECORDER): rfc3339(NOW)}, "notes": {}}}, "shown": {},
        "ended": {"theirs": rfc3339(NOW)},
    } | changes  # fmt: skip


class Place:
    """A state directory with one's own project and another, whose marker a test writes."""

    def __init__(self, path: Path) -> None:
        self.own, self.other = (ProjectState(str(path / "state"), key) for key in ("own-1", "other-2"))
        self.own.ensure()
        self.other.ensure()
        self.root = str(path / "other")
        os.mkdir(self.root)

    def put(self, content: bytes) -> Neighbours:
        for path in (self.other.marker_file.path, *self.other.marker_file.retired_paths.values()):
            Path(path).unlink(missing_ok=True)
        Path(self.other.marker_file.path).write_bytes(content)
        return Neighbours(self.own, NOW, ["mine"])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("neighbours"))


def test_what_another_project_knows_is_its_own(place: Place) -> None:
    found = place.put(json.dumps(marker(place.root)).encode())
    assert found.owner(CHECK, RECORDER) == (place.root, True)
    assert found.owner(CHECK, Subject("1:1", tag="theirs")) == (place.root, False)
    assert found.owner(CHECK, Subject("1:1", tag="mine")) == ("", False)
    assert found.owner("temp_size", RECORDER) == ("", False)


@pytest.mark.parametrize(
    "changes", [{"when": rfc3339(NOW - 7200)}, {"project": "/no/such/directory"}, {"results": []}, {"stale_after": 1.0}]
)
def test_what_nobody_looks_at_claims_nothing(place: Place, changes: dict[str, Any]) -> None:
    found = place.put(json.dumps(marker(place.root, **changes)).encode())
    assert found.owner(CHECK, RECORDER) == ("", False)
    assert found.owner(CHECK, Subject("1:1", tag="theirs")) == ("", False)


@given(st.data())
def test_what_is_damaged_claims_nothing_and_is_left_alone(place: Place, data: st.DataObject) -> None:
    text = json.dumps(marker(place.root)).encode()
    begin = data.draw(st.integers(0, len(text)))
    content = data.draw(
        st.sampled_from([text[:begin], text[:begin] + b"\xff" + text[begin:], text[begin:]]) | st.binary(max_size=20)
    )
    found = place.put(content)
    claimed = found.owner(CHECK, RECORDER)
    assert claimed in (("", False), (place.root, True))
    assert claimed == ("", False) or content in (text, text[begin:])
    found.doubt(place.root, [(CHECK, "0" * 16)])
    if claimed == ("", False):
        assert Path(place.other.marker_file.path).read_bytes() == content


def test_a_doubted_marker_is_no_evidence_any_more(place: Place) -> None:
    found = place.put(json.dumps(marker(place.root)).encode())
    found.doubt(place.root, [(CHECK, key_of(RECORDER))])
    assert os.path.exists(place.other.marker_file.path), "it knows that already"
    found.doubt(place.root, [(CHECK, "0" * 16)])
    assert not os.path.exists(place.other.marker_file.path)
    there = place.other.marker_file.read()
    assert there is not None
    assert there.retired == "doubted"
