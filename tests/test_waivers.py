"""Waivers: what is accepted, until when, and what becomes of a file that is not as it should be."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gate import waivers
from gate.attribution import Evidence, attribute, key_of
from gate.clock import local_day
from gate.errors import GateError
from gate.finding import Finding, Subject
from gate.quote import say
from gate.waivers import Waiver

NOW = 1_796_040_000.0
TODAY, YESTERDAY = local_day(NOW), local_day(NOW - 86400)
A_WAIVER = Waiver("temp_size", "capture-*", TODAY, "recording the course", "/a project")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"SESSION_GATE_CONFIG": str(tmp_path / "config" / "config.toml")}


@pytest.fixture
def file(environ: dict[str, str]) -> Path:
    path = Path(waivers.path_of(environ))
    path.parent.mkdir(mode=0o700)
    return path


def test_what_is_added_is_read(environ: dict[str, str]) -> None:
    assert waivers.load(environ) == waivers.Waivers((), ())
    waivers.add(environ, A_WAIVER)
    everywhere = Waiver("temp_size", "*", "9999-12-31", "for ever")
    waivers.add(environ, everywhere)
    assert waivers.load(environ) == waivers.Waivers([A_WAIVER, everywhere], [])
    assert waivers.remove(environ, 1) == A_WAIVER
    assert waivers.load(environ).waivers == [everywhere]
    waivers.remove(environ, 1)
    assert Path(waivers.path_of(environ)).read_text().strip() == ""


def test_a_persons_comments_and_layout_stay(environ: dict[str, str], file: Path) -> None:
    text = "# mine\r\n[[waiver]]\r\ncheck=\"temp_size\"   # why not\r\nuntil = 2026-12-31\r\nreason = 'x'\r\n"
    file.write_bytes(text.encode())
    waivers.add(environ, A_WAIVER)
    assert file.read_bytes().startswith(text.encode())
    waivers.remove(environ, 2)
    assert file.read_bytes().rstrip() == text.encode().rstrip()


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.builds(Waiver, texts, texts, st.dates().map(str), texts, st.just("") | texts), min_size=1, max_size=3)
)
def test_whatever_is_waived_comes_back_from_the_file(environ: dict[str, str], some: list[Waiver]) -> None:
    path = Path(waivers.path_of(environ))
    path.unlink(missing_ok=True)
    for waiver in some:
        waivers.add(environ, waiver)
    tomllib.loads(path.read_text())
    assert waivers.load(environ) == waivers.Waivers(some, [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("waiver = 1", "waiver: expected a list of tables"),
        ("[[waivers]]", "waivers: no such key; expected waiver"),
        ("[[waiver]]", "waiver.1: check: expected a text"),
        ("waiver = [1]", "waiver.1: expected a table"),
        ("[[waiver]]\ncheck='x'\nreason='y'", "waiver.1: until: expected a text"),
        ("[[waiver]]\ncheck='x'\nreason=' '\nuntil='2026-12-31'", "waiver.1: reason: expected a text"),
        ("[[waiver]]\ncheck='x'\nreason='y'\nuntil='31.12.2026'", "31.12.2026 is not a date like 2026-12-31"),
        ("[[waiver]]\ncheck='x'\nreason='y'\nuntil='2026-02-30'", "2026-02-30 is no day of the calendar"),
        ("[[waiver]]\ncheck='x'\nreason='y'\nuntil=2026-12-31\nwhy=1", "why: no such key; there are check, pattern, "),
        ("[[", "is not TOML"),
    ],
)
def test_what_is_malformed_counts_for_nothing_and_is_said(
    environ: dict[str, str], file: Path, text: str, said: str
) -> None:
    file.write_text(text)
    known = waivers.load(environ)
    assert known.waivers in ([], ())
    (problem,) = known.problems
    assert str(problem).startswith(str(file))
    assert said in str(problem)
    with pytest.raises(GateError, match="mend that first"):
        waivers.remove(environ, 1)
    assert file.read_text() == text


def test_one_that_is_malformed_takes_no_other_along(environ: dict[str, str], file: Path) -> None:
    waivers.add(environ, A_WAIVER)
    file.write_text(file.read_text() + "[[waiver]]\n")
    assert waivers.load(environ).waivers == [A_WAIVER]


def test_a_waiver_holds_through_its_last_day() -> None:
    assert A_WAIVER.holds(NOW)
    end = waivers.end_of_day(TODAY)
    assert A_WAIVER.holds(end - 1)
    assert not A_WAIVER.holds(end)
    assert waivers.end_of_day("9999-12-31") > 1e11


def test_it_is_about_one_check_in_one_project() -> None:
    over = Waiver("temp_size", "*", YESTERDAY, "x")
    known = waivers.Waivers([A_WAIVER, over], ())
    assert known.of("temp_size", "/a project", NOW) == ([A_WAIVER], [over])
    assert known.of("temp_size", "/another", NOW) == ([], [over])
    assert known.of("stale_locks", "/a project", NOW) == ([], [])


@pytest.mark.parametrize(
    ("name", "pattern", "fits"),
    [
        ("/tmp/capture-live", "capture-*", True),
        ("/tmp/capture-live/", "capture-*", True),
        ("/tmp/capture-live", "/tmp/*", True),
        ("/tmp/capture-live", "*", True),
        ("docs/A.md", "a.md", False),
        ("docs/a.md", "docs", False),
        (b"caf\xe9", "caf*", True),
        (42, "4*", True),
    ],
)
def test_names_and_patterns(name: object, pattern: str, fits: bool) -> None:
    assert waivers.matches(name, pattern) is fits


def test_what_is_accepted_is_a_note_and_stays_a_debt_underneath() -> None:
    subjects = [Subject(name, name) for name in ("a.py", "b.py", "c.txt")]
    finding = Finding("x", say(""), subjects)
    waiver = Waiver("c", "*.py", TODAY, "x")
    debts = frozenset({key_of(subjects[0])})
    parts = attribute(finding, Evidence(waivers=[waiver], debts=debts))
    assert [(part.kind, part.waiver, [s.name for s in part.subjects]) for part in parts] == [
        ("debt", None, ["c.txt"]),
        ("note", waiver, ["a.py", "b.py"]),
    ]
    (whole,) = attribute(Finding("x", say("")), Evidence(waivers=[Waiver("c", "*", TODAY, "x")]))
    assert whole.kind == "note"
