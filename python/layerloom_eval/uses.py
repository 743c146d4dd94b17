"""Finds what `kept.py`, `exchange.py` and `trial.py` use of lm_eval, in its source: importing it takes seconds."""

import ast
import os
from importlib.util import find_spec

RUN = "lm_eval run --config"

_USES = {
    "_cli/run.py": {"Run": ()},
    "config/evaluate_config.py": {"EvaluatorConfig.process_tasks": ("metadata",)},
    "tasks/_factory.py": {"TaskFactory.__init__": ("meta",)},
    "tasks/manager.py": {"TaskManager.load": ("task_list",), "TaskManager.__init__": ("metadata",)},
    "api/task.py": {"ConfigurableTask": (), "Task.build_all_requests": ("apply_chat_template",)},
    "api/model.py": {"CachingLM.__init__": ()},
    "api/registry.py": {"get_model": ("model_name",)},
    "api/instance.py": {"Instance": ()},
    "evaluator.py": {"add_env_info": ()},
    "models/huggingface.py": {
        "HFLM._create_model": ("pretrained",),
        "HFLM.generate_until": ("requests", "disable_tqdm"),
        "HFLM.apply_chat_template": ("chat_history",),
    },
}
"""The used names by file, and their parameters that are passed by name or position."""


def lacking(root=None):
    """Returns the uses that lm_eval lacks; the first is `RUN` if its command line is older."""
    if root is None:
        spec = find_spec("lm_eval")
        root = os.path.dirname(spec.origin) if spec is not None and spec.origin else ""
    return [
        RUN if name == "Run" else f"{name} of {file}"
        for file, names in _USES.items()
        for found in [_names_in(os.path.join(root, file))]
        for name, given in names.items()
        if name not in found or not found[name].issuperset(given)
    ]


def _names_in(path):
    """Names of a module by path within it, with the parameters of functions; imported names too."""
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError):
        return {}
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            found.update((alias.asname or alias.name, set()) for alias in node.names)
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = _parameters(node)
        elif isinstance(node, ast.ClassDef):
            found[node.name] = set()
            own = [each for each in node.body if isinstance(each, ast.FunctionDef)]
            found.update((f"{node.name}.{each.name}", _parameters(each)) for each in own)
    return found


def _parameters(function):
    args = function.args
    return {each.arg for each in [*args.posonlyargs, *args.args, *args.kwonlyargs]}
