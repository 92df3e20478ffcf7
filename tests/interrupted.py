"""Runs the gate under a counter of everything that changes disk or processes, in all processes of a run together.

Not a test: a program. It takes the place of the interpreter, so that the gate's detached processes run under it too,
and before the call of number GATE_TEST_POINT it kills its process, or makes the call fail. A tracer counts for each
process and never reaches a finisher's own calls; an audit hook needs no compiler and no privileges.
"""

import errno
import os
import sys

POINT = int(os.environ["GATE_TEST_POINT"])
MODE = os.environ["GATE_TEST_MODE"]
COUNTER = os.environ["GATE_TEST_COUNTER"]
CHANGES = {
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.mkdir",
    "os.posix_spawn",
    "os.kill",
    "os.killpg",
    "fcntl.flock",
    "subprocess.Popen",
}
FILES_ONLY = {"os.rename", "os.remove", "os.rmdir", "os.mkdir"}


def changes(event: str, arguments: tuple) -> bool:
    if event == "open":
        path, _, flags = arguments
        written = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        return bool(written) and path != os.devnull and not str(path).endswith(".pyc")
    if MODE != "kill":
        return event in FILES_ONLY
    return event in CHANGES


counting = False


def count(event: str, arguments: tuple) -> None:
    global counting
    if counting or not changes(event, arguments):
        return
    counting = True
    fd = os.open(COUNTER, os.O_WRONLY | os.O_APPEND)  # anew each time: a process that detaches closes what it has
    os.write(fd, b".")
    number = os.fstat(fd).st_size
    os.close(fd)
    counting = False
    if number != POINT:
        return
    if MODE == "kill":
        os.kill(os.getpid(), 9)
    raise OSError(getattr(errno, MODE), os.strerror(getattr(errno, MODE)))


arguments = [word for word in sys.argv[1:] if word not in ("-I", "-S")]
sys.argv = arguments
sys.dont_write_bytecode = True
sys.path.append(os.path.dirname(os.path.dirname(arguments[0])))

from gate import detach  # noqa: E402 - found only now

own_command = detach.own_command
detach.own_command = lambda *words: [os.environ["GATE_TEST_INTERPRETER"], *own_command(*words)[1:]]
with open(arguments[0], encoding="utf-8") as file:
    code = compile(file.read(), arguments[0], "exec")
sys.addaudithook(count)
exec(code, {"__name__": "__main__", "__file__": arguments[0]})
