from __future__ import annotations

import json
import os
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gate.api import Context, Options, option
from gate.config.configuration import DEFAULT, INJECT_LIMIT, Configuration, Problem, expand, load, loosened
from gate.config.sources import files
from gate.config.tomlfile import LIMIT
from gate.marker import STALE_AFTER
from gate.project import find_project
from gate.units import Duration, Size

if TYPE_CHECKING:
    from decimal import Decimal

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


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    directory = tmp_path.resolve() / "setting"
    directory.mkdir()
    return Setting(directory)


def value_of(configuration: Configuration, key: str) -> tuple[str, str]:
    return next((value, origin) for name, value, origin in configuration.values() if name == key)


def test_without_files_the_defaults_are_in_force(setting: Setting) -> None:
    found = setting.load()
    assert (found.stale_after, found.inject_limit, dict(found.disabled)) == (STALE_AFTER, INJECT_LIMIT, {})
    assert (found.problems, found.broken) == ((), frozenset())
    assert [found.options(check) for check in CHECKS] == [TempSize(), Locks(), Options()]
    assert found.values() == [
        ("disable", "[]", "default"),
        ("inject_limit", "2000", "default"),
        ("stale_after", '"7d"', "default"),
        ("checks.bare.ignore", "[]", "default"),
        ("checks.stale_locks.ignore", "[]", "default"),
        ("checks.stale_locks.older_than", '"48h"', "default"),
        ("checks.stale_locks.places", '[".git/*.lock", "~/.client/*.lock"]', "default"),
        ("checks.temp_size.ignore", "[]", "default"),
        ("checks.temp_size.max_bytes", '"512MiB"', "default"),
        ("checks.temp_size.max_files", "20", "default"),
        ("checks.temp_size.paths", '["$TMPDIR/capture-live"]', "default"),
        ("checks.temp_size.quick", "false", "default"),
        ("checks.temp_size.share", "0.5", "default"),
        ("checks.temp_size.word", '"a"', "default"),
    ]
    with pytest.raises(KeyError):
        found.options("no_such_check")


def test_a_program_is_given_numbers_in_base_units(setting: Setting) -> None:
    values = {value.pop("key"): value for value in setting.load(user="stale_after = '30d'").to_json()}
    default, given = {"unit": None, "origin": "default"}, str(setting.user)
    assert values["stale_after"] == {"value": 30 * DAY, "unit": "seconds", "origin": given}
    assert values["checks.temp_size.max_bytes"] == {**default, "value": 512 << 20, "unit": "bytes"}
    assert values["checks.temp_size.max_files"] == {**default, "value": 20}
    assert values["checks.temp_size.quick"] == {**default, "value": False}
    assert values["checks.temp_size.share"] == {**default, "value": 0.5}
    assert values["checks.temp_size.word"] == {**default, "value": "a"}
    assert values["checks.stale_locks.places"] == {**default, "value": [".git/*.lock", "~/.client/*.lock"]}
    assert list(values) == [key for key, _, _ in setting.load().values()]
    orjson.dumps(values)


def test_a_configuration_can_be_made_up() -> None:
    assert (Configuration().stale_after, Configuration().values()) == (STALE_AFTER, [
        ("disable", "[]", DEFAULT), ("inject_limit", "2000", DEFAULT), ("stale_after", '"7d"', DEFAULT),
    ])  # fmt: skip


def test_every_kind_of_value_is_taken(setting: Setting) -> None:
    found = setting.load(
        user="""
        stale_after = "30d"
        inject_limit = 4000
        disable = ["bare"]
        [checks.temp_size]
        paths = ["/var/capture", "~/capture"]
        max_bytes = "1.5 GiB"
        max_files = 0
        quick = true
        share = 1
        word = "ü"
        ignore = ["*.keep"]
        [checks.stale_locks]
        older_than = 3600
        """
    )
    assert found.problems == ()
    assert (found.stale_after, found.inject_limit) == (30 * DAY, 4000)
    assert dict(found.disabled) == {"bare": str(setting.user)}
    assert type(found.stale_after) is float
    assert found.options("temp_size") == TempSize(
        ("*.keep",), ("/var/capture", "~/capture"), Size(3 << 29), 0, True, 1.0, "ü"
    )
    assert type(found.options("temp_size").max_bytes) is Size
    assert type(found.options("temp_size").share) is float
    assert found.options("stale_locks").older_than == 3600
    assert value_of(found, "checks.stale_locks.older_than") == ('"1h"', str(setting.user))
    assert value_of(found, "checks.temp_size.max_bytes") == ('"1536MiB"', str(setting.user))
    assert value_of(found, "checks.stale_locks.places")[1] == DEFAULT
    assert value_of(found, "disable") == ('["bare"]', str(setting.user))
    assert found.origin("inject_limit") == str(setting.user)
    assert found.origin("no.such.key") == DEFAULT


def test_the_project_comes_before_the_user_key_by_key(setting: Setting) -> None:
    found = setting.load(
        user='disable = ["bare"]\n[checks.temp_size]\nmax_files = 5\nmax_bytes = 7\nignore = ["a"]',
        project='disable = ["stale_locks", "bare"]\n[checks.temp_size]\nmax_files = 50\nignore = ["b"]',
    )
    assert found.problems == ()
    options = found.options("temp_size")
    assert (options.max_files, options.max_bytes, options.ignore) == (50, 7, ("b",))
    assert dict(found.disabled) == {"bare": str(setting.user), "stale_locks": str(setting.own)}
    assert value_of(found, "checks.temp_size.max_files") == ("50", str(setting.own))
    assert value_of(found, "checks.temp_size.max_bytes") == ("7", str(setting.user))
    assert value_of(found, "disable") == ('["bare", "stale_locks"]', f"{setting.user}, {setting.own}")


def test_pyproject_counts_where_there_is_no_file_of_our_own(setting: Setting) -> None:
    ours = '[tool.session-gate]\ndisable = ["bare"]'
    setting.pyproject.write_text(f'[project]\nname = "x"\n{ours}\n[tool.other]\nfoo = 1\n')
    assert dict(setting.load().disabled) == {"bare": str(setting.pyproject)}
    assert dict(setting.load(project="inject_limit = 300").disabled) == {}


@pytest.mark.parametrize(
    "text",
    ["", "[project]\nname = 'x'", "[tool.other]\nkey = 1", "tool = 3", "dependencies = ['session-gate']", "not toml [",
     "[project]\nname = 'session-gate'\n[tool]"],
)  # fmt: skip
def test_of_a_pyproject_that_is_not_about_us_nothing_is_said(setting: Setting, text: str) -> None:
    setting.pyproject.write_text(text)
    assert setting.load().problems == ()
    setting.pyproject.write_bytes(b"caf\xe9 = 1")
    assert setting.load().problems == ()


def test_a_pyproject_that_is_none_is_nothing(setting: Setting) -> None:
    setting.pyproject.mkdir()
    assert setting.load().problems == ()
    setting.pyproject.rmdir()
    setting.pyproject.symlink_to("nowhere")
    assert setting.load().problems == ()
    setting.pyproject.unlink()
    os.mkfifo(setting.pyproject)
    assert setting.load().problems == ()


@pytest.mark.parametrize(
    ("text", "key", "problem"),
    [
        ("[tool.session-gate]\nno = 1", "no", "no such key"),
        ("[tool]\nsession-gate = 5", "tool.session-gate", "expected a table"),
        ("[tool.session-gate\n", "",
        "is not TOML: Expected ']' at the end of a table declaration (at line 1, column 19)"),
        ("[tool.session-gate.checks.temp_size]\nmax_files = 'x'", "checks.temp_size.max_files",
         f"expected {A_COUNT}"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_our_part_of_pyproject_is_said(setting: Setting, text: str, key: str, problem: str) -> None:
    setting.pyproject.write_text(text)
    assert setting.said(setting.load()) == [(f"pyproject.toml:{key}", problem)]


def test_the_user_s_directory_is_the_platforms_where_no_file_is_named(setting: Setting) -> None:
    path = setting.home / "xdg" / "session-gate" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text("inject_limit = 700")
    environ = {"HOME": str(setting.home), "XDG_CONFIG_HOME": str(setting.home / "xdg")}
    found = load(find_project(str(setting.root)), environ, CHECKS)
    assert (found.inject_limit, found.origin("inject_limit")) == (700, str(path))


def test_a_file_that_the_user_named_may_be_missing(setting: Setting) -> None:
    named = setting.home / "mine.toml"
    setting.environ["SESSION_GATE_CONFIG"] = str(named)
    assert (setting.load().problems, setting.load().inject_limit) == ((), INJECT_LIMIT)
    named.write_text("inject_limit = 300")
    assert (setting.load().problems, setting.load().inject_limit) == ((), 300)
    setting.environ["SESSION_GATE_CONFIG"] = ""
    assert (setting.load().problems, setting.load().inject_limit) == ((), INJECT_LIMIT)


def test_a_relative_name_does_not_make_a_projects_file_the_users(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    (setting.root / "config.toml").write_text("inject_limit = 9000")
    monkeypatch.chdir(setting.root)
    setting.environ["SESSION_GATE_CONFIG"] = "config.toml"
    found = setting.load()
    assert found.inject_limit == INJECT_LIMIT
    assert ["SESSION_GATE_CONFIG" in str(problem) for problem in found.problems] == [True]


def test_what_became_of_each_file_is_told(setting: Setting) -> None:
    def fates() -> list[str]:
        found = files(find_project(str(setting.root)), setting.environ)
        assert [path for path, _ in found] == [str(setting.user), str(setting.own), str(setting.pyproject)]
        return [fate for _, fate in found]

    assert fates() == ["not there"] * 3
    setting.pyproject.write_text("[project]\nname = 'session-gate'\n")
    setting.user.write_text("inject_limit = 300")
    assert fates() == ["read", "not there", "has no [tool.session-gate]"]
    setting.pyproject.write_text("[tool.session-gate]\n")
    assert fates() == ["read", "not there", "read"]
    setting.own.write_text("not toml [")
    assert fates() == ["read", "wrong", "not read: .gate.toml is there"]


def test_a_user_without_a_home_is_told_so(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    found = load(find_project(str(setting.root)), {}, CHECKS)
    assert [str(problem)[:40] for problem in found.problems] == ["config.toml: no home directory is known:"]


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


@pytest.mark.parametrize(("text", "key", "problem"), WRONG, ids=lambda value: value[:40])
def test_what_is_wrong_is_named_and_takes_nothing_along(setting: Setting, text: str, key: str, problem: str) -> None:
    (setting.root / ".gate.toml").write_text("[checks.stale_locks]\nplaces = ['x.lock']")
    found = setting.load(user=text)
    assert setting.said(found) == [(f"config.toml:{key}", problem)]
    assert str(found.problems[0]) == f"{setting.user}: {key}: {problem}".replace(": : ", ": ")
    assert (found.stale_after, found.inject_limit, dict(found.disabled)) == (STALE_AFTER, INJECT_LIMIT, {})
    assert found.options("stale_locks").places == ("x.lock",)
    assert found.options("temp_size") == TempSize()
    check = key.split(".")[1] if key.count(".") == 2 or key == "checks.temp_size" else None
    assert found.broken == ({check} if check else set())


@pytest.mark.parametrize(("text", "line"), [("a = \nb = 1\n", 1), ("a = 1\na = 2\n", 2), ("\n\n[checks\nx = 1\n", 3)])
def test_the_line_of_what_is_not_toml_is_named(setting: Setting, text: str, line: int) -> None:
    setting.pyproject.write_text(f"# session-gate\n{text}")
    for found, at in ((setting.load(user=text), line), (setting.load(user=" "), line + 1)):
        (problem,) = [problem for problem in found.problems if problem.text.startswith("is not TOML: ")][:1]
        assert f"(at line {at}, column " in problem.text


def test_one_wrong_option_does_not_lose_the_others(setting: Setting) -> None:
    table = "[checks.temp_size]\nmax_files = 3\nmax_bytes = 'x'\nquick = true"
    found = setting.load(user=f"{table}\n[checks.bare]\nignore = ['a']")
    assert found.options("temp_size") == TempSize(max_files=3, quick=True)
    assert found.options("bare").ignore == ("a",)
    assert found.broken == {"temp_size"}


def test_what_the_user_has_wrong_a_right_project_does_not_hide(setting: Setting) -> None:
    found = setting.load(user="[checks.temp_size]\nmax_files = 'x'", project="[checks.temp_size]\nmax_files = 5")
    assert found.options("temp_size").max_files == 5
    assert found.broken == {"temp_size"}
    assert len(found.problems) == 1


@pytest.mark.parametrize("file", ["user", "own"])
def test_files_that_cannot_be_read_are_said(setting: Setting, file: str) -> None:
    path: Path = getattr(setting, file)
    path.mkdir()
    assert [problem.text for problem in setting.load().problems] == ["is a directory"]
    path.rmdir()
    os.mkfifo(path)
    assert [problem.text for problem in setting.load().problems] == ["is not a regular file"]
    path.unlink()
    path.write_bytes(b'a = 1\nb = "caf\xe9"')
    assert [problem.text for problem in setting.load().problems] == ["is not UTF-8 (at line 2)"]
    path.unlink()
    path.symlink_to(path.name)
    assert [problem.text[:35] for problem in setting.load().problems] == ["cannot be read: Too many levels of "]
    path.unlink()
    path.symlink_to("nowhere")
    assert [problem.text for problem in setting.load().problems] == ["cannot be read: No such file or directory"]
    assert setting.load().problems[0].file == str(path)


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_a_file_without_the_right_to_read_it_is_said(setting: Setting) -> None:
    setting.user.write_text("inject_limit = 300")
    setting.user.chmod(0)
    assert [problem.text for problem in setting.load().problems] == ["cannot be read: Permission denied"]


def test_a_byte_order_mark_is_no_error(setting: Setting) -> None:
    setting.user.write_bytes(b"\xef\xbb\xbfinject_limit = 300\r\n")
    assert (setting.load().problems, setting.load().inject_limit) == ((), 300)


def test_a_project_s_file_may_be_a_link_within_it_and_none_out_of_it(setting: Setting) -> None:
    (setting.root / "conf").mkdir()
    (setting.root / "conf" / "gate.toml").write_text("inject_limit = 300")
    setting.own.symlink_to("conf/gate.toml")
    assert setting.load().inject_limit == 300
    setting.own.unlink()
    (setting.home / "gate.toml").write_text("inject_limit = 400\n[tool.session-gate]\ninject_limit = 400")
    refused = "is a symbolic link that leads out of the project, and is not followed"
    for path in (setting.own, setting.pyproject):
        path.symlink_to("../home/gate.toml")
        found = setting.load()
        assert (found.inject_limit, setting.said(found)) == (INJECT_LIMIT, [(f"{path.name}:", refused)])
        path.unlink()
    (setting.home / "gate.toml").write_text("[project]\nname = 'session-gate'")
    setting.pyproject.symlink_to("../home/gate.toml")
    assert setting.load().problems == ()


def test_the_user_s_file_may_be_a_link_anywhere(setting: Setting) -> None:
    (setting.temp / "dotfiles").write_text("inject_limit = 300")
    setting.user.symlink_to(setting.temp / "dotfiles")
    assert setting.load().inject_limit == 300


def test_only_the_main_worktree_s_file_counts(setting: Setting) -> None:
    setting.own.write_text("inject_limit = 300")
    below = setting.root / "below"
    below.mkdir()
    (below / ".git").write_text(f"gitdir: {setting.root}/.git/worktrees/below\n")
    git_dir = setting.root / ".git" / "worktrees" / "below"
    (setting.root / ".git" / "objects").mkdir(parents=True)
    git_dir.mkdir(parents=True)
    for directory in (setting.root / ".git", git_dir):
        (directory / "HEAD").write_text("ref: refs/heads/main\n")
    (git_dir / "commondir").write_text("../..\n")
    (below / ".gate.toml").write_text('disable = ["temp_size"]')
    project = find_project(str(below))
    assert (project.root, project.here) == (str(setting.root), str(below))
    found = load(project, setting.environ, CHECKS)
    assert (found.inject_limit, dict(found.disabled)) == (300, {})


@pytest.mark.parametrize(
    ("user", "project", "expected"),
    [
        ("", "stale_after = '3d'", (3 * DAY, 2000, 0)),
        ("", "stale_after = '7d'", (7 * DAY, 2000, 0)),
        ("", "stale_after = '8d'", (7 * DAY, 2000, 1)),
        ("stale_after = '2d'", "stale_after = '3d'", (2 * DAY, 2000, 1)),
        ("stale_after = '30d'", "stale_after = '8d'", (8 * DAY, 2000, 0)),
        ("", "inject_limit = 500", (7 * DAY, 500, 0)),
        ("", "inject_limit = 2001", (7 * DAY, 2000, 1)),
        ("inject_limit = 300", "inject_limit = 400", (7 * DAY, 300, 1)),
        ("", "inject_limit = 0", (7 * DAY, 2000, 1)),
    ],
)
def test_a_project_only_tightens_what_protects_the_user(
    setting: Setting, user: str, project: str, expected: tuple[float, int, int]
) -> None:
    found = setting.load(user, project)
    assert (found.stale_after, found.inject_limit, len(found.problems)) == expected


def test_what_a_project_may_not_loosen_is_said_with_what_stays(setting: Setting) -> None:
    found = setting.load("inject_limit = 500", "inject_limit = 600\nstale_after = '9d'")
    assert setting.said(found) == [
        (".gate.toml:inject_limit", "a project can only make this smaller; 500 stays (the user's file can raise it)"),
        (".gate.toml:stale_after", 'a project can only make this smaller; "7d" stays (the user\'s file can raise it)'),
    ]
    assert found.origin("inject_limit") == str(setting.user)
    assert found.origin("stale_after") == DEFAULT


@pytest.mark.parametrize(
    ("path", "is_own"),
    [("capture", True), ("./a/../b", True), (".", True), ("$TMPDIR", True), ("$TMPDIR/x", True), ("${TMPDIR}/x", True),
     ("~", False), ("~/x", False), ("/", False), ("/etc", False), ("..", False), ("../project-2", False),
     ("a/../../x", False),
     ("$HOME", False), ("$HOME/x", False), ("$TMPDIR/..", False), ("$TMPDIR/../home", False), ("$TMPDIRx", True),
     ("$UNSET/x", True), ("~nobody/x", True), ("out", False), ("out/x", False), ("$ROOT/x", True), ("*.lock", True)],
)  # fmt: skip
def test_a_project_names_no_paths_outside_it_and_the_temp_directory(setting: Setting, path: str, is_own: bool) -> None:
    (setting.root / "out").symlink_to(setting.home)
    setting.environ["ROOT"] = str(setting.root)
    text = f"[checks.temp_size]\npaths = ['inside', '{path}']\n[checks.stale_locks]\nplaces = ['{path}']"
    found = setting.load(project=text)
    refused = "a project can only name paths in it or in the temp directory, not the others"
    assert setting.said(found) == ([] if is_own else [
        (".gate.toml:checks.temp_size.paths", refused), (".gate.toml:checks.stale_locks.places", refused),
    ])  # fmt: skip
    assert found.options("temp_size").paths == (("inside", path) if is_own else ("inside",))
    assert found.options("stale_locks").places == ((path,) if is_own else Locks().places), "or it would look nowhere"
    assert found.broken == set(), "it still looks where it may"
    setting.own.unlink()
    assert setting.load(user=text).options("temp_size").paths == ("inside", path), "the user names what they like"


def test_what_is_ignored_is_a_pattern_and_no_path(setting: Setting) -> None:
    found = setting.load(project="[checks.temp_size]\nignore = ['/etc/*', '~/x']")
    assert (found.problems, found.options("temp_size").ignore) == ((), ("/etc/*", "~/x"))


def test_without_tmpdir_the_temp_directory_is_slash_tmp(setting: Setting) -> None:
    del setting.environ["TMPDIR"]
    found = setting.load(project="[checks.temp_size]\npaths = ['/tmp/x', '$TMPDIR/y', '/var/tmp/z']")
    assert found.options("temp_size").paths == ("/tmp/x", "$TMPDIR/y")


def test_a_relative_temp_directory_needs_no_working_directory(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = setting.temp / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    setting.environ["TMPDIR"] = "scratch"
    found = setting.load(project="[checks.temp_size]\npaths = ['$TMPDIR/x', '/etc']")
    assert found.options("temp_size").paths == ("$TMPDIR/x",)


def test_paths_are_expanded_as_the_checks_expand_them(setting: Setting) -> None:
    environ = {"HOME": "/h", "TMPDIR": "/t", "EMPTY": "", "NESTED": "$HOME"}
    cases = {
        "~": "/h", "~/a": "/h/a", "a~": "a~", "~b/c": "~b/c", "$TMPDIR/a/../b": "/t/b", "${HOME}x": "/hx",
        "$EMPTY/a": "$EMPTY/a",
        "$NESTED/a": "$HOME/a", "$$HOME": "$HOME", "$": "$", "${": "${", "": ".", "/a//b/": "/a/b",
    }  # fmt: skip
    assert {path: expand(path, environ) for path in cases} == cases
    context = Context.__new__(Context)
    context.environ = environ
    assert {path: context.expand(path) for path in cases} == cases
    assert expand("$TMPDIR", {}) == "/tmp"
    assert expand("~/a", {}) == "~/a"


def test_many_problems_are_counted_and_not_all_said(setting: Setting) -> None:
    text = "".join(f"key_{number} = 1\n" for number in range(5000))
    started = time.monotonic()
    found = setting.load(user=text + "[checks.temp_size]\nmax_files = 'x'", project=text)
    assert time.monotonic() - started < 5
    assert len(found.problems) == 21
    assert found.problems[-1].text == "there are more than these 20 problems"
    assert found.broken == {"temp_size"}, "that is known all the same"


class Refusing(Exception):
    pass


@dataclass(frozen=True)
class Picky(Options):
    count: int = option(3, "not 5")

    def __post_init__(self) -> None:
        if self.count == 5:
            raise Refusing("not\nfive")


@dataclass(frozen=True)
class Impossible(Options):
    def __post_init__(self) -> None:
        raise Refusing("never")


@dataclass(frozen=True)
class Unresolved(Options):
    size: Decimal | None = option(None, "an annotation that cannot be resolved at run time")
    count: int = option(3, "so the defaults' types count")
    made: int = field(default=7, init=False)


def test_a_check_that_refuses_its_options_is_broken_alone(setting: Setting) -> None:
    checks = {"picky": Picky, "impossible": Impossible, "temp_size": TempSize}
    found = setting.load(user="[checks.picky]\ncount = 5\n[checks.temp_size]\nmax_files = 5", checks=checks)
    assert [str(problem) for problem in found.problems] == [
        "default: checks.picky: the check refuses its options: Refusing: not\\nfive",
        "default: checks.impossible: the check refuses its options: Refusing: never",
    ]
    assert found.broken == {"picky", "impossible"}
    assert found.options("picky").count == 3
    assert found.options("temp_size").max_files == 5
    with pytest.raises(KeyError):
        found.options("impossible")


def test_annotations_that_cannot_be_resolved(setting: Setting) -> None:
    found = setting.load(user="[checks.x]\ncount = 5\nsize = 1\nignore = ['a']\nmade = 3", checks={"x": Unresolved})
    assert (found.options("x").count, found.options("x").ignore) == (5, ("a",))
    assert setting.said(found) == [
        ("config.toml:checks.x.size", "expected nothing: this option's type is not one that configuration can give"),
        ("config.toml:checks.x.made", "no such option; did you mean 'ignore'?")
        if False
        else ("config.toml:checks.x.made", "no such option"),
    ]


def test_a_problem_is_one_harmless_line() -> None:
    problem = Problem("/a b/\x1b[31m.toml", "checks.\n```.<x>", "expected\n\u202ea table")
    assert str(problem) == '"/a b/\\x1b[31m.toml": "checks.\\n\\x60\\x60\\x60.\\x3cx>": expected\\n\\u202ea table'
    assert str(Problem("/a.toml", "", "is not UTF-8")) == "/a.toml: is not UTF-8"


def test_a_key_of_any_length_makes_a_short_line(setting: Setting) -> None:
    found = setting.load(user=f"{'k' * 100_000} = 1\n[checks.{'c' * 100_000}]\n")
    assert all(len(str(problem)) < 600 for problem in found.problems)
    assert len(found.problems) == 2


KEYS = st.one_of(
    st.sampled_from(["stale_after", "inject_limit", "disable", "checks", "temp_size", "stale_locks", "bare", "tool",
                     "session-gate", "max_bytes", "max_files", "paths", "ignore", "quick", "share", "word",
                     "older_than"]),
    st.text(max_size=5),
)  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["7d", "48h", "512MiB", "-1", "0", "temp_size", "bare", "/etc", "~", "$TMPDIR/x", "../..", "${",
                     "x" * 5000]),
)  # fmt: skip


def without_fold(when: datetime) -> datetime:
    return when.replace(fold=0)


SCALARS = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(), TEXTS, st.dates(), st.datetimes().map(without_fold)
)
TOML: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
TABLES = st.dictionaries(KEYS, TOML, max_size=5)


def toml(value: Any) -> str:
    """A value as TOML, its tables inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(key)} = {toml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, (int, float)):
        return json.dumps(value).replace("NaN", "nan").replace("Infinity", "inf")
    return str(value.isoformat())


def lines(table: Mapping[str, Any]) -> str:
    """A whole file, a line for each key."""
    return "\n".join(f"{quoted(key)} = {toml(value)}" for key, value in table.items())


def quoted(text: str) -> str:
    return '"' + "".join(f"\\U{ord(character):08x}" for character in text) + '"'


def assert_sound(found: Configuration) -> None:
    """What holds of every configuration, whatever the files."""
    assert 0 <= found.stale_after <= STALE_AFTER or found.origin("stale_after").endswith("config.toml")
    assert 200 <= found.inject_limit <= 10_000
    assert set(found.disabled) <= set(CHECKS)
    assert found.broken <= set(CHECKS)
    assert bool(found.problems) >= bool(found.broken)
    for problem in found.problems:
        assert str(problem).isprintable() or not str(problem).isascii()
        assert "\n" not in str(problem)
    for check, cls in CHECKS.items():
        options = found.options(check)
        assert type(options) is cls
        for option_field in fields(cls):
            value, default = getattr(options, option_field.name), option_field.default
            assert type(value) is type(default)
            assert not isinstance(value, (int, float)) or value >= 0
    keys = [key for key, _, _ in found.values()]
    assert keys == ["disable", "inject_limit", "stale_after", *sorted(keys[3:])]
    for key, text, origin in found.values():
        tomllib.loads(f"{key.replace('.', '_')} = {text}")
        assert origin == found.origin(key)
    assert loosened(found.snapshot(), json.loads(orjson.dumps(found.snapshot()))) == []


# One directory for all examples: each writes its files anew.
ANY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@ANY
@given(TABLES, TABLES)
def test_any_tables_give_a_sound_configuration(setting: Setting, user: dict[str, Any], project: dict[str, Any]) -> None:
    for path, table in ((setting.user, user), (setting.own, project)):
        path.write_text(lines(table), encoding="utf-8")
        assert repr(tomllib.loads(lines(table))) == repr(table)
    assert_sound(setting.load())


@ANY
@given(
    st.one_of(st.binary(), st.text().map(str.encode), st.sampled_from([text.encode() for text, _, _ in WRONG])),
    st.binary(max_size=3),
)
def test_any_bytes_give_a_sound_configuration(setting: Setting, text: bytes, more: bytes) -> None:
    for path in (setting.user, setting.own, setting.pyproject):
        path.write_bytes(more + text + more)
    assert_sound(setting.load())
    setting.own.unlink()
    setting.pyproject.write_bytes(b"[tool.session-gate]\n" + text + more)
    assert_sound(setting.load())


@ANY
@given(TABLES)
def test_what_is_shown_can_be_written_back(setting: Setting, table: dict[str, Any]) -> None:
    setting.user.write_text(lines(table), encoding="utf-8")
    first = setting.load()
    setting.user.write_text("\n".join(f"{key} = {value}" for key, value, _ in first.values()), encoding="utf-8")
    second = setting.load()
    assert second.problems == ()
    assert [second.options(check) for check in CHECKS] == [first.options(check) for check in CHECKS]
    assert (second.stale_after, second.inject_limit, set(second.disabled)) == (
        first.stale_after, first.inject_limit, set(first.disabled),
    )  # fmt: skip


def test_a_snapshot_is_json_and_equal_to_itself(setting: Setting) -> None:
    snapshot = setting.load(user="stale_after = '30d'\ndisable = ['bare']\n[checks.temp_size]\nshare = 0.25").snapshot()
    assert orjson.loads(orjson.dumps(snapshot)) == snapshot
    assert loosened(snapshot, snapshot) == []


def test_a_snapshot_holds_no_name_that_is_not_utf_8(tmp_path: Path) -> None:
    directory = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(directory)
    path = os.fsdecode(directory + b"/config.toml")
    Path(path).write_text('disable = ["bare"]\nno_such_key = 1')
    found = load(find_project(str(tmp_path)), {"SESSION_GATE_CONFIG": path}, CHECKS)
    assert dict(found.disabled) == {"bare": path}
    snapshot = orjson.loads(orjson.dumps(found.snapshot()))
    assert loosened(Configuration().snapshot(), snapshot)[0].startswith("bare is disabled by ")
    str(found.problems[0]).encode()


def test_what_was_loosened_is_told(setting: Setting) -> None:
    before = setting.load(user="inject_limit = 500\n[checks.temp_size]\nignore = ['a']").snapshot()
    after = setting.load(
        user="inject_limit = 900",
        project="""
        disable = ["bare"]
        [checks.temp_size]
        ignore = ["b", "c d"]
        max_bytes = "2GiB"
        max_files = 100
        paths = ["here"]
        [checks.stale_locks]
        older_than = "30d"
        """,
    ).snapshot()
    assert loosened(before, after) == [
        f"bare is disabled by {setting.own}",
        "inject_limit is raised from 500 to 900",
        "temp_size.max_bytes is raised from 512MiB to 2GiB",
        "temp_size.max_files is raised from 20 to 100",
        "stale_locks.older_than is raised from 48h to 30d",
        'temp_size.ignore now holds b, "c d"',
        'temp_size.paths no longer holds "$TMPDIR/capture-live"',
    ]


def test_what_was_tightened_is_not(setting: Setting) -> None:
    after = setting.load().snapshot()
    before = setting.load(
        user="disable = ['bare']\nstale_after = '30d'\n[checks.temp_size]\nmax_files = 90\nignore = ['a']\nquick = true"
    ).snapshot()
    assert loosened(before, after) == []


def test_a_check_that_is_gone_is_told_and_a_new_one_is_not(setting: Setting) -> None:
    before = setting.load(checks={"temp_size": TempSize, "bare": Options}).snapshot()
    after = setting.load(checks={"temp_size": TempSize, "stale_locks": Locks}).snapshot()
    assert loosened(before, after) == ["bare is no longer there"]


def test_a_check_disabled_as_before_is_not_told_again(setting: Setting) -> None:
    before = setting.load(user='disable = ["bare"]').snapshot()
    setting.user.unlink()
    after = setting.load(project='disable = ["bare", "temp_size"]').snapshot()
    assert loosened(before, after) == [f"temp_size is disabled by {setting.own}"]


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
SNAPSHOTS = st.fixed_dictionaries({}, optional=dict.fromkeys(("checks", "disabled", "limits", "lists"), JSON))


@pytest.mark.parametrize("pair", [["many", "many"], [None, "x"], [], [5], [5, "5", 5], {}, 5, "55", [[5], "5"]])
def test_a_limit_that_is_none_is_passed_over(pair: Any) -> None:
    limits: tuple[dict[str, Any], ...] = ({"limits": {"a.b": pair}}, {"limits": {"a.b": [7, "7"]}})
    assert loosened(*limits) == loosened(*reversed(limits)) == []


@given(SNAPSHOTS, SNAPSHOTS)
def test_snapshots_from_anywhere_are_compared_as_far_as_they_go(old: dict[str, Any], new: dict[str, Any]) -> None:
    for text in loosened(old, new):
        assert "\n" not in text
    assert loosened(new, new) == []
