from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.api import option
from gate.config.options import Texts, convert, kinds_of, show
from gate.quote import is_harmful
from gate.units import Duration, Size


@dataclass(frozen=True)
class Base:
    ignore: tuple[str, ...] = option((), "")


@dataclass(frozen=True)
class Derived(Base):
    count: int = option(3, "")
    size: Size = option(Size(7), "")
    made: str = field(default="", init=False)


def test_kinds_are_those_of_the_annotations_inherited_ones_too() -> None:
    assert kinds_of(Derived) == {"ignore": Texts, "count": int, "size": Size}


@pytest.mark.parametrize(
    ("value", "kind", "converted"),
    [("5KiB", Size, Size(5120)), (7, Size, Size(7)), ("1h", Duration, Duration(3600)), (True, bool, True), (0, int, 0),
     (10**12, int, 10**12), (3, float, 3.0), (0.5, float, 0.5), ("", str, ""), ("x" * 4096, str, "x" * 4096),
     ([], Texts, ()), (["a"] * 1000, Texts, ("a",) * 1000), (["x" * 4096], tuple, ("x" * 4096,))],
    ids=lambda value: repr(value)[:30],
)  # fmt: skip
def test_values_that_fit(value: object, kind: Any, converted: object) -> None:
    found = convert(value, kind)
    assert found == converted
    assert type(found) is type(converted)


@pytest.mark.parametrize(
    ("value", "kind"),
    [(True, Size), (None, Size), ([], Duration), (True, Duration), (1, bool), ("true", bool), (True, int), (1.0, int),
     ("1", int), (-1, int), (10**12 + 1, int), (True, float), (-0.1, float), (1e13, float), (float("nan"), float),
     (float("inf"), float), ("1", float), (1, str), ("x" * 4097, str), ("a\0b", str), (None, str), ("a", Texts),
     (["a"] * 1001, Texts), (["x" * 4097], Texts), ([""], Texts), (["a\0b"], Texts), ([1], Texts), (("a",), Texts),
     ({"a": 1}, Texts), (3, complex), ([], list[int])],
    ids=lambda value: repr(value)[:30],
)  # fmt: skip
def test_values_that_do_not(value: object, kind: Any) -> None:
    with pytest.raises(ValueError, match=r"^[a-z]"):
        convert(value, kind)


@given(st.text() | st.lists(st.text()) | st.booleans() | st.integers(0, 2**62) | st.floats(0, 1e12))
def test_what_is_shown_is_toml(value: Any) -> None:
    shown = show(tuple(value) if isinstance(value, list) else value)
    assert tomllib.loads(f"a = {shown}") == {"a": value}
    assert not any(map(is_harmful, shown))


@pytest.mark.parametrize(
    ("value", "kind", "shown"),
    [(Size(512 << 20), None, '"512MiB"'), (512 << 20, Size, '"512MiB"'), (800, Size, "800"),
     (172_800.0, Duration, '"48h"'),
     (Duration(90), None, '"90s"'), (20, int, "20"), (0.5, float, "0.5"), (True, bool, "true"),
     (("a", "b c"), Texts, '["a", "b c"]'),
     ('say "hi" \\', str, '"say \\"hi\\" \\\\"'), ("é\n\u202e\U000e0041", str, '"é\\u000a\\u202e\\U000e0041"')],
)  # fmt: skip
def test_how_values_are_shown(value: object, kind: Any, shown: str) -> None:
    assert show(value, kind) == shown
