"""git's answers, spoiled: cut off, with other bytes in them, or something else; for tests of what reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from gate.errors import UnknownError
from gate.world.git import Git


class Given(Git):
    """A git that gives one answer to whatever it is asked."""

    def __init__(self, answer: bytes) -> None:
        super().__init__({})
        self.answer = answer

    def run(self, directory: str, *arguments: str, timeout: float, ok: Sequence[int] = (0,)) -> bytes:
        return self.answer


@st.composite
def spoiled(draw: st.DrawFn, answers: Sequence[bytes]) -> bytes:
    """One of these answers, or a part of it, or one with other bytes in it."""
    answer = draw(st.sampled_from(answers))
    begin = draw(st.integers(0, len(answer)))
    end = draw(st.integers(begin, min(len(answer), begin + 12)))
    other = draw(
        st.sampled_from([b"", b"\0", b"\n", b" ", b"\t", b"\xff", b"\xe2\x80\xa8", b"9" * 30]) | st.binary(max_size=9)
    )
    how = draw(st.sampled_from(("replaced", "cut", "bit", "twice")))
    if how == "cut":
        return answer[:begin]
    if how == "twice":
        return answer + answer
    if how == "bit" and begin < len(answer):
        return bytes([*answer[:begin], answer[begin] ^ 1 << draw(st.integers(0, 7)), *answer[begin + 1 :]])
    return answer[:begin] + other + answer[end:]


class Spoiling(Git):
    """A git whose answers are spoiled as `spoil` says, by their number; each is asked of git itself once."""

    def __init__(self, environ: Mapping[str, str], known: dict[tuple[str, ...], bytes | UnknownError]) -> None:
        super().__init__(environ)
        self.known = known
        self.spoil: Mapping[int, object] = {}
        self.number = 0

    def run(self, directory: str, *arguments: str, timeout: float, ok: Sequence[int] = (0,)) -> bytes:
        key = (directory, *arguments)
        if key not in self.known:
            try:
                self.known[key] = super().run(directory, *arguments, timeout=60.0, ok=ok)
            except UnknownError as error:
                self.known[key] = error
        self.number += 1
        answer, spoil = self.known[key], self.spoil.get(self.number)
        if isinstance(answer, UnknownError):
            if spoil is None:
                raise answer
            answer = b""
        return spoil(answer) if callable(spoil) else answer
