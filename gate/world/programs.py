"""What a process may be called in a finding, and which programs are left running on purpose.

Command lines hold tokens, so nothing of one is shown but what identifies the program: its name, and the name of a file
or module that an interpreter runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from gate.world.agents import agent_program, is_daemon

_INTERPRETER = r"(?:python|pypy|node|bun|deno|ruby|perl|php|sh|bash|zsh|dash|fish|ksh|tsx)[\d.]*"
_CODE = r"-[a-zA-Z]*[cep]|--eval|--print|--command"
_PLAIN = r"[\w.+@-]{1,60}"
_MODULE = r"(?a)[A-Za-z_][\w.]{0,60}"
_TEMPORARY_PROFILE = r"ms-playwright|puppeteer|playwright|chrome-devtools-mcp|/tmp/|/T/|-headless"

BROWSERS = frozenset(
    (
        "chrome", "chromium", "chromium-browse", "google-chrome", "Google Chrome", "firefox", "firefox-esr", "msedge",
        "brave", "opera", "vivaldi", "Safari",
    )
)  # fmt: skip
_AUTOMATED = ("--headless", "--remote-debugging-", "--enable-automation", "-juggler", "--marionette")

KEPT = (
    "tmux*", "screen", "SCREEN", "zellij", "dtach", "abduco", "mosh-server", "code", "code-*", "cursor", "codium",
    "zed", "subl", "sublime_text", "windsurf", "emacs*", "gvim", "nvim", "webstorm*", "goland*", "evince", "kitty",
    "idea*", "pycharm*", "ssh-agent", "gpg-agent", "scdaemon", "keyboxd", "dirmngr", "dbus-*",
    "at-spi*", "gvfs*", "dconf-*", "xdg-*", "pipewire*", "pulseaudio", "adb", "watchman", "bazel*", "sccache",
    "ccache*", "buck2d", "mutagen*", "dockerd", "containerd*", "colima", "limactl*", "podman*",
)  # fmt: skip
"""Programs that stay by design, whoever started them: terminals' servers, editors, agents of keys, the desktop's own
services, daemons of build tools and containers. A detached pane is wanted, and a tmux server always has pid 1 for a
parent (stablyai/orca#15146)."""

_DAEMONS = (
    ("java", ".GradleDaemon"),
    ("java", ".KotlinCompileDaemon"),
    ("java", "org.mvndaemon.mvnd.daemon.Server"),
    ("git", "fsmonitor--daemon"),
    ("git", "gc"),
    ("git", "maintenance"),
    ("git", "credential-cache--daemon"),
    ("node", "/daemon/server/start.js"),
    ("turbo", "daemon"),
    ("nix", "daemon"),
    ("dotnet", "/nodeReuse:true"),
    ("ssh", "[mux]"),
)
"""Such as only their arguments tell: warm daemons of build tools are by design (gradle/gradle#16299), and git's own
services end by themselves (Digital-Process-Tools/claude-supertool#1892)."""


def called(name: str, words: Sequence[str], directory: str | None) -> tuple[str, ...]:
    """How a process is called in a finding: its program, and what an interpreter runs. `directory` is its working
    directory, in which a script is looked for.

    A script's name is shown only where it is a file that is there: whatever else stands in the arguments is not.
    """
    program = os.path.basename(words[0].lstrip("-")) if words and words[0].strip() and name else name
    if not re.fullmatch(_PLAIN, program) or not (program.startswith(name[:15]) or re.fullmatch(_INTERPRETER, program)):
        program = name  # it calls itself something else, which may hold anything: the kernel's word is short
    if not re.fullmatch(_INTERPRETER, program):
        return (program,)
    rest = list(words[1:])
    is_python = program.startswith(("python", "pypy"))
    if is_python and rest[:1] == ["-m"] and len(rest) > 1 and re.fullmatch(_MODULE, rest[1]):
        return program, "-m", rest[1]
    script = next((word for word in rest if not word.startswith("-")), "")
    if script and not any(re.fullmatch(_CODE, word) for word in rest[: rest.index(script)]):
        path = os.path.join(directory or "/", script)
        try:
            if len(script) < 1000 and os.path.isfile(path):
                return program, os.path.basename(script)
        except ValueError:
            return (program,)
    return (program,)


def is_kept(name: str, words: Sequence[str], alive_directory: bool, kept: Sequence[str] = KEPT) -> bool:
    """Whether a program stays by design although its session is over: by its name, its arguments, or as a person's own
    browser. `kept` are patterns for names.

    `alive_directory` says that its working directory is there: a daemon for a worktree that is gone serves nobody
    (max-sixty/worktrunk PR 2813).
    """
    if agent_program(name, words) is not None:
        return is_daemon(words)
    if any(fnmatchcase(name, pattern) for pattern in kept):
        return True
    if name in BROWSERS:
        return not any(
            word.startswith(_AUTOMATED) or (word.startswith(("--user-data-dir", "-profile", "--profile")) and
            re.search(_TEMPORARY_PROFILE, word)) for word in words[1:]
        )  # fmt: skip
    base = os.path.basename(words[0]) if words else name
    # git and its kind take the subcommand first; the others' word may stand anywhere.
    places = {"git": words[1:2], "turbo": words[1:2], "nix": words[1:2], "ssh": words[:1]}
    return alive_directory and any(
        program in (name, base) and any(word.endswith(mark) for word in places.get(program, words[1:]))
        for program, mark in _DAEMONS
    )
