"""A project, a user, and the files in which both configure the gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gate.api import Options, option
from gate.config.configuration import Configuration, load
from gate.config.tomlfile import LIMIT
from gate.project import find_project
from gate.units import Duration, Size

DAY = 86_400.0
A_DURATION = 'a duration such as "48h", "7d", "30min" or a number of seconds'
A_SIZE = 'a size such as "512MiB", "2GB" or a number of bytes'
A_COUNT = "a whole number from 0 to 1000000000000"
A_LIST = 'a list of strings, such as ["one", "two"]'
NAMES = 'a list of names of checks, such as ["temp_size"]'


@dataclass(frozen=True)
class TempSize(Options):
    paths: tuple[str, ...] = option(("$TMPDIR/capture-live",), "directories to watch")
    max_bytes: Size = option(Size(512 << 20), "bytes that are too many")
    max_files: int = option(20, "files that are too many")
    quick: bool = option(False, "look at names only")
    share: float = option(0.5, "of the disk")
    word: str = option("a", "a word")


@dataclass(frozen=True)
class Locks(Options):
    older_than: Duration = option(Duration(48 * 3600), "age")
    places: tuple[str, ...] = option((".git/*.lock", "~/.client/*.lock"), "where to look")


CHECKS: dict[str, type] = {"temp_size": TempSize, "stale_locks": Locks, "bare": Options}


class Setting:
    """A project, a user, and their files."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "project"
        self.home = directory / "home"
        self.temp = directory / "temp"
        for path in (self.root, self.home, self.temp):
            path.mkdir()
        self.user = self.home / "config" / "session-gate" / "config.toml"
        self.user.parent.mkdir(parents=True)
        self.own = self.root / ".gate.toml"
        self.pyproject = self.root / "pyproject.toml"
        config = str(self.home / "config")
        self.environ = {"HOME": str(self.home), "TMPDIR": str(self.temp), "XDG_CONFIG_HOME": config}

    def load(self, user: str = "", project: str = "", checks: Mapping[str, type] = CHECKS) -> Configuration:
        if user:
            self.user.write_text(user)
        if project:
            self.own.write_text(project)
        return load(find_project(str(self.root)), self.environ, checks)

    def said(self, configuration: Configuration) -> list[tuple[str, str]]:
        """The problems, each with its file's base name before its key."""
        return [(f"{Path(problem.file).name}:{problem.key}", problem.text) for problem in configuration.problems]


def value_of(configuration: Configuration, key: str) -> tuple[str, str]:
    return next((value, origin) for name, value, origin in configuration.values() if name == key)


WRONG = [
    ("stale_after = true", "stale_after", f"expected {A_DURATION}"),
    ('stale_after = "7 parsecs"', "stale_after", f"expected {A_DURATION}"),
    ('stale_after = "400d"', "stale_after", 'expected "0s" to "366d"'),
    ("stale_after = -5", "stale_after", f"expected {A_DURATION}"),
    ("stale_after = nan", "stale_after", f"expected {A_DURATION}"),
    ("stale_after = 2026-11-30", "stale_after", f"expected {A_DURATION}"),
    ('inject_limit = "many"', "inject_limit", f"expected {A_COUNT}"),
    ("inject_limit = 1000.0", "inject_limit", f"expected {A_COUNT}"),
    ("inject_limit = 0", "inject_limit", "expected 200 to 10000"),
    ("inject_limit = 10001", "inject_limit", "expected 200 to 10000"),
    ('disable = "bare"', "disable", f"expected {NAMES}"),
    ("disable = [1]", "disable", f"expected {NAMES}"),
    ('disable = ["temp_sise"]', "disable", "no check is named temp_sise; did you mean 'temp_size'?"),
    ('disable = ["zzz"]', "disable", "no check is named zzz"),
    ("stale-after = '7d'", "stale-after", "no such key; did you mean 'stale_after'?"),
    ("inject_limits = 5", "inject_limits", "no such key; did you mean 'inject_limit'?"),
    ("[temp_size]\nmax_files = 3", "temp_size", "no such key; did you mean 'checks.temp_size'?"),
    ("[tool.session-gate]\ndisable = []", "tool",
     "no such key: in this file the keys of tool.session-gate stand at top level"),
    ("checks = 3", "checks", "expected a table for each check, such as [checks.temp_size]"),
    ("[checks.tmp_size]\nmax_files = 3", "checks.tmp_size", "no such check; did you mean 'temp_size'?"),
    ("[[checks.temp_size]]\nmax_files = 3", "checks.temp_size", "expected a table of options"),
    ("checks.temp_size = 3", "checks.temp_size", "expected a table of options"),
    ("[checks.temp_size]\nmax_file = 3", "checks.temp_size.max_file", "no such option; did you mean 'max_files'?"),
    ("[checks.temp_size]\nmax_files = true", "checks.temp_size.max_files",
    f"expected {A_COUNT}"),
    ("[checks.temp_size]\nmax_files = -1", "checks.temp_size.max_files",
    f"expected {A_COUNT}"),
    ("[checks.temp_size]\nmax_files = 1000000000001", "checks.temp_size.max_files",
     f"expected {A_COUNT}"),
    ("[checks.temp_size]\nmax_bytes = '5 XiB'", "checks.temp_size.max_bytes",
     f"expected {A_SIZE}"),
    ("[checks.temp_size]\nmax_bytes = '2EB'", "checks.temp_size.max_bytes",
     f"expected {A_SIZE}"),
    ("[checks.temp_size]\nmax_bytes = '9999999TiB'", "checks.temp_size.max_bytes",
     f"expected {A_SIZE}, 1 EiB at most"),
    ("[checks.temp_size]\nmax_bytes = []", "checks.temp_size.max_bytes",
     f"expected {A_SIZE}"),
    ("[checks.temp_size]\nquick = 1", "checks.temp_size.quick", "expected true or false"),
    ("[checks.temp_size]\nshare = inf", "checks.temp_size.share", "expected a number from 0 to 1000000000000"),
    ("[checks.temp_size]\nshare = '1'", "checks.temp_size.share", "expected a number from 0 to 1000000000000"),
    ("[checks.temp_size]\nword = 1", "checks.temp_size.word", "expected a string"),
    ("[checks.temp_size]\nignore = '*.keep'", "checks.temp_size.ignore",
     f"expected {A_LIST}"),
    ("[checks.temp_size]\nignore = ['a', 1]", "checks.temp_size.ignore",
     f"expected {A_LIST}"),
    ("[checks.temp_size]\nignore = ['']", "checks.temp_size.ignore", f"expected {A_LIST}"),
    ('[checks.temp_size]\nignore = ["a\\u0000"]', "checks.temp_size.ignore",
     f"expected {A_LIST}"),
    ("[checks.stale_locks]\nolder_than = '1000y'", "checks.stale_locks.older_than",
     f"expected {A_DURATION}"),
    ("a = " + "1" * 5000, "", "is not TOML that can be read: it holds a number that is too long"),
    ("a = " + "[" * 5000 + "]" * 5000, "", "is not TOML that can be read: it is nested too deeply"),
    ("a" + ".a" * 40 + " = 1", "", "holds a key of more than 32 parts"),
    ("#" * (LIMIT + 1), "", "is larger than 512 KiB"),
]  # fmt: skip
