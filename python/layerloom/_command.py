"""The command `layerloom`: becomes the process of Node.js, so that signals, pipes and exit codes are its own."""

import os
import sys

from ._program import entry, environment, find_node


def main() -> None:
    try:
        node = find_node()
    except ModuleNotFoundError as missing:
        sys.exit(f"error: {missing}")
    os.execve(node, [node, entry, *sys.argv[1:]], environment())
