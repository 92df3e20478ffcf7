"""Nothing of a repository is executed: one table of what could be, met by every command.

Each repository holds many traps; after the commands have met them, the ordinary use of git makes every one snap.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest
from assault import CODES, ON_A_TERMINAL, Assault
from tally import refuse, tried

from gate.project import find_project

EVERY_HOOK = (
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg",
    "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update",
    "proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc",
    "post-rewrite", "sendemail-validate", "fsmonitor-watchman", "p4-changelist", "post-index-change",
)  # fmt: skip
AT_A_COMMIT = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-index-change")
AT_A_CHECKOUT = ("post-checkout", "reference-transaction", "fsmonitor-watchman")


def write(path: Path, text: str, age: float = 0.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if age:
        os.utime(path, (age, age))
    return path


def change(path: Path) -> None:
    """git has to look into this file: its time is new, its size the same."""
    path.write_bytes(path.read_bytes().swapcase())
    os.utime(path, (1, 1))


def signed(assault: Assault, project: Path) -> None:
    signer = write(
        assault.directory / "sign",
        "#!/bin/sh\ncat > /dev/null; echo '[GNUPG:] SIG_CREATED ' >&2; echo '-----BEGIN PGP SIGNATURE-----'\n",
    )
    signer.chmod(0o755)
    asked = ("-c", f"gpg.program={signer}", "commit-tree", "-S", "-p", "HEAD", "-m", "x", "HEAD^{tree}")
    commit = assault.git(project, *asked).strip()
    for branch in ("main", "worktree-signed"):  # an agent's branch is looked through with git log
        assault.git(project, "update-ref", f"refs/heads/{branch}", commit)
        commit = assault.git(project, *asked).strip()


def named_by_settings(assault: Assault, project: Path) -> list[str]:
    """Programs that git's own settings name, and the commands that run them."""
    trap = assault.trap
    for name in ("driven", "external", "converted"):
        change(project / name)
    write(project / ".git/objects/info/alternates", str(assault.repository("alternate") / ".git/objects"))
    transport = trap("remote-helper")
    settings = {name: trap(name) for name in (
        "core.fsmonitor", "core.pager", "pager.status", "core.editor", "core.askPass", "core.sshCommand",
        "core.gitProxy", "core.alternateRefsCommand", "credential.helper", "diff.external", "diff.driven.command",
        "diff.converted.textconv", "gpg.program", "trailer.evil.command", "tar.evil.command", "remote.near.uploadpack",
    )}  # fmt: skip
    settings |= {name: trap(name, proven=False) for name in (
        "pager.log", "pager.diff", "sequence.editor", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand",
        "gpg.x509.program",
        "interactive.diffFilter", "merge.evil.driver", "mergetool.evil.cmd", "difftool.evil.cmd", "browser.evil.cmd",
        "man.evil.cmd", "uploadpack.packObjectsHook", "remote.near.receivepack", "gc.recentObjectsHook",
        "sendemail.sendmailCmd", "guitool.evil.cmd", "imap.tunnel", "instaweb.httpd", "web.browser",
    )}  # fmt: skip
    settings |= {
        "alias.st": "!" + trap("alias.st"),
        "alias.status": "!" + trap("alias.status", proven=False),
        "alias.for-each-ref": "!" + trap("alias.for-each-ref", proven=False),
        "log.showSignature": "true",
        "trailer.evil.key": "evil",
        "protocol.ext.allow": "always",
        "protocol.allow": "always",
        "remote.origin.url": f"ext::{transport} %S",
        "remote.near.url": str(assault.repository("near")),
        "remote.far.vcs": "evil",
        "diff.submodule": "log",
        "status.submoduleSummary": "true",
        "submodule.recurse": "true",
        "fetch.recurseSubmodules": "true",
        "gc.auto": "1",
        "maintenance.auto": "true",
        "feature.manyFiles": "true",
        "core.fsmonitorHookVersion": "2",
        "init.templateDir": str(project),
    }
    assault.configure(project, settings)
    return [
        f"{ON_A_TERMINAL} git status",
        f"{ON_A_TERMINAL} git show",
        "git diff driven",
        "git diff external",
        "git diff --no-ext-diff converted",
        "printf 'protocol=https\\nhost=h\\n\\n' | GIT_TERMINAL_PROMPT=0 git credential fill",
        "git ls-remote ssh://h/x",
        "git ls-remote git://h/x",
        "git ls-remote origin",
        "git ls-remote near",
        "git rev-list --alternate-refs",
        "git log --max-count=1",
        "git st",
        "echo | git interpret-trailers --trailer evil:x",
        "git archive --format=evil HEAD",
    ]


PLACES = ("tree", "deep/er", "info", "everywhere", "included", "inside", "conditional", "branch", "worktree", "url")
"""By which file a filter is named, or the attribute that calls for it."""

KINDS = {
    f"{place.replace('/', '-')}-{key}": ("deep/er/" if place == "deep/er" else "") + f"{place.replace('/', '-')}-{key}"
    for place in PLACES
    for key in ("clean", "process")
}
"""Filters, and the file that each is for."""


def rules(*begin: str) -> str:
    return "".join(f"{kind} filter={kind}\n" for kind in KINDS if kind.startswith(begin))


def content_filters(assault: Assault, project: Path) -> list[str]:
    """Filters of each kind, called for and named at every level."""
    write(project / "attributes", rules("everywhere"))
    write(
        project / ".git/info/attributes",
        rules(*{kind.partition("-")[0] for kind in KINDS} - {"tree", "deep", "everywhere"}),
    )
    files = {
        "included": ".git/more",
        "inside": "inside.cfg",
        "conditional": ".git/conditional",
        "branch": ".git/branch",
        "url": ".git/url",
        "worktree": ".git/config.worktree",
    }
    assault.configure(project, {
        "core.attributesFile": str(project / "attributes"),
        "extensions.worktreeConfig": "true",
        "remote.third.url": "https://h/x",
        "include.path": "more",
        f"includeIf.gitdir:{project}/.path": "conditional",
        "includeIf.onbranch:main.path": "branch",
        "includeIf.hasconfig:remote.*.url:https://**.path": "url",
    })  # fmt: skip
    assault.configure(project, {"include.path": "../inside.cfg"})
    for kind, path in KINDS.items():
        place, _, key = kind.rpartition("-")
        smudge = assault.trap(f"{kind}-smudge", proven=False)
        named = {key: assault.trap(kind), "smudge": smudge, "required": "true"}
        where = files.get(place, ".git/config")
        assault.configure(project, {f"filter.{kind}.{key}": value for key, value in named.items()}, where)
        change(project / path)
    return [f"git status -- {path}" for path in KINDS.values()]


def hooks(assault: Assault, project: Path, linked: Path) -> list[str]:
    """Hooks of every kind in git's own directory, and in one that a worktree's configuration names."""
    for hook in EVERY_HOOK:
        assault.trap(hook, project / ".git/hooks" / hook, code=0, proven=hook in AT_A_COMMIT + AT_A_CHECKOUT)
        assault.trap(f"linked {hook}", linked / "hooks" / hook, code=0, proven=hook in AT_A_COMMIT)
    assault.configure(project, {"core.hooksPath": "hooks"}, ".git/worktrees/linked/config.worktree")
    os.utime(linked / "README", (1, 1))  # so that git would refresh its index, and then run the hook
    return [
        "echo '* -filter' > .git/info/attributes",
        "git -c core.fsmonitor= commit --allow-empty",
        "git -c core.fsmonitor= commit --allow-empty --message x",
        "git -c core.fsmonitor=.git/hooks/fsmonitor-watchman checkout --quiet -b other",
        f"cd {linked} && export GIT_EDITOR=true; git add README && git commit --allow-empty --message x",
    ]


def test_settings_filters_and_hooks(assault: Assault) -> None:
    project = assault.repository()
    for name in ("driven", "external", "converted", *KINDS.values()):
        write(project / name, "a text\n")
    write(project / ".gitattributes", "driven diff=driven merge=evil\nconverted diff=converted\n" + rules("tree"))
    write(project / "deep/er/.gitattributes", rules("deep"))
    assault.machine.commit(project)
    linked = project / ".claude/worktrees/linked"
    assault.git(project, "worktree", "add", "--quiet", str(linked))
    signed(assault, project)
    proofs = [
        *named_by_settings(assault, project),
        *content_filters(assault, project),
        *hooks(assault, project, linked),
    ]
    said = assault.attack(project)
    assert f"{len(KINDS) + 5} uncommitted paths" in said, "they are compared without their filters"
    assault.attack(linked, [("run",)], hooks=False, watched=[project])
    assault.prove(project, *proofs)


def test_a_filter_of_which_the_configuration_itself_says_nothing(assault: Assault) -> None:
    project = assault.repository()
    write(project / ".git/info/attributes", "* filter=evil\n")
    assault.configure(project, {"filter.evil.clean": assault.trap("included")}, ".git/more")
    assault.configure(project, {"include.path": "more"})
    change(project / "README")
    assault.attack(project, [("run",)], hooks=False)
    assault.prove(project, "git status")


def test_a_filter_that_cannot_be_switched_off(assault: Assault) -> None:
    project = assault.repository()
    write(project / ".git/info/attributes", "* filter=a=b\n")
    assault.configure(
        project, {"filter.a=b.clean": assault.trap("clean"), "filter.a=b.process": assault.trap("process")}
    )
    change(project / "README")
    said = assault.attack(project, [("run",)], hooks=False)
    assert "names a filter that cannot be switched off" in said
    assault.prove(project, "git status", "git config --unset filter.a=b.process; git status")


def arm(assault: Assault, repository: Path, name: str, git_dir: Path | None = None, filters: bool = True) -> None:
    """A repository that runs something as soon as git looks at it."""
    git_dir = git_dir or repository / ".git"
    monitor, clean = assault.trap(f"{name}-fsmonitor"), assault.trap(f"{name}-filter", proven=filters)
    assault.configure(git_dir, {"core.fsmonitor": monitor, "filter.evil.clean": clean}, "config")
    write(git_dir / "info/attributes", "* filter=evil\n")
    assault.trap(f"{name}-hook", git_dir / "hooks/post-index-change", code=0, proven=False)
    if (repository / "README").exists():
        change(repository / "README")


def test_submodules_and_repositories_in_the_tree(assault: Assault) -> None:
    project, source = assault.repository(), assault.repository("source")
    for name in ("sub", "pointed", "linked"):
        assault.git(project, "submodule", "--quiet", "add", str(source), name)
    assault.machine.commit(project)
    arm(assault, project / "sub", "sub", project / ".git/modules/sub")
    elsewhere = assault.repository("elsewhere")
    arm(assault, elsewhere, "elsewhere")
    write(project / "pointed/.git", f"gitdir: {elsewhere}/.git\n")
    (project / "linked/.git").unlink()
    (project / "linked/.git").symlink_to(elsewhere / ".git")
    assault.git(project, "clone", "--quiet", "--bare", str(source), "embedded")
    (project / "embedded/hooks").mkdir(exist_ok=True)
    arm(assault, project / "embedded", "embedded", project / "embedded", filters=False)
    assault.configure(project / "embedded", {"core.bare": "false", "core.worktree": str(project / "sub")}, "config")
    transport = assault.trap("transport")
    assault.configure(project, {
        "submodule.sub.update": "!" + assault.trap("update"),
        "submodule.sub.url": f"ext::{transport} %S",
        "protocol.ext.allow": "always",
        "submodule.recurse": "true",
        "submodule.sub.fetchRecurseSubmodules": "true",
    })  # fmt: skip
    named = {"submodule.sub.url": f"ext::{transport} %S", "submodule.sub.ignore": "all"}
    assault.configure(project, named, ".gitmodules")
    said = assault.attack(project, watched=[assault.machine.directory / "project", elsewhere, source])
    assert "submodule" in said
    assault.attack(project / "embedded", [("run",)], hooks=False, watched=[project, elsewhere])
    assault.prove(
        project,
        "git -C sub status",
        f"git -C {elsewhere} status",
        "git -C embedded status",
        "git -C sub checkout --quiet --detach HEAD; git submodule update --force sub",
        "git ls-remote $(git config submodule.sub.url | sed 's/ %S//')",
    )


def test_a_git_file_or_link_that_leads_to_another_repository(assault: Assault) -> None:
    project, victim = assault.repository(), assault.repository("victim")
    arm(assault, project, "own", project / ".git")
    (project / ".git").rename(project / "innocent")
    write(project / ".git", "gitdir: innocent\n")
    linked = assault.repository("linked")
    shutil.rmtree(linked / ".git")
    (linked / ".git").symlink_to(project / "innocent")
    relocated = assault.repository("relocated")
    arm(assault, relocated, "relocated")
    assault.configure(relocated, {"core.worktree": str(victim)})
    everything = [project, linked, relocated, victim]
    assault.attack(project, [("run",), ("start",), ("end",), ("doctor",)], watched=everything)
    assault.attack(linked, [("run",)], hooks=False, watched=everything)
    said = assault.attack(relocated, [("run",)], hooks=False, watched=everything)
    assert "core.worktree in its configuration leads to another directory" in said
    assault.prove(project, "git status", f"touch {victim}/README; git -C {relocated} status")


def test_a_partial_clone_would_fetch_what_is_missing(assault: Assault) -> None:
    source = assault.repository("source")
    assault.configure(source, {"uploadpack.allowFilter": "true", "uploadpack.allowAnySHA1InWant": "true"})
    clones = {}
    for name, missing in {"blobs": "blob:none", "trees": "tree:0"}.items():
        clones[name] = clone = assault.machine.directory / name
        arguments = ("clone", "--quiet", "--no-checkout", f"--filter={missing}", f"file://{source}", str(clone))
        assault.git(source, *arguments)
        shutil.rmtree(clone / ".git/hooks")
        assault.configure(clone, {"remote.origin.uploadpack": assault.trap(name)})
    helper = assault.trap("helper")
    third = assault.machine.directory / "helper"
    shutil.copytree(clones["trees"], third, symlinks=True)
    config = third / ".git/config"
    config.write_text(config.read_text().replace(f"file://{source}", f"ext::{helper} %S"))
    assault.configure(third, {"protocol.ext.allow": "always"})
    assault.attack(clones["trees"], [("run",), ("end",)])
    for clone in (clones["blobs"], third):
        assault.attack(clone, [("run",)], hooks=False)
    assault.prove(
        third, *(f"git -C {path} status; git -C {path} cat-file -p HEAD:README" for path in (third, *clones.values()))
    )


PLANTED = (
    "gate/__init__.py", "gate/silent.py", "gate/quote.py", "gate/commands/cli.py", "gate_checks/__init__.py",
    "checks/__init__.py", "click.py", "click/__init__.py", "psutil.py", "orjson.py", "git.py", "git/__init__.py",
    "pluggy.py", "tomlkit.py", "json.py", "os.py", "sitecustomize.py", "usercustomize.py", "encodings/__init__.py",
    "conftest.py", "setup.py", "logging.py", "subprocess.py", "_json.py",
)  # fmt: skip
PROGRAMS = ("git", "python", "python3", "ps", "lsof", "sh", "gate", "session-gate", "claude", "fuser", "env", "uname")
HOSTILE_GIT = {
    "GIT_EXTERNAL_DIFF": "{}", "GIT_PAGER": "{}", "GIT_EDITOR": "{}", "GIT_SEQUENCE_EDITOR": "{}", "GIT_ASKPASS": "{}",
    "GIT_SSH": "{}", "GIT_SSH_COMMAND": "{}", "GIT_PROXY_COMMAND": "{}", "SSH_ASKPASS": "{}", "PAGER": "{}",
    "EDITOR": "{}", "VISUAL": "{}", "LESSOPEN": "|{} %s", "BROWSER": "{}", "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "{}", "GIT_CONFIG_KEY_1": "core.worktree",
    "GIT_CONFIG_VALUE_1": "/", "GIT_CONFIG_PARAMETERS": "'core.fsmonitor'='{}'", "GIT_TEMPLATE_DIR": "/",
    "GIT_TRACE": "{}.trace", "GIT_TRACE2": "{}.trace", "GIT_TRACE_SETUP": "{}.trace", "GIT_INDEX_FILE": "{}.trace",
    "GIT_REDIRECT_STDOUT": "{}.trace", "GIT_DIR": "{}", "GIT_WORK_TREE": "/", "GIT_COMMON_DIR": "{}",
    "GIT_OBJECT_DIRECTORY": "{}", "GIT_ALTERNATE_OBJECT_DIRECTORIES": "{}", "GIT_CEILING_DIRECTORIES": "{}",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM": "1", "GIT_OPTIONAL_LOCKS": "1", "GIT_FLUSH": "0", "GIT_ATTR_SOURCE": "HEAD",
    "GIT_LITERAL_PATHSPECS": "0", "GIT_ICASE_PATHSPECS": "1", "GIT_NAMESPACE": "x", "GIT_PREFIX": "x/",
    "GIT_TEST_FSMONITOR": "{}", "GIT_PYTHON_GIT_EXECUTABLE": "{}", "GIT_PYTHON_TRACE": "full",
}  # fmt: skip
HOSTILE_PATH = "bin:.::./bin:{}:{}/bin:{}/../project/bin:"


def test_programs_and_modules_in_the_working_directory(assault: Assault) -> None:
    project = assault.repository()
    for name in PROGRAMS:
        assault.trap(name, project / name, proven=False)
        assault.trap(name, project / "bin" / name, proven=False)
    for name in PLANTED:
        if not (project / name.partition("/")[0]).is_file():
            assault.module(project / name, name)
    write(project / "x.pth", f"import os; os.system('touch {assault.pwned}')\n")
    write(project / "pyvenv.cfg", "home = .\ninclude-system-site-packages = true\n")
    write(project / "setup.cfg", "[options.entry_points]\nsession_gate =\n    evil = conftest\n")
    write(project / "evil-1.dist-info/entry_points.txt", "[session_gate]\nevil = conftest\n")
    write(project / "evil-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: evil\nVersion: 1\n")
    assault.machine.commit(project)
    trap = str(project / "bin/git")
    assault.environ = {name: value.format(trap) for name, value in HOSTILE_GIT.items()}
    assault.environ |= {
        "PATH": HOSTILE_PATH.replace("{}", str(project)) + assault.machine.environ["PATH"],
        "PYTHONSTARTUP": str(project / "conftest.py"),
        "PYTHONBREAKPOINT": "conftest.x",
        "PYTHONINSPECT": "",
    }
    assault.things += len(assault.environ)
    said = assault.attack(project)
    assert not list(assault.machine.directory.rglob("*.trace"))
    assert "git was not found" not in said
    bait = assault.machine.directory / "bait"
    for name in PROGRAMS:
        assault.trap(name, bait / name, proven=False)
        assault.trap(name, bait / "bin" / name, proven=False)
    assault.attack(bait, [("run", "-C", str(project))], hooks=False)


def test_programs_in_other_worktrees_and_around(assault: Assault) -> None:
    """What PATH names there is as much a repository's as what lies in the worktree that one stands in."""
    project = assault.repository()
    linked, third, inner = (assault.machine.directory / name for name in ("linked", "third", "project/vendor/inner"))
    for tree in (linked, third):
        assault.git(project, "worktree", "add", "--quiet", "--detach", str(tree))
    shutil.copytree(assault.repository("other"), inner, symlinks=True)
    places = [tree / "node_modules/.bin" for tree in (project, linked, third, inner)]
    for place in places:
        for name in PROGRAMS:
            assault.trap(name, place / name, proven=False)
    path = os.pathsep.join([*map(str, places), assault.machine.environ["PATH"]])
    assault.environ = {"PATH": path}
    for tree in (project, linked, third / "node_modules", inner):
        said = assault.attack(tree, [("run",), ("doctor",)], watched=[project, linked, third])
        assert "git was not found" not in said
    assault.traps.append("git")
    assault.prove(linked, "git status")


def test_checks_that_variables_of_the_environment_lead_to(assault: Assault) -> None:
    """Whatever sets them on entering a directory: what lies in the project is its own, and needs to be trusted."""
    project = assault.repository()
    for place in ("conf", "conf/session-gate"):
        assault.module(project / place / "checks/evil.py", place)
        write(project / place / "config.toml", "")
    assault.module(project / ".gate/checks/evil.py", "own")
    digest = hashlib.sha256((project / ".gate/checks/evil.py").read_bytes()).hexdigest()
    trusted = {find_project(str(project)).key: {"evil.py": digest}}
    (project / "state").mkdir(mode=0o700)
    write(project / "state/trusted.json", json.dumps({"schema": 1, "trusted": trusted}))
    inside = {"SESSION_GATE_STATE_DIR": str(project / "state")}
    for more in (
        {"SESSION_GATE_CONFIG": str(project / "conf/config.toml")},
        {"SESSION_GATE_CONFIG": "", "XDG_CONFIG_HOME": str(project / "conf")},
        inside,
    ):
        done = assault.machine.gate("run", cwd=project, **more)
        refuse("executions", assault.sprung(), more)
        refuse("crashes", done.returncode != 1 and done.stderr)
        assert b"not trusted" in done.stdout
        tried()


def test_what_pythonpath_leads_to_is_not_imported(assault: Assault) -> None:
    """What the interpreter itself imports before the first line of a console script (sitecustomize, the package that
    the script names) is beyond it; what clients call is started without the environment, and meets those too.
    """
    project = assault.repository()
    early = ("gate", "os.py", "encodings", "sitecustomize.py", "usercustomize.py")
    late = [name for name in PLANTED if not name.startswith(early) and name not in ("click.py", "git.py")]
    for name in late:
        assault.module(project / name, name)
    assault.environ = {"PYTHONPATH": f":.:{project}"}
    assault.attack(project, [("run",)])
    for name in PLANTED:
        if name.startswith(early):
            assault.module(project / name, name)
    assault.environ |= {"PYTHONHOME": str(project)}
    assault.attack(project, [])


ABSURD = """
stale_after = -1
inject_limit = {long}
disable = 7
tool = [[[[[[]]]]]]
checks = {{ left_processes = {{ ignore = ["*"] }}, temp_size = {{ paths = ["/", "/proc/**", "$(touch pwned)"], \
max_bytes = "-3 parsecs" }}, \
stale_locks = {{ ignore = 3 }}, nothing = {{ run = "touch pwned" }} }}
"{{0.__class__}}" = "%s%n"
"""


def test_checks_and_configuration_that_a_project_brings(assault: Assault) -> None:
    project = assault.repository()
    for name in ("evil.py", "another.py", "_hidden.py", "test_evil.py", "conftest.py"):
        assault.module(project / ".gate/checks" / name, name)
    (project / ".gate/checks/link.py").symlink_to("../../.gate/checks/evil.py")
    os.mkfifo(project / ".gate/checks/fifo.py")
    (project / ".gate/checks/directory.py").mkdir()
    write(project / ".gate.toml", ABSURD.format(long="9" * 3000))
    write(
        project / "pyproject.toml", "[tool.session-gate]\ndisable = ['left_processes']\n[build-system]\nrequires = []\n"
    )
    assault.things += 12
    codes = {**CODES, "config": {0, 2}, "run": {1, 2}, "end": {1, 2}, "list": {0, 2}}
    said = assault.attack(project, [("run",), ("config",), ("list",), ("doctor",)], codes=codes)
    assert "not trusted" in said
    linked = assault.repository("linked")
    (linked / ".gate").symlink_to(project / ".gate")
    (linked / ".gate.toml").symlink_to(project / ".gate.toml")
    said = assault.attack(linked, [("run",)], hooks=False, watched=[linked, project], codes=codes)
    assert "is a link, and no link is followed here" in said


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give a directory away")
def test_a_repository_of_somebody_elses(assault: Assault) -> None:
    project = assault.repository()
    arm(assault, project, "theirs")
    assault.module(project / ".gate/checks/evil.py", "evil.py")
    for path in (project, *project.rglob("*")):
        os.chown(path, 12345, 12345)
    said = assault.attack(project, [("run",), ("start",), ("end",), ("doctor",)])
    assert "dubious ownership" in said
    trusting = write(assault.directory / "gitconfig", "[safe]\n\tdirectory = *\n")
    assault.prove(project, f"GIT_CONFIG_GLOBAL={trusting} git status")
