"""Parts that one process's runs share: the index of tasks, tasks, their requests, the machine's description.

Each part is made once for each set of settings that it depends on. Making a part may draw random numbers. A later run
finds the generators as if it had made the part itself from its own seeds, as in a separate process.

Uses of lm_eval 0.4.13: `lm_eval.tasks.TaskManager` as `EvaluatorConfig.process_tasks` calls it, `TaskManager.load`,
`Task.build_all_requests`, `lm_eval.evaluator.add_env_info`, `lm_eval.api.model.CachingLM.dbdict`.
"""

import copy
import json
import random
import sys
from contextlib import contextmanager

import lm_eval.api.model
import lm_eval.evaluator
import lm_eval.tasks
import numpy
from lm_eval.api.task import ConfigurableTask
from lm_eval.tasks import TaskManager
from lm_eval.tasks._factory import TaskFactory

_OF_ONE_MODEL = ("model_args", "output_path", "use_cache")
"""Keys of a run's configuration that no task depends on; `model_args` reaches tasks as metadata, see `_with_metadata`."""

_settings = None
_pieces = {}


class Drawing:
    """Random numbers drawn while a part is made: the generators' state afterwards, by the state before."""

    def __init__(self):
        self._after = {}
        self._draws = True

    def note(self, before):
        """Call this after making the part, with the state before."""
        after = random_state()
        self._draws = _key(after) != _key(before)
        self._after[_key(before)] = after

    def is_known(self, before):
        return not self._draws or _key(before) in self._after

    def repeat(self, before):
        """Sets the generators to the state in which making the part would leave them."""
        set_random_state(self._after[_key(before)] if self._draws else before)


def once(kind, key, make):
    """Returns the part of a kind and key; calls `make` if it is missing, or if it may draw from other seeds."""
    before = random_state()
    piece, drawing = _pieces.get((kind, key), (None, Drawing()))
    if (kind, key) in _pieces and drawing.is_known(before):
        drawing.repeat(before)
        return piece
    piece = make()
    drawing.note(before)
    _pieces[kind, key] = (piece, drawing)
    return piece


def random_state():
    torch = sys.modules.get("torch")
    return random.getstate(), numpy.random.get_state(), None if torch is None else torch.get_rng_state()


def set_random_state(state):
    random.setstate(state[0])
    numpy.random.set_state(state[1])
    if state[2] is not None:
        sys.modules["torch"].set_rng_state(state[2])


def _key(state):
    python, numbers, torch = state
    return repr((python, numbers[0], numbers[1].tobytes(), *numbers[2:])), None if torch is None else bytes(torch.tolist())


@contextmanager
def settings(words):
    """Identifies the present run's settings: its configuration without model-specific keys, and its other words."""
    global _settings
    place = words.index("--config") + 1
    with open(words[place], encoding="utf-8") as file:
        config = json.load(file)
    for key in _OF_ONE_MODEL:
        config.pop(key, None)
    _settings = json.dumps([config, words[:place], words[place + 1 :]], sort_keys=True)
    try:
        yield
    finally:
        _settings = None
        _close_caches()


def _task_manager(*args, metadata=None, **options):
    """A TaskManager that reuses an earlier run's index of task files, which takes seconds to read."""
    manager = once("manager", repr((args, options)), lambda: TaskManager(*args, **options))
    manager.metadata = metadata
    manager._factory = TaskFactory(meta=metadata)
    return manager


_load = TaskManager.load


_kept_tasks = set()


def _load_tasks(manager, task_list):
    key = (_settings, repr(task_list))
    loaded = once("tasks", key, lambda: _load(manager, task_list))
    if all(_is_of_data_alone(task) for task in loaded["tasks"].values()):
        _kept_tasks.update(loaded["tasks"].values())
        for each in [*loaded["tasks"].values(), *loaded.get("groups", {}).values()]:
            _with_metadata(each, manager.metadata or {})
    else:
        del _pieces["tasks", key]
    return loaded


def _is_of_data_alone(task):
    """False for a task whose data may depend on the model's arguments, or that has its own class."""
    return type(task) is ConfigurableTask and task.config.custom_dataset is None


def _with_metadata(of, metadata):
    """Writes this run's model arguments where the harness writes them in a task or group."""
    config = getattr(of, "config", of)
    if isinstance(getattr(config, "metadata", None), dict):
        config.metadata = {**config.metadata, **metadata}


_build = ConfigurableTask.build_all_requests


def _build_requests(task, **options):
    # A chat template belongs to one model.
    if task not in _kept_tasks or options.get("apply_chat_template"):
        return _build(task, **options)

    def make():
        _build(task, **options)
        return task._instances, copy.deepcopy([each.arguments for each in task._instances])

    task._instances, arguments = once("requests", (task, repr(sorted(options.items()))), make)
    for instance, given in zip(task._instances, arguments, strict=True):
        instance.arguments = copy.deepcopy(given)
        instance.resps, instance.filtered_resps = [], {}


_describe = lm_eval.evaluator.add_env_info


def _add_env_info(results):
    def make():
        described = {}
        _describe(described)
        return described

    results.update(once("machine", "", make))


_caches = []


class _CachingLM(lm_eval.api.model.CachingLM):
    """A run's cache of answers; its file and thread are closed when the run ends."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        _caches.append(self.dbdict)


def _close_caches():
    while _caches:
        _caches.pop().close()


lm_eval.tasks.TaskManager = _task_manager
TaskManager.load = _load_tasks
ConfigurableTask.build_all_requests = _build_requests
lm_eval.evaluator.add_env_info = _add_env_info
lm_eval.api.model.CachingLM = _CachingLM
