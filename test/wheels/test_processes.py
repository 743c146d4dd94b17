"""Tests of processes and terminals around the package: forks, memory, tqdm. REPEATS is as in test_calls.py."""

import fcntl
import multiprocessing
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import unittest
import warnings

import layerloom
from smoke_models import write_expert
from test_calls import REPEATS, processes, until


def equal(pair: tuple[str, str]) -> bool:
    return layerloom.diff(*pair)["equal"]


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class Processes(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        os.chdir(self.directory.name)
        write_expert("a", 1)
        write_expert("b", 3)
        self.before = processes()

    def tearDown(self) -> None:
        layerloom.close()
        os.chdir("/")
        self.directory.cleanup()

    def test_workers_of_a_forked_pool_have_engines_of_their_own_which_end_with_them(self) -> None:
        layerloom.diff("a", "b")
        own = processes() - self.before
        with warnings.catch_warnings():
            # Python 3.12 warns of forks in a process with threads, and this package has one.
            warnings.simplefilter("ignore", DeprecationWarning)
            for _ in range(REPEATS):
                with multiprocessing.get_context("fork").Pool(2) as pool:
                    self.assertEqual(pool.map(equal, [("a", "b"), ("a", "a")] * 2), [False, True] * 2)
                until(lambda: processes() - self.before == own)
        self.assertEqual(layerloom.diff("a", "b")["equal"], False)

    def test_a_pool_that_is_killed_leaves_no_engine(self) -> None:
        program = (
            "import multiprocessing, time, layerloom\n"
            "from test_processes import equal\n"
            "pool = multiprocessing.get_context('fork').Pool(2)\n"
            "print(pool.map(equal, [('a', 'b')] * 2), flush=True)\n"
            "time.sleep(60)"
        )
        path = os.pathsep.join(sys.path)
        for _ in range(REPEATS):
            child = subprocess.Popen(
                [sys.executable, "-c", program],
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,
            )
            assert child.stdout is not None
            self.assertIn(b"False", child.stdout.readline())
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            until(lambda: processes() == self.before)

    def test_memory_stays_as_it_is_over_many_merges(self) -> None:
        for _ in range(10):
            layerloom.soup(["a", "b"], out="soup", force=True)
        begun = resident()
        count = 20 * REPEATS
        for _ in range(count):
            layerloom.soup(["a", "b"], out="soup", force=True)
        grown = resident() - begun
        print(f"memory after {count} merges: {begun / 1e6:.1f} MB and {grown / 1e6:+.2f} MB", file=sys.stderr)
        self.assertLess(grown, 2e6)

    def test_a_terminal_shows_a_bar_of_tqdm(self) -> None:
        for index, name in enumerate(("large-a", "large-b")):
            write_expert(name, index + 1, elements=16 << 20)
        program = "import layerloom; layerloom.soup(['large-a', 'large-b'], out='merged', progress=True)"
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        child = subprocess.Popen([sys.executable, "-c", program], stderr=follower, stdout=follower, stdin=follower)
        os.close(follower)
        shown = b""
        try:
            while chunk := os.read(leader, 1 << 16):
                shown += chunk
        except OSError:
            # The end of a terminal, on Linux.
            pass
        self.assertEqual(child.wait(), 0, shown.decode())
        self.assertRegex(shown.decode(), re.compile(r"merge: .*100%.*268M/268M", re.DOTALL))
        os.close(leader)


if __name__ == "__main__":
    unittest.main()
