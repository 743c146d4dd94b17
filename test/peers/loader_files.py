"""Prints texts in packages' sources that look like file names, as JSON: {package: [name, ...]}."""

import ast
import importlib.util
import json
import re
import sys
from pathlib import Path

name_of_file = re.compile(r"[\w.*{}/ -]{1,80}\.\w{1,16}|(?i:readme|licen|notice|\.git|\.cache)\S*")


def names_in(tree):
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            if name_of_file.fullmatch(node.value):
                yield node.value


found = {}
for package in sys.argv[1:]:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        continue
    names = set()
    for path in Path(spec.origin).parent.rglob("*.py"):
        names.update(names_in(ast.parse(path.read_text(encoding="utf-8"))))
    found[package] = sorted(names)
print(json.dumps(found))
