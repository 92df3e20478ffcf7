"""A shell's start file with the gate's block put in and taken out; the shells themselves are in tests/clients."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import GateError
from gate.wiring.shell_block import SHELLS, find_block, with_block, without_block

BASH = SHELLS["bash"]
FILES = st.none() | st.text(st.characters(codec="utf-8")).filter(lambda text: ">>> session-gate" not in text)


@given(text=FILES, code=st.just("code\n"), later=st.just("other code\n"))
def test_what_is_put_in_comes_out_again_to_the_byte(text: str | None, code: str, later: str) -> None:
    once = with_block(text, BASH, code)
    assert with_block(once, BASH, code) == once
    assert without_block(once) == text
    assert without_block(with_block(once, BASH, later)) == text


def test_what_was_added_around_it_stays() -> None:
    there = with_block("export A=1", BASH, "code\n") + "export B=2\n"
    assert without_block(there) == "export A=1\nexport B=2\n"
    assert without_block("# mine\n" + with_block(None, BASH, "code\n")) == "# mine\n"


@pytest.mark.parametrize(
    "text",
    [
        "a\n# >>> session-gate >>> and no end\nb\n",
        with_block("a\n", BASH, "code\n") + with_block(None, BASH, "code\n"),
    ],
)
def test_half_a_block_is_named_and_left_alone(text: str) -> None:
    for change in (lambda: with_block(text, BASH, "code\n"), lambda: without_block(text)):
        with pytest.raises(GateError, match="line 2: the lines of session-gate are not whole: remove them"):
            change()


def test_a_text_without_a_block_stays() -> None:
    assert without_block("# <<< session-gate <<<\n") == "# <<< session-gate <<<\n"
    assert find_block("echo '# >>> session-gate >>>'\n") is None


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
def test_start_files_are_found_where_each_shell_looks(shell: object) -> None:
    assert isinstance(shell, type(BASH))
    usual = {"bash": "/h/.bashrc", "zsh": "/h/.zshrc", "fish": "/h/.config/fish/conf.d/session-gate.fish"}
    moved = usual | {"zsh": "/z/.zshrc", "fish": "/x/fish/conf.d/session-gate.fish"}
    assert shell.start_file({"HOME": "/h", "XDG_CONFIG_HOME": "relative"}) == usual[shell.name]
    assert shell.start_file({"HOME": "/h", "ZDOTDIR": "/z", "XDG_CONFIG_HOME": "/x"}) == moved[shell.name]
    with pytest.raises(GateError, match="HOME is not set"):
        shell.start_file({})
