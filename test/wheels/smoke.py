"""Swaps two small experts with this Python's layerloom, as a command and as a function, and compares every
element with Algorithm 1.

    python smoke.py LAYERLOOM      in an empty directory; LAYERLOOM is the command's path
"""

import subprocess
import sys

import layerloom
from smoke_models import values_of, write_expert

write_expert("math", 1)
write_expert("swahili", 3)
words = ["swap", "--task", "math", "--lang", "swahili", "--bottom", "1", "--top", "1", "-o", "by-command"]
subprocess.run([sys.argv[1], *words], check=True)
layerloom.swap(task="math", lang="swahili", bottom=1, top=1, out="by-function")
for directory in ("by-command", "by-function"):
    found = values_of(directory)
    assert found == [2, 3, 1, 3], (directory, found)
print("a swap gives what Algorithm 1 says")
