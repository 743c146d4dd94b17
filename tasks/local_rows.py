"""The harness's own tasks on local rows: the `class:` in task files that layerloom writes for a run."""

import re
from pathlib import Path

import lm_eval
from lm_eval.api.task import ConfigurableTask
from lm_eval.tasks._yaml_loader import load_yaml


def _file_of(task, folder):
    """Finds a task's file by its name; files of a benchmark's several forms have similar names."""
    tasks = Path(lm_eval.__file__).parent / "tasks" / folder
    named = list(tasks.rglob(f"{task}.yaml"))
    line = re.compile(rf"^task: [\"']?{re.escape(task)}[\"']?\s*$", re.MULTILINE)
    (own,) = [file for file in named or tasks.rglob("*.yaml") if line.search(file.read_text(encoding="utf-8"))]
    return own


class LocalRows(ConfigurableTask):
    """A task of the installed harness, by its name, with another data set; prompts, filters and version are its own."""

    def __init__(self, config):
        given = dict(config.get("metadata") or {})
        own = _file_of(config["task"], given.pop("layerloom_folder"))
        harness = {key: value for key, value in load_yaml(own).items() if key != "tag"}
        data = {key: config[key] for key in ("dataset_path", "dataset_name", "dataset_kwargs")}
        super().__init__(config={**harness, **data, "metadata": {**harness.get("metadata", {}), **given}})
