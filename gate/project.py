"""Which project a directory belongs to.

A project is a git repository by its common directory, so that all its worktrees are one; else the nearest directory
with a gate configuration; else the directory itself. Read from the file system as gitrepository-layout(5) describes
it, without starting git: this is on the silent path.
"""

from __future__ import annotations

import errno
import os

from gate import foreign
from gate.errors import GateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

NOWHERE = ".git leads to a directory that is not there"
NO_REPOSITORY = ".git leads to a directory that is no repository"


class Project:
    """What debt belongs to.

    `root` is the main worktree (or the bare repository, or the directory), `here` the worktree one stands in,
    `common_dir` git's common directory, None outside a repository; `key` names its directory in the state. All paths
    are real paths. `broken` is not empty where a `.git` leads nowhere, and says so.

    A directory whose `.git` leads to the repository of another main worktree is a project of its own: what is seen in
    one of them says nothing of the other, and a clean one would write off what was left in the other.
    """

    __slots__ = ("broken", "common_dir", "git_dir", "here", "key", "root")

    def __init__(
        self, root: str, here: str, common_dir: str | None, git_dir: str | None = None, broken: str = ""
    ) -> None:
        self.root = root
        self.here = here
        self.common_dir = common_dir
        self.git_dir = git_dir
        self.broken = broken
        main = "" if common_dir is None or root == common_dir else _main_worktree(common_dir)
        self.key = project_key(f"{common_dir}\0{root}" if main not in ("", root) else common_dir or root)

    def __repr__(self) -> str:
        return f"Project({self.root!r}, key={self.key!r})"


def project_key(identity: str) -> str:
    """`<tail>-<hash>`: a readable end of the path, and a hash of all of it, because readable keys collide (incident:
    `my_project` and `my-project` shared one directory of a client's, credentials and all).

    `identity` is the common directory, the same from all of a repository's worktrees, or a directory without one.
    """
    name = os.path.basename(identity.removesuffix(os.path.sep + ".git"))
    tail = "".join([c if (c.isalnum() and c.isascii()) or c in "._-" else "-" for c in name])
    return (tail.strip(".-")[:40] or "root") + "-" + digest(os.fsencode(identity))


def keys_above(directory: str) -> Iterator[str]:
    """The keys that the project of a directory may have, the nearest first, by the directory's name alone: for where
    the file system cannot be asked. A linked worktree outside of its project's root is not found so, nor is what is
    reached by a symbolic link.
    """
    path = os.path.normpath(directory)
    while os.path.isabs(path):
        yield project_key(os.path.join(path, ".git"))
        yield project_key(path)
        if os.path.dirname(path) == path:
            return
        path = os.path.dirname(path)


def digest(data: bytes) -> str:
    """16 hexadecimal digits that stand for these bytes."""
    try:
        from _blake2 import blake2b
    except ImportError:  # hashlib costs the silent path 5 ms more; the digest is the same
        from hashlib import blake2b

    return str(blake2b(data, digest_size=8).hexdigest())


def working_directory(environ: Mapping[str, str]) -> str:
    """The working directory; where it was deleted, the name that the shell still has of it."""
    try:
        return os.getcwd()
    except OSError:
        return environ.get("PWD") or os.path.sep


def refuse_dead(directory: str) -> None:
    """Raise GateError for a directory on a file system that answers with errors alone. It is there, and would pass for
    missing, and its project for the nearest existing parent's.
    """
    try:
        os.stat(directory)
    except OSError as error:
        if error.errno in _DEAD:
            raise GateError(f"{directory!r}: {error.strerror}; its file system does not work") from None


_DEAD = (errno.EIO, errno.ENOTCONN, errno.ESTALE, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ETIMEDOUT, errno.ENODEV)


def find_project(directory: str) -> Project:
    """The project of an existing directory (a missing one belongs to its nearest existing parent's)."""
    here = _existing(os.path.realpath(directory))
    repository = _climb(here, _repository_at)
    if repository is not None:
        return repository
    configured = _climb(here, lambda path: Project(path, path, None) if has_configuration(path) else None)
    return configured or Project(here, here, None)


def _existing(path: str) -> str:
    while not os.path.isdir(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return path


def _climb(path: str, look: Callable[[str], Project | None]) -> Project | None:
    while True:
        found = look(path)
        if found is not None or os.path.dirname(path) == path:
            return found
        path = os.path.dirname(path)


def _repository_at(path: str) -> Project | None:
    dot_git = os.path.join(path, ".git")
    if os.path.isdir(dot_git):
        git_dir = os.path.realpath(dot_git)
        return _of_git_dir(path, git_dir) if _is_git_dir(dot_git) else _damaged(path, git_dir)
    if os.path.isfile(dot_git):
        target = _first_line(dot_git)
        if not target.startswith("gitdir:"):
            return Project(path, path, None, broken=".git is a file that names no git directory")
        git_dir = os.path.realpath(os.path.join(path, target[7:].strip()))
        return _of_git_dir(path, git_dir)
    if os.path.islink(dot_git) and not os.path.exists(dot_git):
        return Project(path, path, None, broken=NOWHERE)
    if _is_git_dir(path) and os.path.isdir(os.path.join(path, "refs")):
        return _of_git_dir(path, path)
    return None


def _is_git_dir(path: str) -> bool:
    """git's own test, less the validity of HEAD: what git takes for a repository is one, however ill."""
    return os.path.lexists(os.path.join(path, "HEAD")) and (
        os.path.isdir(os.path.join(path, "objects")) or os.path.lexists(os.path.join(path, "commondir"))
    )


def _damaged(here: str, git_dir: str) -> Project | None:
    """A repository that lost one of the things that git cannot do without. git passes over it and climbs on, so it
    would be no repository, or the one around it, and everything in it would be skipped. It keeps its identity.
    """
    has_head = os.path.lexists(os.path.join(git_dir, "HEAD"))
    has_objects, has_refs = (os.path.isdir(os.path.join(git_dir, name)) for name in ("objects", "refs"))
    if not has_refs or has_head == has_objects:
        return None
    lost = "objects" if has_head else "HEAD"
    return Project(here, here, git_dir, git_dir, f".git has no {lost}, and git does not take it for a repository")


def _of_git_dir(here: str, git_dir: str) -> Project:
    common = _first_line(os.path.join(git_dir, "commondir"))
    common_dir = os.path.realpath(os.path.join(git_dir, common)) if common else git_dir
    broken = ""
    if not _is_git_dir(git_dir):
        broken = NOWHERE if git_dir == here or not os.path.isdir(git_dir) else NO_REPOSITORY
        parent, kind = os.path.split(os.path.dirname(git_dir))
        if kind != "worktrees" or not _is_git_dir(parent):
            return Project(here, here, None, broken=broken)
        common_dir = parent  # a worktree whose registration is gone still belongs to its repository
    main = _main_worktree(common_dir)
    if git_dir == common_dir and here != git_dir and (not main or os.path.basename(common_dir) == ".git"):
        # Perhaps a repository whose git directory lies elsewhere: beside that is no worktree of it.
        return Project(here, here, common_dir, git_dir, broken)
    return Project(main or common_dir, here, common_dir, git_dir, broken)


def _main_worktree(common_dir: str) -> str:
    """The main worktree of a repository by its common directory: the directory that this lies in, or of a submodule
    that to which its configuration leads, where the `.git` there leads back. Empty where neither tells, as of a bare
    repository.
    """
    if os.path.basename(common_dir) == ".git":
        return os.path.dirname(common_dir)
    for row in foreign.text(os.path.join(common_dir, "config")).split("\n"):
        name, _, value = row.partition("=")
        if name.strip().lower() == "worktree":
            place = os.path.realpath(os.path.join(common_dir, value.strip().strip('"').partition("\0")[0]))
            target = _first_line(os.path.join(place, ".git"))
            if target.startswith("gitdir:") and os.path.realpath(os.path.join(place, target[7:].strip())) == common_dir:
                return place
    return ""


def is_brought(path: str, project: Project) -> bool:
    """Whether a place that should be the user's own lies in the project instead, as a variable of the environment can
    have it, which a repository may set for whoever enters it. Not so where the user's home directory lies there too.
    """
    real = os.path.realpath(path)
    return any(is_within(real, tree) and not is_within(_home(), tree) for tree in (project.root, project.here))


def is_within(path: str, directory: str) -> bool:
    """Whether a path is `directory` or lies below it; both real paths."""
    return os.path.join(path, "").startswith(os.path.join(directory, ""))


def _home() -> str:
    """The user's home directory, not by the environment."""
    try:
        import pwd

        return os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir)
    except (ImportError, KeyError):
        return ""


def has_configuration(path: str) -> bool:
    """Whether a directory holds a configuration of ours. No TOML is read for it: this is on the silent path."""
    if os.path.isfile(os.path.join(path, ".gate.toml")):
        return True
    return "[tool.session-gate" in foreign.text(os.path.join(path, "pyproject.toml"), 1 << 20)


def _first_line(path: str) -> str:
    """The first line of a file of git's; up to a NUL, where git's own reading ends too."""
    return foreign.text(path, 8192).partition("\n")[0].partition("\0")[0].rstrip("\r")
