"""Which hook commands are the gate's own: those that installation writes, and the forms that people write by hand.

A command is ours when it runs the gate's hook and nothing else; one that does more is somebody's own, and is never
changed. Pure.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence

from gate.wiring.installed_line import marker

BOUNDARIES = ("start", "end")

_OPERATORS = frozenset("();<>|&")
_REDIRECTIONS = frozenset((">", ">>", "<", ">&", "&>", ">|"))
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh"))
_PREFIXES = (("exec",), ("command",), ("env",), ("uvx",), ("uv", "tool", "run"), ("uv", "run"), ("pipx", "run"))
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_MENTION = re.compile(r"(?<!\w)gate['\"]?\s+hook\s|/gate/hook\.py")


def boundary_of(command: str, client: str, arguments: Sequence[str] | None = None) -> str:
    """`start` or `end` where a hook's command is ours and for this client, else empty.

    `arguments` are those of a hook that runs without a shell (Claude Code's `args`).
    """
    if arguments is not None:
        return _of_words([command, *arguments], client)
    for boundary in BOUNDARIES:
        if command.startswith(marker(boundary, client)):
            return boundary
    lexer = shlex.shlex(command, posix=True, punctuation_chars="".join(_OPERATORS))
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        tokens = list(lexer)
    except ValueError:
        return ""
    found = {_of_words(words, client) for words in _simple_commands(tokens) if not _is_harmless(words)}
    return found.pop() if len(found) == 1 else ""


def mentions_gate(command: str) -> bool:
    """Whether a command that is not ours seems to call the gate's hook all the same."""
    return _MENTION.search(command) is not None


def _simple_commands(tokens: Sequence[str]) -> list[list[str]]:
    """The words of each command of a list (`a || b; c`), redirections taken out."""
    commands: list[list[str]] = [[]]
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token in ("||", ";"):
            commands.append([])
        elif token in _REDIRECTIONS:
            if commands[-1] and commands[-1][-1].isdigit():
                commands[-1].pop()
            position += 1
        else:
            commands[-1].append(token)
        position += 1
    return [words for words in commands if words]


def _is_harmless(words: Sequence[str]) -> bool:
    """Whether a command does nothing, or says in the gate's name what did not run."""
    if words[0] in ("printf", "echo"):
        return any("session-gate" in word.lower() for word in words[1:])
    return words[0] in ("true", ":", "exit")


def _of_words(words: Sequence[str], client: str) -> str:
    words = _without_prefix(list(words))
    if not words:
        return ""
    program, rest = os.path.basename(words[0]), list(words[1:])
    if program in _SHELLS and len(rest) == 2 and re.fullmatch(r"-[a-z]*c", rest[0]):
        return boundary_of(rest[1], client)
    if re.fullmatch(r"(python|pypy)[\d.]*", program):
        while rest and rest[0].startswith("-") and rest[0] != "-m":
            rest.pop(0)
        if rest[:2] == ["-m", "gate"]:
            program, rest = "gate", rest[2:]
        elif rest:
            words, rest = rest[:1], rest[1:]
    if words[0].split("/")[-2:] == ["gate", "hook.py"]:
        return _boundary(rest, client)
    if program in ("gate", "session-gate") and rest[:1] == ["hook"]:
        return _boundary(rest[1:], client)
    return ""


def _without_prefix(words: list[str]) -> list[str]:
    before = -1
    while len(words) != before:
        before = len(words)
        for prefix in _PREFIXES:
            if tuple(words[: len(prefix)]) == prefix:
                words = words[len(prefix) :]
        while words and _ASSIGNMENT.match(words[0]):
            words = words[1:]
    return words


def _boundary(arguments: Sequence[str], client: str) -> str:
    words = [part for word in arguments for part in word.split("=", 1)]
    if "--client" not in words[:-1] or words.pop(words.index("--client") + 1) != client:
        return ""
    words.remove("--client")
    return words[0] if len(words) == 1 and words[0] in BOUNDARIES else ""
