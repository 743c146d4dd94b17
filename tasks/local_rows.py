"""The harness's own tasks on local rows: `class:` of the task files that layerloom writes for a run."""

from pathlib import Path

import lm_eval
from lm_eval.api.task import ConfigurableTask
from lm_eval.tasks._yaml_loader import load_yaml


class LocalRows(ConfigurableTask):
    """A task of the installed harness, by its name, with another data set; prompts, filters and version are its own."""

    folder = ""
    # Settings that say which rows of the harness's data set are the task's: local files have those alone.
    left_out = ("tag",)

    def __init__(self, config):
        tasks = Path(lm_eval.__file__).parent / "tasks" / self.folder
        (own,) = tasks.rglob(f"{config['task']}.yaml")
        harness = {key: value for key, value in load_yaml(own).items() if key not in self.left_out}
        data = {key: config[key] for key in ("dataset_path", "dataset_name", "dataset_kwargs")}
        metadata = {**harness.get("metadata", {}), **config.get("metadata", {})}
        super().__init__(config={**harness, **data, "metadata": metadata})


class LocalMgsm(LocalRows):
    folder = "mgsm"


class LocalBelebele(LocalRows):
    folder = "belebele"


class LocalMmlu(LocalRows):
    folder = "mmlu/default"


class LocalGlobalMmlu(LocalRows):
    folder = "global_mmlu/full"
    left_out = ("tag", "process_docs")
