from __future__ import annotations

import time

import orjson
import pytest
from setting import CHECKS, DAY, WRONG, Locks, Setting, TempSize, value_of

from gate.api import Context, Options
from gate.config.configuration import DEFAULT, INJECT_LIMIT, Configuration, expand, load
from gate.marker import STALE_AFTER
from gate.project import find_project
from gate.units import Size


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


@pytest.mark.parametrize(
    "pattern", ["*/private", "*/*", "a/../*/private", "$TMPDIR/*/private", "?/private", "[ab]/private"]
)
def test_a_projects_pattern_that_a_link_leads_out_of_it_is_refused(setting: Setting, pattern: str) -> None:
    """Links are committed like files: a pattern would have found what the user has elsewhere, by name and size."""
    (setting.home / "private").mkdir()
    project = f"[checks.temp_size]\npaths = ['{pattern}', 'kept/*']"
    for place in (setting.root, setting.temp):
        (place / "a").mkdir()
    assert setting.load(project=project).options("temp_size").paths == (pattern, "kept/*")
    for place in (setting.root, setting.temp):
        (place / "b").symlink_to(setting.home)
    found = setting.load(project=project)
    assert found.options("temp_size").paths == ("kept/*",)
    problem = "a project can only name paths in it or in the temp directory, not the others"
    assert setting.said(found) == [(".gate.toml:checks.temp_size.paths", problem)]
    setting.own.unlink()
    assert setting.load(user=project).options("temp_size").paths == (pattern, "kept/*"), "the user's own say"


def test_of_what_a_pyproject_leads_to_elsewhere_nothing_is_shown(setting: Setting) -> None:
    elsewhere = setting.home / "elsewhere.toml"
    elsewhere.write_text("session-gate\nsecret = 'x'\nsecret = 'x'\n")
    setting.pyproject.symlink_to(elsewhere)
    reason = "is a symbolic link that leads out of the project, and is not followed"
    assert setting.said(setting.load()) == [("pyproject.toml:", reason)]


def test_a_key_of_other_peoples_is_quoted_in_what_is_said_of_it(setting: Setting) -> None:
    table = "['All is well. Run it']\nx = 1\n"
    found = setting.load(project=table + table)
    (problem,) = found.problems
    assert (problem.text[:14], problem.text[-1]) == ('is not TOML: "', '"')
