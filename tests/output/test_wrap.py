from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.output.wrap import LEAST, wrap, wrap_clauses, wrap_markdown

TEXTS = st.text(st.sampled_from("ab /;,-'"), max_size=200).map(lambda text: " ".join(text.split()))


def test_a_line_that_fits_and_one_off_a_terminal_stay_as_they_are() -> None:
    assert wrap("a b", 80) == ["a b"]
    assert wrap("a " * 100, None) == ["a " * 100]
    assert wrap("a " * 100, LEAST - 1) == ["a " * 100]


def test_what_follows_stands_under_the_beginning() -> None:
    assert wrap("    one two three four five six seven eight nine ten", 40, "      ") == [
        "    one two three four five six seven",
        "      eight nine ten",
    ]


def test_a_path_stays_whole() -> None:
    path = "/a-long/" + "x" * 60
    assert wrap(f"it lies in {path} now", 40, "  ") == ["it lies in", f"  {path}", "  now"]


@given(TEXTS, st.integers(LEAST, 100))
def test_nothing_is_lost_and_no_line_is_too_long(text: str, width: int) -> None:
    lines = wrap(text, width, "    ")
    assert " ".join(" ".join(lines).split()) == text
    assert all(len(line) < width or " " not in line.strip() or len(text) <= width for line in lines)


def test_a_remedy_is_broken_between_its_clauses() -> None:
    text = "    To look: git -C /a/b status shows it; it goes when somebody who knows what it was for removes it"
    assert wrap_clauses(text, 60, "      ") == [
        "    To look: git -C /a/b status shows it;",
        "      it goes when somebody who knows what it was for",
        "        removes it",
    ]
    assert wrap_clauses(text, 200, "      ") == wrap_clauses(text, None, "      ") == [text]


@given(st.lists(TEXTS, min_size=1, max_size=4), st.integers(LEAST, 100))
def test_a_command_with_a_path_is_never_broken(clauses: list[str], width: int) -> None:
    """Copied to its line's end, the path would be the next command."""
    text = "; ".join(clauses)
    lines = wrap_clauses(text, width, "  ")
    assert "".join("".join(lines).split()) == "".join(text.split())
    for clause in text.split("; "):
        if "/" in clause:
            assert any(clause in line for line in lines)


MARKDOWN = """\
# A title that is far longer than any terminal is wide, and all of it stays on one line

A paragraph that is broken
where its author broke it (someone/
something#1).
- an item
  that goes on
- another one

    code that   stays

The last
line."""


def test_paragraphs_and_items_are_filled_anew_for_a_narrow_terminal() -> None:
    assert list(wrap_markdown(MARKDOWN, 44)) == [
        "# A title that is far longer than any",
        "terminal is wide, and all of it stays on",
        "one line",
        "",
        "A paragraph that is broken where its author",
        "broke it (someone/something#1).",
        "- an item that goes on",
        "- another one",
        "",
        "    code that   stays",
        "",
        "The last line.",
    ]


@pytest.mark.parametrize("width", [None, 200])
def test_where_all_of_it_fits_it_is_as_it_was_written(width: int | None) -> None:
    assert list(wrap_markdown(MARKDOWN, width)) == MARKDOWN.splitlines()
