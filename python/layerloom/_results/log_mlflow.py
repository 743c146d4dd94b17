"""Logs scores to MLflow."""

import time
from collections.abc import Iterator
from typing import Any

from .runs import Run, plain_key, runs_of, tracker
from .study import Study

KEY = "layerloom.id"


def log_mlflow(study: Study[Any], *, experiment: str = "layerloom", tracking_uri: str | None = None) -> list[str]:
    """Logs a study's scores to MLflow: a run for each model, with its settings as parameters.

    A model that was logged before gets its new scores in the same run. Your own runs are neither ended nor
    changed.

    Args:
        study: the result of `layerloom.open`
        experiment: MLflow's experiment; created if missing
        tracking_uri: MLflow's storage; default: MLflow's own

    Returns:
        The runs' ids, in the order of the models.

    Raises:
        ModuleNotFoundError: without MLflow
        LayerloomError: RESULTS_INVALID
    """
    mlflow = tracker("mlflow")
    client = mlflow.MlflowClient(tracking_uri=tracking_uri)
    found = client.get_experiment_by_name(experiment)
    place: str = client.create_experiment(experiment) if found is None else found.experiment_id
    former = {run.data.tags.get(KEY): run for run in existing(client, place)}
    return [log(mlflow, client, place, former.get(run.id), run) for run in runs_of(study)]


def existing(client: Any, place: str) -> Iterator[Any]:
    token: str | None = None
    while True:
        page = client.search_runs([place], page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def log(mlflow: Any, client: Any, place: str, former: Any, run: Run) -> str:
    tags = {KEY: run.id, "layerloom.study": run.study, "layerloom.role": run.role}
    made = former or client.create_run(place, run_name=run.model, tags=tags)
    now = int(time.time() * 1000)
    metrics = {plain_key(name): value for name, value in run.scores.items()}
    parameters = {plain_key(name): str(value) for name, value in run.parameters.items()}
    client.log_batch(
        made.info.run_id,
        metrics=[mlflow.entities.Metric(name, value, now, 0) for name, value in metrics.items() if made.data.metrics.get(name) != value],
        # MLflow does not allow changing a parameter.
        params=[mlflow.entities.Param(name, value) for name, value in parameters.items() if name not in made.data.params],
    )
    client.set_terminated(made.info.run_id)
    run_id: str = made.info.run_id
    return run_id
