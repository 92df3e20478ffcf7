"""Which files configure the gate, and what is said of one that cannot be used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from setting import A_COUNT, CHECKS, Setting, value_of

from gate.config.configuration import INJECT_LIMIT, load
from gate.config.sources import files
from gate.project import find_project


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
        "is not TOML: \"Expected ']' at the end of a table declaration (at line 1, column 19)\""),
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
