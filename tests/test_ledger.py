from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import TIMEOUT, child

from gate import files
from gate.errors import DamagedError, NewerSchemaError
from gate.ledger import ENDING, OPEN, Ledger, Record, parse, safe_id
from gate.liveness import Owner, Place, Stat, is_alive, read_stat
from gate.marker import Marker
from gate.verdict import verdict

HERE = Place("a-host", "a-boot", "pid:[1]")
STRINGS = (
    "id",
    "client",
    "state",
    "since",
    "host",
    "boot",
    "namespace",
    "worktree",
    "cwd",
    "source",
    "transcript",
    "root",
)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters()),
        st.sampled_from(["open", "ending", "", 0, 1, 2, -1, 1.0, 10**400, "2026-11-30T08:26:46Z", "../../etc/passwd"]),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
TEXTS = st.text(st.characters())


def record(session: str = "session-1", **changes: Any) -> Record:
    given: dict[str, Any] = {
        "client": "claude",
        "owner": Owner(4242, 77), "place": HERE, "since": 1_796_200_006.0, "written": 1_796_200_006.25,
        "worktree": "/w/project", "cwd": "/w/project/docs", "source": "startup", "transcript": "/h/t.jsonl",
        "root": "/w/project",
    }  # fmt: skip
    return Record(session, **(given | changes))


def encode(value: Any) -> bytes:
    return json.dumps(value).encode()


RECORDS = [
    record().to_json(),
    record(
        owner=None, state=ENDING, ended=1_796_200_100.0, cwd="", source="", transcript="", place=Place("", "", "")
    ).to_json(),
]


def believed(data: bytes) -> Record | None:
    """The record, if it is believed. Whatever is believed must be right in every part, and usable."""
    try:
        found = parse(data)
    except DamagedError:
        return None
    value = found.to_json()
    assert value["schema"] == 1
    assert all(type(value[key]) is str for key in STRINGS)
    assert safe_id(found.id) == found.id
    assert found.state in (OPEN, ENDING)
    assert type(found.written) is float
    assert 0 <= found.written < 1e18
    assert found.ended is None or isinstance(found.ended + found.since, float | int)
    assert found.owner is None or (
        type(found.owner.pid) is int and found.owner.pid > 1 and type(found.owner.started) is int
    )
    assert is_alive(found.owner, found.place, HERE, lambda _: None) in (False, None)
    assert parse(encode(value)).to_json() == value
    return found


@pytest.mark.parametrize("value", RECORDS)
def test_what_the_gate_writes_is_believed(value: dict[str, Any]) -> None:
    found = believed(encode(value))
    assert found is not None
    assert found.to_json() == value
    assert (found.alive, found.finishing) == (None, False)


@given(st.builds(record, st.from_regex(r"[A-Za-z0-9_-]{1,100}", fullmatch=True), client=TEXTS, worktree=TEXTS,
                 cwd=TEXTS, source=TEXTS, transcript=TEXTS, root=TEXTS, written=st.floats(0, 1e12),
                 since=st.integers(0, 10**11),
                 place=st.builds(Place, TEXTS, TEXTS, TEXTS), state=st.sampled_from([OPEN, ENDING]),
                 owner=st.none() | st.builds(Owner, st.integers(2, 2**31), st.integers(0, 2**63)),
                 ended=st.none() | st.integers(0, 10**11)))  # fmt: skip
def test_a_record_survives_the_disk(given_record: Record) -> None:
    value = given_record.to_json()
    found = believed(encode(value))
    assert found is not None
    assert found.to_json() == value


@given(st.sampled_from(RECORDS), st.data())
def test_one_part_that_is_something_else(value: dict[str, Any], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(list(value)))
    believed(encode({**value, key: data.draw(JSON)}))
    if value["owner"]:
        inner = data.draw(st.sampled_from(["pid", "started"]))
        believed(encode({**value, "owner": {**value["owner"], inner: data.draw(JSON)}}))


@pytest.mark.parametrize("value", RECORDS)
def test_no_part_can_be_missing_or_of_another_type(value: dict[str, Any]) -> None:
    for key in value:
        assert believed(encode({name: part for name, part in value.items() if name != key})) is None
        for other in (None, True, False, -1, [], ["text"], {}, {"text": 1}, float("nan"), float("inf"), 10**400):
            if not (key in ("ended", "owner") and other is None):
                assert believed(encode({**value, key: other})) is None, (key, other)
    for owner in ({}, {"pid": 4242}, {"started": 7}, [4242, 7], "4242", 4242):
        assert believed(encode({**value, "owner": owner})) is None, owner


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("schema", 0), ("schema", 1.0), ("schema", "1"), ("schema", 2), ("state", "OPEN"), ("state", "over"),
        ("state", ""),
        ("since", "today"), ("since", ""), ("ended", "2026-11-30"), ("ended", ""), ("written", "7"), ("written", 1e19),
        ("id", ""), ("id", "../x"), ("id", "a b"), ("id", "a" * 101), ("id", "é"), ("id", "."),
        ("owner", {"pid": 1, "started": 7}), ("owner", {"pid": 0, "started": 7}), ("owner", {"pid": -5, "started": 7}),
        ("owner", {"pid": 4242.0, "started": 7}), ("owner", {"pid": "4242", "started": 7}),
        ("owner", {"pid": 4242, "started": -1}), ("owner", {"pid": 4242, "started": None}),
        ("owner", {"pid": True, "started": 7}),
    ],
)  # fmt: skip
def test_one_wrong_value_and_nothing_is_believed(key: str, wrong: Any) -> None:
    assert believed(encode({**RECORDS[0], key: wrong})) is None


@pytest.mark.parametrize("owner", [Owner(2, 1), Owner(4242, 0)])
def test_the_smallest_owner_and_one_whose_start_is_not_known(owner: Owner) -> None:
    found = believed(encode(record(owner=owner).to_json()))
    assert found is not None
    assert found.owner is not None
    assert (found.owner.pid, found.owner.started) == (owner.pid, owner.started)


@pytest.mark.parametrize("value", RECORDS)
def test_a_torn_record_is_never_believed(value: dict[str, Any]) -> None:
    data = encode(value)
    for length in range(len(data)):
        assert believed(data[:length]) is None
    assert believed(data + data) is None
    assert believed(data + b"\0") is None


@given(st.sampled_from(RECORDS), st.data())
def test_a_record_with_other_bytes_in_it(value: dict[str, Any], data: st.DataObject) -> None:
    text = encode(value)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 8, len(text))))
    believed(text[:start] + data.draw(st.binary(max_size=8)) + text[end:])


@given(st.one_of(st.binary(), JSON.map(encode), st.text().map(str.encode)))
def test_anything_else_is_damage(data: bytes) -> None:
    assert believed(data) is None


@pytest.mark.parametrize("schema", [2, 99, 10**30])
def test_a_newer_versions_record_is_neither_believed_nor_removed(ledger: Ledger, schema: int) -> None:
    path = Path(ledger.record_path("newer"))
    path.write_bytes(encode({"schema": schema}))
    with pytest.raises(NewerSchemaError):
        ledger.read("newer")
    assert ledger.read_all(HERE) == ([], [str(path)])
    ledger.remove_damaged(str(path))
    assert path.exists()


@pytest.mark.parametrize("session", ["a", "0f9c-12_AB", "a" * 100, "-rf"])
def test_an_id_that_is_a_file_name_is_one(session: str) -> None:
    assert safe_id(session) == session


@given(
    st.one_of(
        TEXTS, st.sampled_from(["", ".", "..", "../../etc/passwd", "a/b", "a\0b", "a" * 101, "id with spaces", "界"])
    )
)
def test_any_id_becomes_a_file_name(session: str) -> None:
    safe = safe_id(session)
    assert 0 < len(safe) <= 100
    assert set(safe) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
    assert safe_id(safe) == safe


def test_different_ids_stay_different() -> None:
    sessions = ["", "a/b", "a-b", "a b", "../a-b", "é", "界", "a" * 101, "a" * 102]
    assert len({safe_id(session) for session in sessions}) == len(sessions)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger(str(tmp_path / "project-key"))
    os.makedirs(made.directory)
    yield made
    assert not [name for name in os.listdir(made.directory) if name.endswith(".tmp")]


def test_a_project_never_seen_has_no_records(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path / "nothing"))
    assert ledger.read_all(HERE) == ([], [])
    assert ledger.read("session-1") is None


def test_records_are_read_back_oldest_first(ledger: Ledger) -> None:
    order = [record(f"session-{number}", since=1_796_200_000.0 + number // 2) for number in range(6)]
    shuffled = list(order)
    random.Random(4).shuffle(shuffled)
    for one in shuffled:
        ledger.write(one)
    found, damaged = ledger.read_all(HERE, lambda _: None)
    assert [one.to_json() for one in found] == [one.to_json() for one in order]
    assert damaged == []
    read = ledger.read("session-3")
    assert read is not None
    assert read.to_json() == order[3].to_json()


def test_records_are_private(ledger: Ledger) -> None:
    ledger.write(record())
    assert os.stat(ledger.record_path("session-1")).st_mode & 0o777 == 0o600


def test_one_damaged_record_takes_no_other_along(ledger: Ledger) -> None:
    ledger.write(record())
    wrong = {
        "torn.json": encode(RECORDS[0])[:-9],
        "empty.json": b"",
        "copy.json": encode(RECORDS[0]),  # says that it is another session's
    }
    for name, data in wrong.items():
        Path(ledger.directory, name).write_bytes(data)
    Path(ledger.directory, "link.json").symlink_to("session-1.json")
    os.mkdir(os.path.join(ledger.directory, "directory.json"))
    for name in ("session-1.lock", "session-1.baseline", ".session-1.json.4242.tmp", "notes.txt"):
        Path(ledger.directory, name).write_text("not a record")
    found, damaged = ledger.read_all(HERE, lambda _: None)
    assert [one.id for one in found] == ["session-1"]
    paths = sorted(os.path.join(ledger.directory, name) for name in (*wrong, "link.json", "directory.json"))
    assert sorted(damaged) == paths
    for path in paths:
        ledger.remove_damaged(path)
    assert ledger.read_all(HERE, lambda _: None)[1] == [os.path.join(ledger.directory, "directory.json")]
    assert ledger.read("session-1") is not None
    os.unlink(os.path.join(ledger.directory, ".session-1.json.4242.tmp"))


def test_a_record_that_was_mended_since_it_was_read_stays(ledger: Ledger) -> None:
    ledger.write(record())
    ledger.remove_damaged(ledger.record_path("session-1"))
    assert ledger.read("session-1") is not None
    ledger.remove_damaged(ledger.record_path("gone"))


def test_a_record_that_goes_while_one_looks_is_gone(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger.write(record())
    monkeypatch.setattr(files, "read", lambda path: None)
    assert ledger.read_all(HERE) == ([], [])


def test_records_that_cannot_be_listed_are_damage_and_not_none(ledger: Ledger) -> None:
    os.rmdir(ledger.directory)
    Path(ledger.directory).write_text("no directory")
    assert ledger.read_all(HERE) == ([], [ledger.directory])
    os.unlink(ledger.directory)
    os.mkdir(ledger.directory)


def test_owners_are_looked_up(ledger: Ledger) -> None:
    here = Place.current("a-boot")
    with child("sh", "-c", "echo; read -r _") as living, child("echo", "x") as dead:
        found = read_stat(living.pid)
        assert found is not None
        ledger.write(record("living", owner=Owner(living.pid, found.started), place=here))
        ledger.write(record("recycled", owner=Owner(living.pid, found.started - 1), place=here))
        dead.wait(TIMEOUT)
        ledger.write(record("dead", owner=Owner(dead.pid, found.started), place=here))
        ledger.write(record("unknown", owner=None, place=here))
        ledger.write(record("rebooted", owner=None, place=Place(here.host, "another-boot", here.namespace)))
        ledger.write(record("elsewhere", place=Place("another-host", "another-boot", "pid:[9]")))
        alive = {one.id: one.alive for one in ledger.read_all(here)[0]}
    assert alive == {
        "living": True, "recycled": False, "dead": False, "unknown": None, "rebooted": False, "elsewhere": None,
    }  # fmt: skip


def test_the_process_table_can_be_a_tests(ledger: Ledger) -> None:
    ledger.write(record())
    (found,), _ = ledger.read_all(HERE, {4242: Stat("claude", "S", 1, 77)}.get)
    assert found.alive is True
    (found,), _ = ledger.read_all(HERE, {4242: Stat("claude", "S", 1, 78)}.get)
    assert found.alive is False


def test_a_finisher_is_seen_by_the_lock_that_it_holds(ledger: Ledger) -> None:
    for name, state in (("ending", ENDING), ("open", OPEN)):
        ledger.write(record(name, state=state))

    def finishing() -> dict[str, bool]:
        return {one.id: one.finishing for one in ledger.read_all(HERE, lambda _: None)[0]}

    assert finishing() == {"ending": False, "open": False}
    with files.Lock(ledger.lock_path("ending")), files.Lock(ledger.lock_path("open")):
        assert finishing() == {"ending": True, "open": False}
    assert finishing() == {"ending": False, "open": False}


def test_a_record_goes_with_what_lies_beside_it_and_goes_last(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger.write(record())
    ledger.write(record("session-2"))
    beside = (ledger.lock_path, ledger.baseline_path, ledger.baseline_lock_path)
    for path in (path_of("session-1") for path_of in beside):
        Path(path).write_text("")
    removed: list[str] = []
    remove = files.remove

    def note(path: str) -> bool:
        removed.append(os.path.basename(path))
        return remove(path)

    monkeypatch.setattr(files, "remove", note)
    ledger.remove("session-1")
    assert removed == ["session-1.baseline", "session-1.lock", "session-1.baseline.lock", "session-1.json"]
    assert os.listdir(ledger.directory) == ["session-2.json"]


def test_a_lock_that_is_held_stays(ledger: Ledger) -> None:
    ledger.write(record())
    with files.Lock(ledger.lock_path("session-1")):
        ledger.remove("session-1")
        assert os.listdir(ledger.directory) == ["session-1.lock"]


def test_no_damage_of_a_bit_brings_a_dead_session_to_life() -> None:
    """A record of a session that died is then still one that is dead, or ending, or damaged, or cannot be told."""
    dead = record(owner=Owner(4242, 77), place=HERE)
    text = encode(dead.to_json())
    seen = set()
    for at in range(len(text)):
        for damaged in (*(bytes([*text[:at], text[at] ^ 1 << bit, *text[at + 1 :]]) for bit in range(8)), text[:at]):
            try:
                found = parse(damaged)
            except DamagedError:
                continue
            found.alive = is_alive(found.owner, found.place, HERE, lambda _: None)
            seen.add(found.alive)
            assert found.alive is not True
            assert verdict(GREEN, [found], None, 1_796_200_010.0, HERE.boot, []).kind in (
                "abandoned",
                "stale",
                "pending",
            )
    assert seen == {False, None}


GREEN = Marker(
    {
        "state": "ok", "when": "2026-12-02T08:26:40Z", "stale_after": 604800.0, "stamp": [], "loosened": [],
        "began": {"boot": HERE.boot, "since_boot": 5.0}, "findings": [],
    }
)  # fmt: skip
