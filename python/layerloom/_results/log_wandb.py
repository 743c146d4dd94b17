"""Logs scores to Weights & Biases."""

import os
from typing import Any, Literal

from .runs import plain_key, runs_of, tracker
from .study import Study


def log_wandb(
    study: Study[Any], *, project: str = "layerloom", entity: str | None = None,
    mode: Literal["online", "offline"] | None = None, directory: str | os.PathLike[str] | None = None,
) -> list[str]:
    """Logs a study's scores to Weights & Biases: a run for each model, in a group with the study's name.

    A model that was logged before gets its new scores in the same run. Your own runs are neither ended nor
    changed.

    Args:
        study: the result of `layerloom.open`
        project: W&B's project
        entity: W&B's user or team; default: W&B's own
        mode: offline writes files for `wandb sync`, and needs no account; default: W&B's own
        directory: the parent of `wandb/`; default: W&B's own

    Returns:
        The runs' ids, in the order of the models.

    Raises:
        ModuleNotFoundError: without wandb
        LayerloomError: RESULTS_INVALID
    """
    wandb = tracker("wandb")
    ids: list[str] = []
    for run in runs_of(study):
        opened = wandb.init(
            project=project, entity=entity, mode=mode,
            dir=None if directory is None else os.fspath(directory),
            id=run.id, name=run.model, group=run.study, job_type=run.role, config=run.parameters,
            # Syncing adds offline runs to the run with the same id.
            resume=None if mode == "offline" else "allow",
            reinit="create_new",
            # For hundreds of runs, W&B would print pages, and would capture Python's output.
            settings=wandb.Settings(silent=True, console="off"),
        )
        opened.log({plain_key(name): value for name, value in run.scores.items()})
        opened.finish()
        ids.append(run.id)
    return ids
