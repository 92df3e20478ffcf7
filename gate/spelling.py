"""The name that somebody may have meant who wrote one that there is not."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST = 100
"""Characters of a wrong name that are compared: the comparison takes time by the product of the lengths."""


def nearest(word: str, words: Iterable[str], likeness: float = 0.6) -> str:
    """The one of `words` that is most like `word`, empty where none is: `likeness` is at least the given part of 1."""
    import difflib  # only where something is wrong: it is slow to import

    found = difflib.get_close_matches(word[:LONGEST], list(words), n=1, cutoff=likeness)
    return found[0] if found else ""
