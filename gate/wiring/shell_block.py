"""What stands in a shell's start file: a session begins when an interactive shell enters a project, and ends with it.

Entering is seen at the prompt, where nothing but a comparison of two strings happens as long as the directory is the
same, so scripts and the shells that agents' tools start never come to it. The hook lines are those of `installed_line`,
run by `/bin/sh` in every shell alike. Pure.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from typing import NamedTuple

from gate.clients.shell import DIRECTORY_VARIABLE, OWNER_VARIABLE
from gate.errors import GateError

_BEGIN = "# >>> session-gate >>> put here by `gate install {}`, taken out by `gate uninstall {}`{}"
_END = "# <<< session-gate <<<"
_BLOCK = re.compile(rf"^# >>> session-gate >>>(?P<rest>[^\n]*)\n.*?^{_END}(?:\n|\Z)", re.MULTILINE | re.DOTALL)
_UNENDED = "; the line above had no end"
_NEW = "; there was no such file"

_BASH = """\
if [[ $- == *i* && -z ${__session_gate_here+set} ]]; then
  __session_gate_here= __session_gate_roots=() __session_gate_trap=()
  __session_gate() { @owner@=$$ @directory@=$2 /bin/sh -c "$1" </dev/null; }
  __session_gate_prompt() {
    local status=$? root=$PWD entered
    if [[ $PWD != "$__session_gate_here" ]]; then
      __session_gate_here=$PWD
      until [[ -z $root || -e $root/.git || -e $root/.gate.toml ]]; do root=${root%/*}; done
      for entered in "" ${__session_gate_roots[@]+"${__session_gate_roots[@]}"}; do
        [[ $root == "$entered" ]] && return $status
      done
      if [[ ${#__session_gate_roots[@]} -eq 0 ]]; then
        eval "__session_gate_trap=($(trap -p EXIT))"
        trap -- "__session_gate_exit${__session_gate_trap[2]:+; ${__session_gate_trap[2]}}" EXIT
      fi
      __session_gate_roots+=("$root")
      __session_gate @start@ "$root"
    fi
    return $status
  }
  __session_gate_exit() {
    local root
    for root in "${__session_gate_roots[@]}"; do __session_gate @end@ "$root"; done
  }
  if [[ $(declare -p PROMPT_COMMAND 2>/dev/null) == "declare -a"* ]]; then
    PROMPT_COMMAND=(__session_gate_prompt "${PROMPT_COMMAND[@]}")
  else
    PROMPT_COMMAND=__session_gate_prompt${PROMPT_COMMAND:+"; $PROMPT_COMMAND"}
  fi
fi
"""

_ZSH = """\
if [[ -o interactive && -z ${__session_gate_here+set} ]]; then
  typeset -g __session_gate_here=
  typeset -ga __session_gate_roots=()
  __session_gate() { @owner@=$$ @directory@=$2 /bin/sh -c "$1" </dev/null; }
  __session_gate_prompt() {
    emulate -L zsh
    [[ $PWD == "$__session_gate_here" ]] && return
    __session_gate_here=$PWD
    local root=$PWD
    until [[ -z $root || -e $root/.git || -e $root/.gate.toml ]]; do root=${root%/*}; done
    if [[ -n $root ]] && (( ! ${__session_gate_roots[(Ie)$root]} )); then
      __session_gate_roots+=("$root")
      __session_gate @start@ "$root"
    fi
  }
  __session_gate_exit() {
    emulate -L zsh
    local root
    for root in "${__session_gate_roots[@]}"; do __session_gate @end@ "$root"; done
  }
  autoload -Uz add-zsh-hook
  add-zsh-hook precmd __session_gate_prompt
  add-zsh-hook zshexit __session_gate_exit
fi
"""

_FISH = """\
if status is-interactive; and not set -q __session_gate_here
    set -g __session_gate_here
    set -g __session_gate_roots
    function __session_gate
        env @owner@=$fish_pid @directory@=$argv[2] /bin/sh -c $argv[1] </dev/null
    end
    function __session_gate_prompt --on-event fish_prompt
        test "$PWD" = "$__session_gate_here"; and return
        set -g __session_gate_here $PWD
        set -l root $PWD
        while test -n "$root"; and not test -e "$root/.git"; and not test -e "$root/.gate.toml"
            set root (string replace --regex '/[^/]*\\z' '' -- $root | string collect)
        end
        if test -n "$root"; and not contains -- "$root" $__session_gate_roots
            set -ga __session_gate_roots "$root"
            __session_gate @start@ "$root"
        end
    end
    function __session_gate_exit --on-event fish_exit
        for root in $__session_gate_roots
            __session_gate @end@ "$root"
        end
    end
end
"""


class Shell(NamedTuple):
    """A shell that can call the gate, and the code for it. Its start file is `file`, in the directory that `variable`
    names, else in `default` below the home directory.
    """

    name: str
    code: str
    file: str
    variable: str
    default: str

    def start_file(self, environ: Mapping[str, str]) -> str:
        """The start file that this shell reads in interactive shells. Raises GateError where no home is known."""
        base = environ.get(self.variable, "") if self.variable else ""
        home = environ.get("HOME", "")
        if not os.path.isabs(base) and not os.path.isabs(home):
            raise GateError(f"HOME is not set, and {self.name} reads {self.file} there: set it and run this again")
        return os.path.join(base if os.path.isabs(base) else os.path.join(home, self.default), self.file)

    def block(self, start: str, end: str) -> str:
        """The code, with the hook lines of both boundaries in it."""
        quote = _fish_word if self.name == "fish" else shlex.quote
        words = {"owner": OWNER_VARIABLE, "directory": DIRECTORY_VARIABLE, "start": quote(start), "end": quote(end)}
        return re.sub("@([a-z]+)@", lambda found: words[found[1]], self.code)


SHELLS = {
    shell.name: shell
    for shell in (
        Shell("bash", _BASH, ".bashrc", "", ""),
        Shell("zsh", _ZSH, ".zshrc", "ZDOTDIR", ""),
        Shell("fish", _FISH, "fish/conf.d/session-gate.fish", "XDG_CONFIG_HOME", ".config"),
    )
}
"""bash(1), zsh(1) and fish(1), under FILES and INITIALIZATION FILES."""


def with_block(text: str | None, shell: Shell, code: str) -> str:
    """A start file's text (None: there is no file) with this code in our block, at its end where it had none.

    The block's first line keeps what taking it out needs to know. Raises GateError for half a block.
    """
    found = find_block(text or "")
    if found is not None:
        kept = _UNENDED if _UNENDED in found["rest"] else _NEW if _NEW in found["rest"] else ""
        return (text or "")[: found.start()] + _framed(shell, code, kept) + (text or "")[found.end() :]
    unended = bool(text) and not (text or "").endswith("\n")
    kept = _NEW if text is None else _UNENDED if unended else ""
    return (text or "") + ("\n" if unended else "") + _framed(shell, code, kept)


def without_block(text: str) -> str | None:
    """The text without our block; None where the file was made for it and holds nothing else. Raises GateError."""
    found = find_block(text)
    if found is None:
        return text
    before, after = text[: found.start()], text[found.end() :]
    if _UNENDED in found["rest"] and not after:
        before = before.removesuffix("\n")
    return None if _NEW in found["rest"] and not before + after else before + after


def find_block(text: str) -> re.Match[str] | None:
    """Our block in a start file. Raises GateError where it has a beginning and no end, or there are two."""
    begun = len(re.findall("^# >>> session-gate >>>", text, re.MULTILINE))
    found = list(_BLOCK.finditer(text))
    if begun != len(found) or begun > 1:
        number = text.count("\n", 0, text.find("# >>> session-gate >>>")) + 1
        raise GateError(f"line {number}: the lines of session-gate are not whole: remove them and run this again")
    return found[0] if found else None


def _framed(shell: Shell, code: str, kept: str) -> str:
    return _BEGIN.format(shell.name, shell.name, kept) + "\n" + code + _END + "\n"


def _fish_word(text: str) -> str:
    """fish(1), QUOTES: between single quotes only a quote and a backslash are escaped."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
