"""The command `layerloom`: becomes the process of Node.js, so that signals, pipes and exit codes are its own."""

import os
import sys

from ._program import entry, find_node


def main() -> None:
    try:
        node = find_node()
    except ModuleNotFoundError as missing:
        sys.exit(f"error: {missing}")
    # lm_eval of this environment (`layerloom[eval]`), which need not be activated; another one on the PATH comes first.
    scripts = os.path.dirname(sys.executable)
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), scripts])
    os.execv(node, [node, entry, *sys.argv[1:]])
