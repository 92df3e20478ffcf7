from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import DamagedError, NewerSchemaError, StateError
from gate.marker import DOUBTED, STALE_AFTER, UNANSWERED, UNWRITTEN, Marker, MarkerFile, parse
from gate.verdict import FUTURE, VERDICTS, verdict

VALIDATOR = jsonschema.Draft202012Validator(
    json.loads(resources.files("gate").joinpath("schemas/marker.schema.json").read_text(encoding="utf-8"))
)

JSON: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters()),
        st.sampled_from(["ok", "debt", "unknown", "note", "DEBT", 0, 1, 2, -1, 1.0, 10**400, 1e308, "2026-11-30", "",
                         [], {}]),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def finding(kind: str = "debt", **changes: Any) -> dict[str, Any]:
    return {
        "check": "temp_size", "label": "TMP", "kind": kind, "summary": "capture-live holds 37.0 GiB",
        "details": ["one"], "scope": "machine", "incident": "A leak filled the disk", "remedy": "du -sh shows it",
        "fingerprint": "0123456789abcdef", "first_seen": "2026-11-29T08:26:46Z",
    } | changes  # fmt: skip


def result(outcome: str) -> dict[str, Any]:
    return {"check": "temp_size", "outcome": outcome, "reason": "", "duration_ms": 3}


def marker_data(state: str = "ok", *findings: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A marker as the gate writes it."""
    return {
        "schema": 1, "state": state, "when": "2026-11-30T08:26:46Z", "project": "/w/project",
        "session": {"id": "s1", "client": "claude", "since": "2026-11-30T08:00:00Z", "ended": None},
        "duration_ms": 41.5, "results": [result(state.replace("ok", "clean"))], "findings": list(findings),
        "began": {"boot": "a-boot", "since_boot": 1234.5}, "stale_after": STALE_AFTER,
        "stamp": ["session-gate 0.1.0", "-", "1:2:3"],
        "memory": {"temp_size": {"debt": {"k": "2026-11-30T08:26:46Z"}, "notes": {"k": "v"}}},
        "shown": {"key": "k", "times": 1, "since": "2026-11-30T08:26:46Z"},
    } | changes  # fmt: skip


MARKERS = [
    marker_data(),
    marker_data("ok", finding("note"), finding("deferred"), session=None, shown={}, memory={}, results=[], stamp=[]),
    marker_data(
        "debt",
        finding(worktree="/w/project", subjects="ab"),
        finding("unknown", scope="project", details=[]),
        memory={"temp_size": {"known": "", "last": "clean", "debt": {}, "notes": {}, "carried": {"k": "v"}}},
        configuration={"checks": []},
        loosened=["temp_size is disabled by .gate.toml"],
        made=["ab"],
        told={"s1": "2026-11-30T08:26:46Z"},
    ),
]


def encode(value: Any) -> bytes:
    return json.dumps(value).encode()


def believed(data: bytes) -> Marker | None:
    """The marker, if it is believed. Whatever is believed must be right in every part, and usable."""
    try:
        marker = parse(data)
    except DamagedError:
        return None
    VALIDATOR.validate(marker.data)
    assert not any(type(marker.data[key]) is bool for key in ("schema", "duration_ms", "stale_after"))
    if marker.data["state"] == "ok":
        kinds = [one["kind"] for one in marker.data["findings"]] + [one["outcome"] for one in marker.data["results"]]
        assert not {"debt", "unknown"} & set(kinds)
    assert isinstance(marker.since_boot + marker.stale_after + marker.when, float)
    assert isinstance(marker.deferred, bool)
    assert verdict(marker, [], None, marker.when, marker.boot, marker.data["stamp"]).kind in VERDICTS
    return marker


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to every part of a JSON value but itself."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield (*path, key)
        yield from places(part, (*path, key))


def changed(value: Any, path: tuple[Any, ...], new: Any, remove: bool = False) -> Any:
    """A copy in which one part is another, or is gone."""
    copied = copy.deepcopy(value)
    inner = copied
    for key in path[:-1]:
        inner = inner[key]
    if remove:
        del inner[path[-1]]
    else:
        inner[path[-1]] = new
    return copied


@pytest.mark.parametrize("data", MARKERS)
def test_what_the_gate_writes_is_believed(data: dict[str, Any]) -> None:
    marker = believed(encode(data))
    assert marker is not None
    assert marker.data == data
    assert marker.when == 1_796_027_206.0
    assert (marker.state, marker.boot, marker.since_boot) == (data["state"], "a-boot", 1234.5)
    assert marker.stale_after == 604_800.0
    assert marker.deferred == any(one["kind"] == "deferred" for one in data["findings"])


@given(st.sampled_from(MARKERS), st.data())
def test_one_part_that_is_something_else(marker: dict[str, Any], data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(list(places(marker))))
    believed(encode(changed(marker, path, data.draw(JSON))))


@pytest.mark.parametrize("marker", MARKERS)
def test_what_is_believed_is_what_the_published_schema_allows(marker: dict[str, Any]) -> None:
    """Each part in turn is missing or something else."""
    others: tuple[Any, ...] = (None, True, 3, 2.5, "text", [], ["text"], [3], {}, {"text": "text"}, {"text": 3})
    for path in places(marker):
        variants = [changed(marker, path, other) for other in others] + [changed(marker, path, None, remove=True)]
        for variant in variants:
            contradicts = variant.get("state") == "ok" and path[0] in ("state", "findings", "results")
            if path[0] != "loosened" and not contradicts:
                believes = believed(encode(variant)) is not None
                assert believes == VALIDATOR.is_valid(variant), (path, variant)


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("schema",), 0), (("schema",), True), (("schema",), 1.0), (("schema",), "1"), (("state",), "OK"),
        (("state",), "green"), (("loosened",), "text"), (("loosened", 0), 3),
        (("findings", 0, "fingerprint"), "0" * 15),
        (("when",), "yesterday"), (("when",), "2026-13-01T00:00:00Z"), (("when",), ""), (("duration_ms",), -0.1),
        (("stale_after",), True), (("stale_after",), -1), (("stale_after",), 1e19), (("stale_after",), 10**400),
        (("began", "since_boot"), False), (("began", "since_boot"), -3), (("began", "since_boot"), 10**400),
        (("findings", 0, "kind"), "Debt"), (("findings", 0, "kind"), "green"), (("findings", 0, "scope"), "host"),
        (("findings", 0, "first_seen"), "once"), (("findings", 0, "details"), [1]), (("results", 0, "outcome"), "fine"),
        (("results", 0, "outcome"), ["debt"]), (("stamp", 1), None), (("shown", "times"), True),
    ],
)  # fmt: skip
def test_one_wrong_value_and_nothing_is_believed(path: tuple[Any, ...], wrong: Any) -> None:
    assert believed(encode(changed(MARKERS[2], path, wrong))) is None


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity"])
@pytest.mark.parametrize("key", ["stale_after", "duration_ms", "since_boot"])
def test_a_number_without_end_is_damage(number: str, key: str) -> None:
    text = json.dumps(marker_data()).replace(f'"{key}": ', f'"{key}": {number}, "was": ', 1)
    assert believed(text.encode()) is None


@pytest.mark.parametrize("kind", ["debt", "unknown"])
def test_ok_over_what_is_not_is_damage(kind: str) -> None:
    assert believed(encode(marker_data("ok", finding(kind)))) is None
    assert believed(encode(marker_data("ok", results=[result(kind)]))) is None


@pytest.mark.parametrize("marker", MARKERS)
def test_a_torn_marker_is_never_believed(marker: dict[str, Any]) -> None:
    data = encode(marker)
    for length in range(len(data)):
        assert believed(data[:length]) is None
    assert believed(data + data) is None
    assert believed(data + b"\0") is None
    assert believed(b"\xef\xbb\xbf" + data) is None


@given(st.sampled_from(MARKERS), st.data())
def test_a_marker_with_other_bytes_in_it(marker: dict[str, Any], data: st.DataObject) -> None:
    text = encode(marker)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 8, len(text))))
    believed(text[:start] + data.draw(st.binary(max_size=8)) + text[end:])


@given(st.one_of(st.binary(), JSON.map(encode), st.text().map(str.encode)))
def test_anything_else_is_damage(data: bytes) -> None:
    assert believed(data) is None


@pytest.mark.parametrize("text", [b"[" * 200_000, b'{"a":' * 200_000, b"1" * 5000, b'{"schema":' + b"9" * 5000 + b"}"])
def test_what_would_exhaust_a_reader_is_damage(text: bytes) -> None:
    assert believed(text) is None


@pytest.mark.parametrize("schema", [2, 99, 10**30])
def test_a_newer_schema_is_neither_believed_nor_overwritten(tmp_path: Path, schema: int) -> None:
    file, data = MarkerFile(str(tmp_path)), encode({"schema": schema, "whatever": []})
    for path in (file.path, *file.retired_paths.values()):
        Path(path).write_bytes(data)
        with pytest.raises(NewerSchemaError):
            file.read()
        with pytest.raises(NewerSchemaError):
            file.write(marker_data(), encode(marker_data()))
        assert Path(path).read_bytes() == data
        os.unlink(path)


def write(file: MarkerFile, since_boot: float, boot: str = "a-boot", **changes: Any) -> bool:
    data = marker_data(began={"boot": boot, "since_boot": since_boot}, **changes)
    return file.write(data, encode(data))


def began(file: MarkerFile) -> tuple[str, float]:
    marker = file.read()
    assert marker is not None
    return marker.boot, marker.since_boot


def test_a_marker_gives_way_only_to_a_suite_that_began_later(tmp_path: Path) -> None:
    file = MarkerFile(str(tmp_path))
    assert file.read() is None
    assert write(file, 100.0)
    assert not write(file, 99.9)
    assert began(file) == ("a-boot", 100.0)
    assert write(file, 100.0)
    assert write(file, 100.1)
    assert began(file) == ("a-boot", 100.1)
    assert write(file, 5.0, boot="another-boot"), "before and after a boot the hours do not compare"
    assert began(file) == ("another-boot", 5.0)


def test_a_damaged_marker_gives_way_to_any(tmp_path: Path) -> None:
    file = MarkerFile(str(tmp_path))
    Path(file.path).write_bytes(encode(marker_data())[:-1])
    with pytest.raises(DamagedError):
        file.read()
    assert write(file, 1.0)
    assert began(file) == ("a-boot", 1.0)


REASONS = pytest.mark.parametrize("reason", [UNWRITTEN, UNANSWERED, DOUBTED])


@REASONS
def test_a_retired_marker_is_remembered_and_gives_way_to_any(tmp_path: Path, reason: str) -> None:
    file = MarkerFile(str(tmp_path))
    file.retire(reason)
    assert file.read() is None
    write(file, 100.0, state="debt")
    file.retire(reason)
    marker = file.read()
    assert marker is not None
    assert (marker.retired, marker.state) == (reason, "debt")
    assert write(file, 1.0)
    marker = file.read()
    assert marker is not None
    assert not marker.retired
    assert os.listdir(tmp_path) == ["marker.json", "isolated"] or sorted(os.listdir(tmp_path)) == [
        "isolated",
        "marker.json",
    ]


@REASONS
def test_a_damaged_retired_marker_is_damage_and_no_first_look(tmp_path: Path, reason: str) -> None:
    file = MarkerFile(str(tmp_path))
    Path(file.retired_paths[reason]).write_bytes(b"{")
    with pytest.raises(DamagedError):
        file.read()
    assert write(file, 1.0)
    assert began(file) == ("a-boot", 1.0)


def test_a_marker_that_can_neither_be_moved_nor_removed_is_said(tmp_path: Path) -> None:
    file = MarkerFile(str(tmp_path))
    os.mkdir(file.path)
    Path(file.path, "full").touch()
    Path(file.retired_paths[UNWRITTEN]).touch()
    with pytest.raises(StateError, match=r"marker\.json: cannot be replaced or removed: "):
        file.retire(UNWRITTEN)


def test_a_marker_that_cannot_be_moved_is_removed(tmp_path: Path) -> None:
    file = MarkerFile(str(tmp_path))
    write(file, 1.0)
    os.mkdir(file.retired_paths[DOUBTED])
    Path(file.retired_paths[DOUBTED], "full").touch()
    file.retire(DOUBTED)
    assert not os.path.lexists(file.path)


def bits_of(text: bytes) -> Iterator[bytes]:
    """A text with each of its bits damaged in turn, and each of its beginnings."""
    for at in range(len(text)):
        yield from (bytes([*text[:at], text[at] ^ 1 << bit, *text[at + 1 :]]) for bit in range(8))
        yield text[:at]


def test_no_damage_of_a_bit_makes_a_debt_green() -> None:
    """Nor does the loss of the end, as a full disk or a crash leaves it."""
    text = encode(marker_data("debt", finding()))
    looked = 0
    for damaged in bits_of(text):
        try:
            found = parse(damaged)
        except DamagedError:
            continue
        looked += 1
        said = verdict(found, [], None, found.when + 1, found.boot, found.data["stamp"])
        assert said.kind in ("debt", "damaged")
    assert looked > 100, "most are texts that say the same"


def test_no_damage_of_a_bit_makes_a_green_last_or_hold_elsewhere() -> None:
    """What it says of its boot and its configuration is compared, so that a bit makes it no evidence."""
    whole = marker_data("ok")
    text = encode(whole)
    when = parse(text).when
    for damaged in bits_of(text):
        try:
            found = parse(damaged)
        except DamagedError:
            continue
        said = verdict(found, [], None, when + 1, "a-boot", whole["stamp"])
        if said.kind == "green":
            assert (found.boot, found.data["stamp"], found.state) == ("a-boot", whole["stamp"], "ok")
            assert found.when <= when + 1 + FUTURE
        assert verdict(found, [], None, when + 1, "another", whole["stamp"]).kind != "green"
        assert verdict(found, [], None, when + 1, "a-boot", ["another"]).kind != "green"
