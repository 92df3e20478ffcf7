"""What a process may be called, whatever its arguments hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.world.programs import called, is_kept


@pytest.mark.parametrize(
    ("name", "words", "shown"),
    [
        ("sleep", ["sleep", "1000"], "sleep"),
        ("sleep", [], "sleep"),
        ("bash", ["-bash"], "bash"),
        ("python3.11", ["/usr/bin/python3.11", "-I", "script.py", "--token", "x"], "python3.11 script.py"),
        ("python3", ["python3", "-m", "pytest", "-k", "x"], "python3 -m pytest"),
        ("python3", ["python3", "-m", "not a module"], "python3"),
        ("node", ["node", "sub/server.js"], "node server.js"),
        ("node", ["node", "--inspect", "gone.js"], "node"),
        ("node", ["node", "-e", "script.py"], "node"),
        ("sh", ["sh", "-c", "script.py"], "sh"),
        ("bash", ["bash", "-lc", "script.py"], "bash"),
        ("perl", ["perl", "-m", "secret"], "perl"),
        ("", ["secret"], ""),
        ("MainThread", ["node", "sub/server.js"], "node server.js"),
        ("tmux: server", ["tmux", "new", "-d"], "tmux: server"),
        ("nginx", ["nginx: master process secret"], "nginx: master process secret"[:5]),
        ("long-name-of-an", ["/opt/long-name-of-an-executable", "x"], "long-name-of-an-executable"),
        ("x", ["secret", "x"], "x"),
        ("node", ["node", "a\0b"], "node"),
    ],
)
def test_a_program_is_shown_and_what_an_interpreter_runs(
    tmp_path: Path, name: str, words: list[str], shown: str
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "script.py").touch()
    (tmp_path / "sub" / "server.js").touch()
    assert " ".join(called(name, words, str(tmp_path))) == shown


@given(words=st.lists(st.text(), min_size=1, max_size=5), secret=st.text("abcdef0123456789", min_size=8))
def test_no_argument_that_is_no_file_is_ever_shown(words: list[str], secret: str) -> None:
    for name in ("python3", "sh", "curl"):
        assert secret not in " ".join(called(name, [name, *words, f"--token={secret}", secret], "/nowhere"))


@pytest.mark.parametrize(
    ("name", "words", "kept"),
    [
        ("chrome", ["chrome"], True),
        ("chrome", ["chrome", "--user-data-dir=/home/a/.config/google-chrome"], True),
        ("chrome", ["chrome", "--user-data-dir=/tmp/puppeteer_dev_chrome_profile-x"], False),
        ("chrome", ["chrome", "--remote-debugging-pipe"], False),
        ("firefox", ["firefox", "-profile", "/home/a/x", "--marionette"], False),
        ("java", ["java", "org.gradle.launcher.daemon.bootstrap.GradleDaemon"], True),
        ("java", ["java", "-jar", "app.jar"], False),
        ("git", ["/usr/bin/git", "fsmonitor--daemon", "run"], True),
        ("git", ["git", "clone"], False),
        ("git", ["git", "clone", "https://example.org/gc"], False),
        ("turbo", ["turbo", "run", "--filter=daemon"], False),
        ("dotnet", ["dotnet", "MSBuild.dll", "/nodemode:1", "/nodeReuse:true"], True),
        ("ssh", ["ssh: /home/a/.ssh/cm-git@example.org:22 [mux]"], True),
        ("ssh", ["ssh", "-N", "-L", "8080:localhost:80", "host"], False),
        ("codex", ["codex", "exec"], False),
        ("cursor-agent", ["cursor-agent"], False),
        ("claude", ["claude", "daemon"], True),
        ("code", ["code"], True),
    ],
)
def test_what_stays_by_design_is_told_by_arguments(name: str, words: list[str], kept: bool) -> None:
    assert is_kept(name, words, alive_directory=True) is kept
