"""What is typed wrongly is answered in one line, with the nearest right word and where the help is."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from kit import Machine

from gate.commands.cli import COMMANDS
from gate.commands.usage import meant, one_line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("statsu", "statsu: no such command; did you mean status? (gate --help)"),
        ("Status", "Status: no such command; did you mean status? (gate --help)"),
        ("status --al", "--al: no such option; did you mean --all? (gate status --help)"),
        ("run --nothing", "--nothing: no such option (gate run --help)"),
        ("--nocolor run", "--nocolor: no such option; did you mean --no-color? (gate --help)"),
        ("status --format xml", "--format: 'xml' is not one of 'text', 'json' (gate status --help)"),
        ("explain", "CHECK is missing (gate explain --help)"),
        ("status more", "got unexpected extra argument (more) (gate status --help)"),
        ("status --all=1", "option '--all' does not take a value (gate --help)"),
        ("explain temp_sise", "temp_sise: no such check; did you mean temp_size?"),
        ("-C nowhere run", "-C {cwd}/nowhere: no such directory"),
    ],
)
def test_one_line_and_exit_2(machine: Machine, words: str, said: str) -> None:
    done = machine.gate(*words.split())
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"session-gate: error: {said.format(cwd=machine.directory)}\n"


def test_a_command_that_is_like_none_is_answered_with_all_of_them(machine: Machine) -> None:
    done = machine.gate("nothing")
    assert done.returncode == 2
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("session-gate: error: nothing: no such command; there are config, ")
    assert all(name in line for name in COMMANDS)


def test_other_peoples_text_in_a_mistake_is_one_harmless_line(machine: Machine) -> None:
    for words in (["a\nb\x1b[31m"], ["run", "--a\nb"], ["status", "--format", "x\ny"], ["-C", "no\nwhere", "run"]):
        done = machine.gate(*words)
        assert done.returncode == 2
        (line,) = done.stderr.decode().splitlines()
        assert line.isprintable()


def test_nothing_typed_is_answered_with_the_help_on_standard_error(machine: Machine, project: Path) -> None:
    for words in ([], ["-C", str(project)]):
        done = machine.gate(*words, cwd=project)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.startswith(b"Usage: gate [OPTIONS] COMMAND")


def test_a_far_word_is_not_proposed() -> None:
    assert meant("--al", ["--help", "--format"]) == ""
    assert meant("x" * 100_000, ["status"]) == ""


def test_an_error_without_a_context_has_a_line_too() -> None:
    assert one_line(click.UsageError("Something is wrong.")) == "something is wrong (gate --help)"
    assert one_line(click.NoSuchOption("--x")) == "--x: no such option (gate --help)"
    option = click.Option(["-c", "--client"])
    assert one_line(click.MissingParameter(param=option)) == "--client is missing (gate --help)"
