
import json
import math
import os
import shutil
import struct
import unittest
from pathlib import Path
from typing import Any

import layerloom
import mlflow
import wandb
from wandb.proto import wandb_internal_pb2

results = Path(os.environ["LAYERLOOM_RESULTS"])
record: dict[str, Any] = json.loads((results / "study/experiment.json").read_text())


def expected() -> dict[str, dict[str, float]]:
    """Scores of each model by `TASK/METRIC/FILTER`."""
    return {
        model["name"]: {
            f"{task}/{key.replace(',', '/')}": value
            for task, score in model["scores"].items()
            for key, value in score["metrics"].items()
            if value is not None
        }
        for model in record["references"] + record["merges"]
    }


def records_of(file: Path) -> list[Any]:
    """The records of W&B's file, a log in blocks of 32 KiB as LevelDB's: checksum, length, type, and a part
    of a record."""
    content, at, found, part = file.read_bytes(), 7, [], b""
    while at < len(content):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        _, length, kind = struct.unpack_from("<IHB", content, at)
        part += content[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):
            one = wandb_internal_pb2.Record()
            one.ParseFromString(part)
            found.append(one)
            part = b""
    return found


class Logging(unittest.TestCase):
    def setUp(self) -> None:
        self.study = layerloom.open(results / "study")

    def test_mlflow_has_a_run_for_each_model_and_the_same_when_it_is_logged_again(self) -> None:
        uri = f"sqlite:///{Path('mlflow.db').absolute()}"
        ids = layerloom.log_mlflow(self.study, experiment="swahili", tracking_uri=uri)
        self.assertEqual(layerloom.log_mlflow(self.study, experiment="swahili", tracking_uri=uri), ids)
        client = mlflow.MlflowClient(tracking_uri=uri)
        runs = client.search_runs([client.get_experiment_by_name("swahili").experiment_id])
        self.assertEqual({run.info.run_name: run.data.metrics for run in runs}, expected())
        (run,) = [run for run in runs if run.info.run_name == "swahili/math-2+swh-1/default"]
        self.assertEqual(run.info.status, "FINISHED")
        self.assertEqual(run.data.params["bottom"], "2")
        self.assertEqual(run.data.params["task_expert"], "math-2")
        history = client.get_metric_history(run.info.run_id, "mgsm_direct_sw/exact_match/flexible-extract")
        self.assertEqual(len(history), 1)

    def test_mlflow_gets_new_scores_in_the_run_of_the_model(self) -> None:
        Path("logged").mkdir()
        shutil.copytree(results / "study/evaluations", "logged/evaluations")
        one = {**record, "merges": record["merges"][:1], "references": []}
        Path("logged/experiment.json").write_text(json.dumps(one))
        uri = f"sqlite:///{Path('again.db').absolute()}"
        (first,) = layerloom.log_mlflow(layerloom.open("logged"), tracking_uri=uri)
        file = Path("logged", one["merges"][0]["scores"]["mgsm_direct_sw"]["result"])
        result = json.loads(file.read_text())
        result["metrics"]["exact_match,flexible-extract"] = 0.875
        file.write_text(json.dumps(result))
        self.assertEqual(layerloom.log_mlflow(layerloom.open("logged"), tracking_uri=uri), [first])
        metrics = mlflow.MlflowClient(tracking_uri=uri).get_run(first).data.metrics
        self.assertEqual(metrics["mgsm_direct_sw/exact_match/flexible-extract"], 0.875)

    def test_wandb_has_a_run_for_each_model_offline(self) -> None:
        own = wandb.init(project="own", mode="offline")
        ids = layerloom.log_wandb(self.study, mode="offline", directory=".")
        self.assertIs(wandb.run, own)
        own.finish()
        self.assertEqual(len({*ids}), 30)
        found: dict[str, dict[str, float]] = {}
        for name in ids:
            (file,) = Path("wandb").glob(f"offline-run-*-{name}/run-{name}.wandb")
            records = records_of(file)
            (run,) = [one.run for one in records if one.WhichOneof("record_type") == "run"]
            logged = [one.history for one in records if one.WhichOneof("record_type") == "history"]
            items = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in logged[0].item}
            found[run.display_name] = {key: value for key, value in items.items() if not key.startswith("_")}
            self.assertEqual(run.run_group, "study")
            config = {item.key: json.loads(item.value_json) for item in run.config.update}
            self.assertEqual(config.get("method") is None, run.job_type != "merge")
        self.assertEqual(found, expected())
        self.assertTrue(all(math.isfinite(value) for scores in found.values() for value in scores.values()))
