"""The metric and the worked examples of layerloom's MBPP tasks, for lm-evaluation-harness.

The harness's own MBPP loads its metric from the hub; this one needs no network.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

_RUN = Path(__file__).with_name("run_program.py")

# `run_program.py` ends programs itself; this limit is for a program that stops `run_program.py`.
_SECONDS = 60


def _passes(program):
    # Programs do not get the user's keys and tokens, and the order of sets is the same in every run.
    environment = {name: os.environ[name] for name in ("PATH", "TMPDIR", "LD_LIBRARY_PATH") if name in os.environ}
    environment |= {"LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory(prefix="layerloom-program-", ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            [sys.executable, "-s", str(_RUN)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(program.encode("utf-8", "surrogatepass"), timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            output = b""
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return process.returncode == 0 and output == b"passed\n"


def pass_at_1(references, predictions):
    """Returns 1.0 if the program, followed by its tests, runs to its end within the limits, else 0.0."""
    (tests,) = references
    (program,) = predictions
    return float(_passes(f"{program}\n{tests}"))


if not _passes("assert 1 + 1 == 2") or _passes("assert 1 + 1 == 3"):
    # Otherwise every answer would count as wrong, or as right.
    raise RuntimeError(f"programs cannot be run here: {sys.executable} {_RUN} does not tell right from wrong")


def shots():
    """Returns the worked examples of the harness's MBPP, task_id 2 to 4, in English."""
    return [
        {
            "task_id": 2,
            "text": "Write a function to find the similar elements from the given two tuple lists.",
            "code": "def similar_elements(test_tup1, test_tup2):\r\n  res = tuple(set(test_tup1) & set(test_tup2))\r\n  return (res) ",
            "test_list": [
                "assert similar_elements((3, 4, 5, 6),(5, 7, 4, 10)) == (4, 5)",
                "assert similar_elements((1, 2, 3, 4),(5, 4, 3, 7)) == (3, 4)",
                "assert similar_elements((11, 12, 14, 13),(17, 15, 14, 13)) == (13, 14)",
            ],
        },
        {
            "task_id": 3,
            "text": "Write a python function to identify non-prime numbers.",
            "code": "import math\r\ndef is_not_prime(n):\r\n    result = False\r\n    for i in range(2,int(math.sqrt(n)) + 1):\r\n        if n % i == 0:\r\n            result = True\r\n    return result",
            "test_list": [
                "assert is_not_prime(2) == False",
                "assert is_not_prime(10) == True",
                "assert is_not_prime(35) == True",
            ],
        },
        {
            "task_id": 4,
            "text": "Write a function to find the largest integers from a given list of numbers using heap queue algorithm.",
            "code": "import heapq as hq\r\ndef heap_queue_largest(nums,n):\r\n  largest_nums = hq.nlargest(n, nums)\r\n  return largest_nums",
            "test_list": [
                "assert heap_queue_largest( [25, 35, 22, 85, 14, 65, 75, 22, 58],3)==[85, 75, 65] ",
                "assert heap_queue_largest( [25, 35, 22, 85, 14, 65, 75, 22, 58],2)==[85, 75] ",
                "assert heap_queue_largest( [25, 35, 22, 85, 14, 65, 75, 22, 58],5)==[85, 75, 65, 58, 35]",
            ],
        },
    ]
