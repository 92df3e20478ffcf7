"""Whatever stands in the files, the configuration is sound."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gate.api import Options, option
from gate.config.configuration import Configuration, Problem, loosened
from gate.marker import STALE_AFTER

if TYPE_CHECKING:
    from decimal import Decimal
from setting import CHECKS, WRONG, Setting, TempSize


class Refusing(Exception):
    pass


@dataclass(frozen=True)
class Picky(Options):
    count: int = option(3, "not 5")

    def __post_init__(self) -> None:
        if self.count == 5:
            raise Refusing("not\nfive")


@dataclass(frozen=True)
class Impossible(Options):
    def __post_init__(self) -> None:
        raise Refusing("never")


@dataclass(frozen=True)
class Unresolved(Options):
    size: Decimal | None = option(None, "an annotation that cannot be resolved at run time")
    count: int = option(3, "so the defaults' types count")
    made: int = field(default=7, init=False)


def test_a_check_that_refuses_its_options_is_broken_alone(setting: Setting) -> None:
    checks = {"picky": Picky, "impossible": Impossible, "temp_size": TempSize}
    found = setting.load(user="[checks.picky]\ncount = 5\n[checks.temp_size]\nmax_files = 5", checks=checks)
    assert [str(problem) for problem in found.problems] == [
        "default: checks.picky: the check refuses its options: Refusing: not\\nfive",
        "default: checks.impossible: the check refuses its options: Refusing: never",
    ]
    assert found.broken == {"picky", "impossible"}
    assert found.options("picky").count == 3
    assert found.options("temp_size").max_files == 5
    with pytest.raises(KeyError):
        found.options("impossible")


def test_annotations_that_cannot_be_resolved(setting: Setting) -> None:
    found = setting.load(user="[checks.x]\ncount = 5\nsize = 1\nignore = ['a']\nmade = 3", checks={"x": Unresolved})
    assert (found.options("x").count, found.options("x").ignore) == (5, ("a",))
    assert setting.said(found) == [
        ("config.toml:checks.x.size", "expected nothing: this option's type is not one that configuration can give"),
        ("config.toml:checks.x.made", "no such option; did you mean 'ignore'?")
        if False
        else ("config.toml:checks.x.made", "no such option"),
    ]


def test_a_problem_is_one_harmless_line() -> None:
    problem = Problem("/a b/\x1b[31m.toml", "checks.\n```.<x>", "expected\n\u202ea table")
    assert str(problem) == '"/a b/\\x1b[31m.toml": "checks.\\n\\x60\\x60\\x60.\\x3cx>": expected\\n\\u202ea table'
    assert str(Problem("/a.toml", "", "is not UTF-8")) == "/a.toml: is not UTF-8"


def test_a_key_of_any_length_makes_a_short_line(setting: Setting) -> None:
    found = setting.load(user=f"{'k' * 100_000} = 1\n[checks.{'c' * 100_000}]\n")
    assert all(len(str(problem)) < 600 for problem in found.problems)
    assert len(found.problems) == 2


KEYS = st.one_of(
    st.sampled_from(["stale_after", "inject_limit", "disable", "checks", "temp_size", "stale_locks", "bare", "tool",
                     "session-gate", "max_bytes", "max_files", "paths", "ignore", "quick", "share", "word",
                     "older_than"]),
    st.text(max_size=5),
)  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["7d", "48h", "512MiB", "-1", "0", "temp_size", "bare", "/etc", "~", "$TMPDIR/x", "../..", "${",
                     "x" * 5000]),
)  # fmt: skip


def without_fold(when: datetime) -> datetime:
    return when.replace(fold=0)


SCALARS = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(), TEXTS, st.dates(), st.datetimes().map(without_fold)
)
TOML: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
TABLES = st.dictionaries(KEYS, TOML, max_size=5)


def toml(value: Any) -> str:
    """A value as TOML, its tables inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(key)} = {toml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, (int, float)):
        return json.dumps(value).replace("NaN", "nan").replace("Infinity", "inf")
    return str(value.isoformat())


def lines(table: Mapping[str, Any]) -> str:
    """A whole file, a line for each key."""
    return "\n".join(f"{quoted(key)} = {toml(value)}" for key, value in table.items())


def quoted(text: str) -> str:
    return '"' + "".join(f"\\U{ord(character):08x}" for character in text) + '"'


def assert_sound(found: Configuration) -> None:
    """What holds of every configuration, whatever the files."""
    assert 0 <= found.stale_after <= STALE_AFTER or found.origin("stale_after").endswith("config.toml")
    assert 200 <= found.inject_limit <= 10_000
    assert set(found.disabled) <= set(CHECKS)
    assert found.broken <= set(CHECKS)
    assert bool(found.problems) >= bool(found.broken)
    for problem in found.problems:
        assert str(problem).isprintable() or not str(problem).isascii()
        assert "\n" not in str(problem)
    for check, cls in CHECKS.items():
        options = found.options(check)
        assert type(options) is cls
        for option_field in fields(cls):
            value, default = getattr(options, option_field.name), option_field.default
            assert type(value) is type(default)
            assert not isinstance(value, (int, float)) or value >= 0
    keys = [key for key, _, _ in found.values()]
    assert keys == ["disable", "inject_limit", "stale_after", *sorted(keys[3:])]
    for key, text, origin in found.values():
        tomllib.loads(f"{key.replace('.', '_')} = {text}")
        assert origin == found.origin(key)
    assert loosened(found.snapshot(), json.loads(orjson.dumps(found.snapshot()))) == []


# One directory for all examples: each writes its files anew.
ANY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@ANY
@given(TABLES, TABLES)
def test_any_tables_give_a_sound_configuration(setting: Setting, user: dict[str, Any], project: dict[str, Any]) -> None:
    for path, table in ((setting.user, user), (setting.own, project)):
        path.write_text(lines(table), encoding="utf-8")
        assert repr(tomllib.loads(lines(table))) == repr(table)
    assert_sound(setting.load())


@ANY
@given(
    st.one_of(st.binary(), st.text().map(str.encode), st.sampled_from([text.encode() for text, _, _ in WRONG])),
    st.binary(max_size=3),
)
def test_any_bytes_give_a_sound_configuration(setting: Setting, text: bytes, more: bytes) -> None:
    for path in (setting.user, setting.own, setting.pyproject):
        path.write_bytes(more + text + more)
    assert_sound(setting.load())
    setting.own.unlink()
    setting.pyproject.write_bytes(b"[tool.session-gate]\n" + text + more)
    assert_sound(setting.load())


@ANY
@given(TABLES)
def test_what_is_shown_can_be_written_back(setting: Setting, table: dict[str, Any]) -> None:
    setting.user.write_text(lines(table), encoding="utf-8")
    first = setting.load()
    setting.user.write_text("\n".join(f"{key} = {value}" for key, value, _ in first.values()), encoding="utf-8")
    second = setting.load()
    assert second.problems == ()
    assert [second.options(check) for check in CHECKS] == [first.options(check) for check in CHECKS]
    assert (second.stale_after, second.inject_limit, set(second.disabled)) == (
        first.stale_after, first.inject_limit, set(first.disabled),
    )  # fmt: skip
