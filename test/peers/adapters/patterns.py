"""Matches keys of rank_pattern and alpha_pattern with modules, by PEFT's get_pattern_key and Python's re.

Reads {"names": [name, …], "configurations": [[key, …], …]} from standard input. Writes a line for each
configuration: a list with the index of the chosen key for each name (null for none), or the error that Python
raises. It writes "too long" if a pattern takes exponential time.
"""

import json
import re
import signal
import sys
import warnings

warnings.simplefilter("ignore")
try:
    from peft.utils.other import get_pattern_key
except ImportError:

    def get_pattern_key(keys, name):
        """A copy of PEFT 0.21's, for a Python without it."""
        for key in keys:
            if re.match(rf"(.*\.)?({key})$", name):
                return key
        return name


def stop(*_):
    raise TimeoutError


signal.signal(signal.SIGALRM, stop)
asked = json.load(sys.stdin)
for keys in asked["configurations"]:
    try:
        signal.setitimer(signal.ITIMER_REAL, 1)
        chosen = [get_pattern_key(keys, name) for name in asked["names"]]
        answer = [keys.index(key) if key in keys else None for key in chosen]
    except TimeoutError:
        answer = "too long"
    except re.error as error:
        answer = str(error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    print(json.dumps(answer))
