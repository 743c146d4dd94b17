"""The command `layerloom`: replaces this process by Node.js, which then handles signals, pipes and exit codes."""

import os
import sys

from ._program import entry, environment, find_node


def main() -> None:
    try:
        node = find_node()
    except ModuleNotFoundError as missing:
        sys.exit(f"error: {missing}")
    os.execvpe(node, [node, entry, *sys.argv[1:]], environment())
