#!/usr/bin/env python3
"""Runs programs as layerloom's MBPP does, on requests of `programs.test.ts` from standard input; answers in
JSON.

pass     {program, tests}  the metric of an answer, and the program's leftovers: files in TMPDIR, processes.
prompts  {files, hub}      prompts of prepared tasks, of the hub's task and of the harness's own, for the same rows.
answers  {file, answers}   the metric of an answer to each problem of a prepared task.
"""
import json
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import MagicMock, patch

TASKS = Path(__file__).parents[2] / "tasks"


def answer_pass(program, tests):
    sys.path.insert(0, str(TASKS))
    from mbpp import pass_at_1

    score = pass_at_1(references=[tests], predictions=[program])
    processes = subprocess.run(["ps", "-eo", "stat,args"], capture_output=True, text=True, check=True).stdout
    marker = str(TASKS / "run_program.py")
    left = [line for line in processes.splitlines() if marker in line and not line.startswith("Z")]
    return {"score": score, "left": [*left, *os.listdir(os.environ["TMPDIR"])]}


def load(file):
    from lm_eval.tasks import TaskManager

    (task,) = TaskManager(include_defaults=False).load([str(file)])["tasks"].values()
    return task


def facts(task):
    def prompts(shots):
        task.set_config("num_fewshot", shots)
        task.set_fewshot_seed(1234)
        task.build_all_requests()
        return [instance.args[0] for instance in task.instances]

    return {
        "zero": prompts(0),
        "three": prompts(3),
        "until": task.config.generation_kwargs["until"],
        "target": task.doc_to_target(task.eval_docs[0]),
    }


def answer_prompts(files, hub):
    import lm_eval

    prepared = {Path(file).stem: load(file) for file in files}
    rows = prepared["layerloom_mbpp_en"].dataset["test"]
    # The harness's metric is on the hub.
    with patch("evaluate.load", return_value=MagicMock()), patch("datasets.load_dataset", return_value={"test": rows}):
        own = load(Path(lm_eval.__file__).parent / "tasks" / "mbpp" / "mbpp.yaml")
        ours = load(hub)
    return {"own": facts(own), "hub": facts(ours), **{name: facts(task) for name, task in prepared.items()}}


def answer_answers(file, answers):
    task = load(file)
    return [
        task.process_results(doc, [answer])["pass_at_1"] for doc, answer in zip(task.eval_docs, answers, strict=True)
    ]


request = json.load(sys.stdin)
print(json.dumps({"pass": answer_pass, "prompts": answer_prompts, "answers": answer_answers}[sys.argv[1]](**request)))
