"""Where clients let output pile up: one table, and what of it is there.

Logs, output of background tasks, scratch, snapshots. Not transcripts of sessions, nor anything else that a person keeps
(`~/.claude/projects`, `~/.codex/sessions`, `~/.gemini/tmp/*/chats`, `opencode.db`), nor programs (`~/.codex/packages`).
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gate.quote import Phrase, say
from gate.world.tree import find_roots

LOGS = "end what writes there first, then remove what nobody will read"
SCRATCH = "end what writes there first; what a living session reads or works on it still needs, the rest can go"
BROWSERS = "close the browsers that use some of them; the others can go"
DATABASES = (
    "they shrink when their client is started and quit; a -wal is never removed alone, for it holds what its database "
    "does not have yet"
)
UNDO = (
    "OpenCode's undo needs them; it prunes what is over 7 days old, and with `snapshot` false in its configuration it "
    "makes none"
)


class Outlet(NamedTuple):
    """One kind of output of a client's.

    `places` are patterns. Where the last part of one is a pattern, all that match in one directory are one pile, else
    each directory is one. `$UID` is this user's number; a place that begins with a variable that is not set is none
    (TMPDIR is /tmp then). `told` is a variable by which the client takes the first place and no other. `source` says
    how the places are known, `cure` what clears them. `small`: little of it is normal. `store`: one file of it may be
    as big as all. `kept` are names in it that are something else.
    """

    name: str
    places: tuple[str, ...]
    source: str
    cure: str = LOGS
    told: str = ""
    small: bool = False
    store: bool = False
    kept: tuple[str, ...] = ()


OUTLETS = (
    Outlet(
        "Claude Code's task output and scratch",
        ("$CLAUDE_CODE_TMPDIR/claude-$UID", "$TMPDIR/claude-$UID", "$TMPDIR/../claude-$UID", "/tmp/claude-$UID"),  # noqa: S108
        "seen with 2.1.332: claude-UID/CWD/SESSION/tasks/*.output below TMPDIR or /tmp; anthropics/claude-code#78687 "
        "(a scratchpad beside tasks, below /tmp whatever TMPDIR says), #17936 (CLAUDE_CODE_TMPDIR); in its own shell "
        "TMPDIR can be that directory itself",
        SCRATCH,
        told="CLAUDE_CODE_TMPDIR",
    ),
    Outlet(
        "Claude Code's debug logs",
        ("$CLAUDE_CODE_DEBUG_LOGS_DIR", "$CLAUDE_CONFIG_DIR/debug", "~/.claude*/debug"),
        "anthropics/claude-code#28235 (a file for each session); people keep a second profile beside the first",
    ),
    Outlet(
        "Claude Code's MCP logs",
        ("$XDG_CACHE_HOME/claude-cli-nodejs", "~/.cache/claude-cli-nodejs", "~/Library/Caches/claude-cli-nodejs"),
        "anthropics/claude-code#69427 (macOS), #72 (a maintainer: one directory for each project, in it one for each "
        "server)",
    ),
    Outlet(
        "Codex's logs",
        ("$CODEX_HOME/log", "~/.codex*/log"),
        "developers.openai.com, environment variables (CODEX_HOME); openai/codex#13463, #23722 (codex-tui.log)",
    ),
    Outlet(
        "Codex's log databases",
        ("$CODEX_HOME/logs_*.sqlite*", "$CODEX_SQLITE_HOME/logs_*.sqlite*", "~/.codex*/logs_*.sqlite*"),
        "developers.openai.com, environment variables (CODEX_SQLITE_HOME); openai/codex#33644, #28997 (two profiles)",
        DATABASES,
        small=True,
        store=True,
    ),
    Outlet(
        "Codex's other journals",
        ("$CODEX_HOME/[!l]*.sqlite-wal", "$CODEX_SQLITE_HOME/[!l]*.sqlite-wal", "~/.codex*/[!l]*.sqlite-wal"),
        "as above; the databases beside logs_*.sqlite hold threads and memories, which are kept",
        DATABASES,
        small=True,
        store=True,
    ),
    Outlet(
        "Codex's hook outputs",
        ("$TMPDIR/hook_outputs",),
        "seen with 0.171.0: hook_outputs/THREAD/ID.txt, for what is over a hook's limit",
    ),
    Outlet(
        "Gemini CLI's output",
        ("$GEMINI_CLI_HOME/.gemini/tmp", "~/.gemini/tmp"),
        "geminicli.com, session management (PROJECT/chats); google-gemini/gemini-cli PR 17594 (tool outputs), PR 21189 "
        "(background-processes/*.log), PR 27365 (what else lies there)",
        kept=("chats", "checkpoints", "plans", "tracker", "tasks", "memory", "logs.json", "shell_history"),
    ),
    Outlet(
        "Gemini CLI's shell directories",
        ("$TMPDIR/gemini-shell-*",),
        "google-gemini/gemini-cli#28392 (never removed after a command in the background)",
        SCRATCH,
        small=True,
    ),
    Outlet(
        "Copilot CLI's logs",
        ("$COPILOT_HOME/logs", "~/.copilot/logs"),
        "docs.github.com, Copilot CLI configuration directory; github/copilot-cli#4612 (13 GB)",
    ),
    Outlet(
        "OpenCode's logs and tool output",
        ("$XDG_DATA_HOME/opencode/log", "$XDG_DATA_HOME/opencode/tool-output",
         "~/.local/share/opencode/log", "~/.local/share/opencode/tool-output"),
        "opencode.ai, troubleshooting (log); anomalyco/opencode#29694 (tool-output)",
    ),
    Outlet(
        "OpenCode's snapshots",
        ("$XDG_DATA_HOME/opencode/snapshot", "~/.local/share/opencode/snapshot"),
        "opencode.ai, troubleshooting (snapshot, used for undo); anomalyco/opencode#9290, #17397 (pruned after 7 days)",
        UNDO,
        store=True,
    ),
    Outlet(
        "OpenCode's journals",
        ("$XDG_DATA_HOME/opencode/*.db-wal", "~/.local/share/opencode/*.db-wal"),
        "opencode.ai, troubleshooting (opencode.db, or another name); anomalyco/opencode#37495",
        DATABASES,
        small=True,
        store=True,
    ),
    Outlet(
        "OpenCode's scratch",
        ("$TMPDIR/opencode",),
        "anomalyco/opencode#44644 (agents are told to use it)",
        SCRATCH,
    ),
    Outlet(
        "OpenCode's temporary databases",
        ("$TMPDIR/opencode-wal-*.db*",),
        "anomalyco/opencode#36831 (268 GB in 200 files), #39463",
        SCRATCH,
        small=True,
        store=True,
    ),
    Outlet(
        "OpenCode's unpacked libraries",
        ("$TMPDIR/.*-0000000[0-9].so",),
        "anomalyco/opencode#28089 (728 GB in 154,000 files), #6523",
        SCRATCH,
        small=True,
    ),
    Outlet(
        "profiles of automated browsers",
        ("$TMPDIR/puppeteer_dev_*profile-*", "$TMPDIR/playwright_*dev_profile-*"),
        "puppeteer/puppeteer PR 8580, #6414; microsoft/playwright#2853",
        BROWSERS,
        small=True,
    ),
    Outlet(
        "LifeOS's status line",
        ("$TMPDIR/pai-parallel-*",),
        "danielmiessler/LifeOS#1297, PR 1767",
        SCRATCH,
        small=True,
    ),
)  # fmt: skip


class Found(NamedTuple):
    """Output that is there: one pile. `place` is its directory, or the pattern that its `roots` match in `directory`;
    `link` is where a place leads that is a symbolic link, and it has no roots then: it is not followed.
    """

    outlet: Outlet
    place: str
    directory: str
    roots: Sequence[str]
    link: str = ""

    @property
    def name(self) -> Phrase:
        """Whose output it is, in our words; its place, where somebody else named it."""
        return say(self.outlet.name) if self.outlet.name else say("{}", self.place)


def find_outputs(
    outlets: Sequence[Outlet], environ: Mapping[str, str], expand: Callable[[str], str], base: str
) -> tuple[list[Found], list[tuple[str, str]]]:
    """What of these outlets is there, and which places could not be looked for, with the reasons.

    `expand` replaces variables and `~`; relative places are taken from `base`. In a directory that others use too, what
    is another user's does not count.
    """
    found: dict[str, Found] = {}
    failed: list[tuple[str, str]] = []
    listed: dict[str, list[str]] = {}
    for outlet in outlets:
        for place in usable_places(outlet, environ):
            above, name = os.path.split(place)
            is_family = glob.has_magic(name)
            roots = find_roots([above if is_family else place], base, expand)
            failed += roots.failed
            for path in roots.found:
                try:
                    pile = _family(outlet, path, name, listed) if is_family else _single(outlet, path)
                except OSError as error:
                    failed.append((path, error.strerror or str(error)))
                    continue
                if pile is not None:
                    found.setdefault(pile.place, pile)
    return list(found.values()), failed


def usable_places(outlet: Outlet, environ: Mapping[str, str]) -> list[str]:
    """The patterns of an outlet that mean something in this environment."""
    uid = str(os.getuid()) if hasattr(os, "getuid") else ""
    places = outlet.places[:1] if environ.get(outlet.told) else outlet.places
    return [place.replace("$UID", uid) for place in places if _is_usable(place, environ)]


def _is_usable(place: str, environ: Mapping[str, str]) -> bool:
    variable = re.match(r"\$(\w+)", place)
    return variable is None or variable[1] == "TMPDIR" or os.path.isabs(environ.get(variable[1], ""))


def _single(outlet: Outlet, path: str) -> Found | None:
    if os.path.islink(path):
        real = os.path.realpath(path)
        return Found(outlet, path, path, (), real) if os.path.isdir(real) else None
    if is_shared(os.path.dirname(path)) and os.lstat(path).st_uid != os.geteuid():
        return None
    return Found(outlet, path, path, [path])


def _family(outlet: Outlet, directory: str, name: str, listed: dict[str, list[str]]) -> Found | None:
    if directory not in listed:
        try:
            listed[directory] = os.listdir(directory)
        except (FileNotFoundError, NotADirectoryError):
            listed[directory] = []
    roots = [os.path.join(directory, each) for each in fnmatch.filter(listed[directory], name)]
    return Found(outlet, os.path.join(directory, name), directory, roots) if roots else None


def is_shared(directory: str) -> bool:
    """Whether users share a directory, each with what is theirs in it: a sticky one, as /tmp is."""
    try:
        return bool(os.stat(directory).st_mode & stat.S_ISVTX)
    except OSError:
        return False


def place_pattern(
    outlets: Sequence[Outlet], environ: Mapping[str, str], expand: Callable[[str], str], base: str
) -> re.Pattern[str]:
    """Matches every path that lies, or lay, in a place of one of these outlets; real paths, as /proc has them."""
    patterns = []
    for place in dict.fromkeys(each for outlet in outlets for each in usable_places(outlet, environ)):
        head = place
        while glob.has_magic(head):
            head = os.path.dirname(head)
        rest = place[len(head) :].lstrip("/")
        real = os.path.realpath(os.path.join(base, expand(head)))
        patterns.append(re.escape(real) + (r"/" + _translate(rest) if rest else ""))
    return re.compile("(?:" + "|".join(patterns) + r")(?:/.*)?", re.DOTALL)


# An escaped character, a set, or what stands for any character: neither of the first two holds the last.
_PIECE = r"\\.|\[(?:\\.|[^\]\\])*\]|\."


def _translate(pattern: str) -> str:
    """A pattern of paths as a regular expression: what stands for any character, in one of its parts, is no slash."""
    parts = [re.sub(r"\\[Zz]$", "", fnmatch.translate(part)) for part in pattern.split("/")]
    return "/".join(re.sub(_PIECE, _without_slash, part) for part in parts)


def _without_slash(found: re.Match[str]) -> str:
    if found[0] == ".":
        return "[^/]"
    return f"(?!/){found[0]}" if found[0].startswith("[^") else found[0]
