"""The command lines that `gate install` puts into a client's settings. Pure.

A hook line has to last: through upgrades of the gate and of Python, and when the environment that it names is gone it
has to say so, because a gate that no longer starts is silent otherwise, and silence means "nothing left behind". The
client runs it with `/bin/sh -c`, so it is written for POSIX sh (tried with dash and bash).

- Each attempt's output is caught and shown only when the attempt went well: one that dies half-way (killed, out of
  memory) cannot leave half an answer before the next one's.
- No attempt runs whose program is not there: a failing one could have read the payload that the next one needs.
- It ends with 0 whatever happens: a hook of the gate's never stops a session.

The first words, `: session-gate hook …;`, do nothing; they tell a reader and `own_commands` whose line it is.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from typing import NamedTuple

from gate.errors import GateError
from gate.quote import name

SCRIPT = "session-gate"
"""The console script that lines name: `gate` is a word that other programs might use too."""

_PLAIN = "PYTHONPATH= PYTHONHOME="
"""Python takes empty ones for unset: nothing of the environment's gets between the script and its packages."""


class Installation(NamedTuple):
    """Where this program is installed, all absolute: the interpreter (not resolved: in a virtual environment it is a
    link out of it, and only under its own name it finds the environment), `gate/hook.py`, and the console script,
    empty where there is none.
    """

    python: str
    silent: str
    script: str


def marker(boundary: str, client: str) -> str:
    """What a line of ours begins with."""
    return f": {SCRIPT} hook {boundary} --client {client};"


def absolute_line(
    installation: Installation, boundary: str, client: str, settings: str, render: Callable[[str, str], str]
) -> str:
    """The line for one machine: this installation's interpreter, bare, so that a start costs little more than it; else
    its console script, whose path outlasts a new minor version of Python; else one line that says what did not run.

    `settings` is the file that the line stands in, `render` the client's form of a text for the model and for the user.
    Raises GateError for a path that JSON cannot hold.
    """
    paths = {"p": installation.python, "s": installation.silent}
    attempts = [('[ -x "$p" ] && [ -f "$s" ]', f'"$p" -I -S "$s" {boundary} --client {client}')]
    if installation.script:
        paths["g"] = installation.script
        attempts.append(('[ -x "$g" ]', f'{_PLAIN} "$g" hook {boundary} --client {client}'))
    named = installation.script or installation.python
    reason = f"{name(named, 1000)} cannot be started (deleted, moved or broken)"
    cure = f"Reinstall session-gate, or remove its hooks from {name(settings, 1000)}."
    assigned = " ".join(f"{variable}={_word(path)}" for variable, path in paths.items())
    return " ".join([marker(boundary, client), assigned + ";", _chain(attempts, boundary, _said(reason, cure), render)])


def for_any_shell(line: str) -> str:
    """The line for a client that may run it with the user's own shell, whatever that is (tried with fish)."""
    return f"exec /bin/sh -c {_word(line)}"


def without_variables(line: str, boundary: str, client: str) -> str:
    """The line for a client that puts variables' values into every text of its settings before a shell sees it: there
    `$PATH` would be one word, `${w:-//}` a `//`, and `$o` whatever the environment has under that name.
    """
    encoded = line.replace("\\", "\\\\").replace("$", "\\0044")
    return f'{marker(boundary, client)} exec /bin/sh -c "$(printf %b {_word(encoded)})"'


def shared_line(boundary: str, client: str, settings: str, render: Callable[[str, str], str], project: str = "") -> str:
    """The line for a file that a team shares: `session-gate` by PATH, wherever each has it installed.

    Only absolute directories of PATH count, and none that lies in the project (`.`, `node_modules/.bin`, an
    environment in the repository): what stands in a repository is other people's, and must not run unasked. Where the
    home directory lies in the project there is nothing outside to be found, and all absolute ones count. `project` is
    the variable in which the client tells its hooks the directory that it was started in; without one the working
    directory stands for it. The repository around it is the project.
    """
    reason = f"{SCRIPT} was not found in PATH outside of this project, or could not be started"
    cure = f"Install session-gate, or remove its hooks from {name(settings, 1000)}."
    said = _said(reason, cure)
    command = f'{_PLAIN} "$g" hook {boundary} --client {client}'
    if boundary == "start":
        attempt = f"o=$({command}) && {{ {_SHOW}; exit 0; }}"
        last = f"printf '%s\\n' {_word(render(said, said).strip())}; exit 0"
    else:
        attempt = f"{command} >/dev/null && exit 0"
        last = f"printf '%s\\n' {_word(said)} >&2; exit 0"
    return (
        f'{marker(boundary, client)} f() {{ cd -P "$1" >/dev/null 2>&1 && pwd -P; }}; '
        + _project(project)
        + ' case $(f "${HOME:-/}")/ in "$w"/*) w=;; esac; '
        "IFS=:; set -f; for d in $PATH; do case $d in /*) g=$d/" + SCRIPT + "; "
        '[ -f "$g" ] && [ -x "$g" ] || continue; case $(f "$d")/ in "${w:-//}"/*) continue;; esac; '
        f"{attempt};; esac; done; {last}"
    )


def _project(variable: str) -> str:
    """Sets $w to the project: the repository around the directory that the client names, or that directory."""
    return f'w=$(f "${{{variable}:-.}}");' + _AROUND if variable else f"w=$(f .);{_AROUND}"


_AROUND = ' d=$w; while [ "$d" ] && ! [ -e "$d/.git" ]; do d=${d%/*}; done; w=${d:-$w};'
_SHOW = '[ -z "$o" ] || printf \'%s\\n\' "$o"'


def _chain(attempts: list[tuple[str, str]], boundary: str, said: str, render: Callable[[str, str], str]) -> str:
    """Attempts (a condition and a command each), the first that goes well counts; else what did not run is said."""
    if boundary == "start":
        tried = [f"{{ {condition} && o=$({command}); }}" for condition, command in attempts]
        return " || ".join([*tried, f"o={_word(render(said, said).strip())}"]) + f"; {_SHOW}; exit 0"
    tried = [f"{{ {condition} && {command} >/dev/null; }}" for condition, command in attempts]
    return " || ".join([*tried, f"printf '%s\\n' {_word(said)} >&2"]) + "; exit 0"


def _said(reason: str, cure: str) -> str:
    return f"SESSION-GATE: did not run: {reason}; nothing was checked. {cure}"


def _word(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise GateError(f"{name(os.fsencode(text))}: a path that is not UTF-8 cannot stand in JSON settings") from None
    return shlex.quote(text)
