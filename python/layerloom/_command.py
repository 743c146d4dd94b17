"""The command `layerloom`: becomes the Node.js process, which then handles signals, pipes and exit codes
itself."""

import os
import sys

from ._program import entry, environment, find_node


def main() -> None:
    try:
        node = find_node()
    except ModuleNotFoundError as missing:
        sys.exit(f"error: {missing}")
    os.execvpe(node, [node, entry, *sys.argv[1:]], environment())
