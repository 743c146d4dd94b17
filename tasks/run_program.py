"""Runs one Python program that a model wrote, in a process of its own, and prints `passed` if it came to its end.

    python run_program.py < PROGRAM

The caller provides the directory, and ends the process group if a program stopped this process.
It limits accidents (endless loops, exits, memory, output) and removes the functions that do most harm. It is no
sandbox: programs have the rights of the user, and read files and reach the network as the user does.
"""

import builtins
import os
import resource
import secrets
import select
import signal
import sys
import time

# code_eval's 3 seconds, but of processor time, so that no program fails because the machine is busy.
CPU_SECONDS = 3
WALL_SECONDS = 10
MEMORY_BYTES = 4 << 30
FILE_BYTES = 16 << 20

# Functions that end, start or wait for processes, and change files or the process: as code_eval takes them away.
_PROCESS = (
    "abort", "chdir", "chmod", "chown", "chroot", "fchdir", "fchmod", "fchown", "fork", "forkpty", "getcwd", "kill",
    "killpg", "lchmod", "lchown", "link", "posix_spawn", "posix_spawnp", "putenv", "remove", "removedirs", "rename",
    "renames", "replace", "rmdir", "setpgid", "setsid", "setuid", "symlink", "system", "truncate", "unlink",
)
_EXEC = ("execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe")
_MODULES = ("_posixsubprocess", "_ctypes", "ctypes", "multiprocessing", "resource", "subprocess", "tkinter")


def _guard():
    import posix
    import shutil

    for module in (os, posix):
        for name in (*_PROCESS, *_EXEC):
            if hasattr(module, name):
                setattr(module, name, None)
    for name in ("chown", "move", "rmtree"):
        setattr(shutil, name, None)
    for name in ("pthread_kill", "pidfd_send_signal"):
        if hasattr(signal, name):
            setattr(signal, name, None)
    for name in _MODULES:
        sys.modules[name] = None
    for name in ("exit", "help", "quit"):
        if hasattr(builtins, name):
            setattr(builtins, name, None)


def _limit(kind, value):
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard),) * 2)


def _run(program, report, token):
    """Runs the program in this process, which then ends; `token` goes to `report` after its last statement."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    _limit(resource.RLIMIT_CPU, CPU_SECONDS)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, FILE_BYTES)
    if sys.platform != "darwin":  # It has no such limit.
        _limit(resource.RLIMIT_AS, MEMORY_BYTES)
    write, leave = os.write, os._exit
    try:
        _guard()
        exec(program, {})  # noqa: S102
        write(report, token)
    finally:
        leave(0)


def main():
    program = sys.stdin.buffer.read().decode("utf-8", "surrogatepass")
    # The program must not import modules beside this file.
    del sys.path[0]
    answer, report = os.pipe()
    token = secrets.token_bytes(16)
    child = os.fork()
    if child == 0:
        os.close(answer)
        _run(program, report, token)
    os.close(report)
    end = time.monotonic() + WALL_SECONDS
    said = b""
    # The pipe also stays open in processes that the program has started, so the time limit includes them.
    while len(said) < len(token) and select.select([answer], [], [], max(0, end - time.monotonic()))[0]:
        more = os.read(answer, len(token) - len(said))
        if more == b"":
            break
        said += more
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print("passed" if said == token else "failed")


if __name__ == "__main__":
    main()
