#!/usr/bin/env python3
"""Loads task files in lm-evaluation-harness, on requests of `tasks.test.ts` from standard input; answers in
JSON.

load     {files}                       each task with made-up rows: its prompt, metrics and filters.
prompts  {files, data, numbers, rows}  SHA-256 of the first prompts of each prepared task;
                                       and of the harness's own task with MGSM from `data`,
                                       whose exemplars have `numbers` as answers.
answers  {file, target, responses}     each response through the task's filters: the answer, and if it is the target.
"""
import csv
import hashlib
import json
import sys
from pathlib import Path
from unittest.mock import patch

import datasets
import lm_eval
from lm_eval.api.instance import Instance
from lm_eval.tasks import TaskManager

HUB = datasets.Features({
    "question": datasets.Value("string"),
    "answer": datasets.Value("string"),
    "answer_number": datasets.Value("int32"),
    "equation_solution": datasets.Value("string"),
})


def load(file):
    (task,) = TaskManager(include_defaults=False).load([str(file)])["tasks"].values()
    return task


def split(rows, features):
    columns = {name: [row[name] for row in rows] for name in features}
    return datasets.Dataset.from_dict(columns, features=features)


def with_rows(file, train, test):
    rows = datasets.DatasetDict(train=split(train, HUB), test=split(test, HUB))
    with patch("datasets.load_dataset", return_value=rows):
        return load(file)


def prompts(task, shots, rows=None):
    task.set_config("num_fewshot", shots)
    task.set_fewshot_seed(1234)
    task.build_all_requests(limit=rows)
    return [instance.args[0] for instance in task.instances]


def digest(texts):
    return [hashlib.sha256(text.encode()).hexdigest() for text in texts]


def row(question, number, answer=None):
    return {"question": question, "answer": answer, "answer_number": number, "equation_solution": None}


def hub_rows(data, language, numbers):
    with open(data / f"mgsm_{language}.tsv", encoding="utf8", newline="") as file:
        test = [row(q, int(n.replace(",", ""))) for q, n in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    exemplars = json.loads((data / "exemplars.json").read_text(encoding="utf8"))[language]
    return [row(exemplars[str(i)]["q"], number, exemplars[str(i)]["a"]) for i, number in enumerate(numbers, 1)], test


PROGRAM = {"task_id": 11, "text": "description", "code": "code", "test_list": ["t1", "t2", "t3"]}


def answer_load(files):
    answers = {}
    for file in map(Path, files):
        if "_mbpp_" in file.name:
            with patch("datasets.load_dataset", return_value={"test": datasets.Dataset.from_list([PROGRAM])}):
                answers |= loaded(load(file))
            continue
        train = [row(f"Q{i}", i, f"A{i}") for i in range(1, 9)]
        task = with_rows(file, train, [row("question", 7)])
        answers |= loaded(task)
    return answers


def loaded(task):
    shots = task.config.num_fewshot if task.config.num_fewshot is not None else 8
    return {
        task.task_name: {
            "prompt": prompts(task, shots)[0],
            "filters": [f.name for f in task._filters],
            "metrics": list(task.aggregation()),
            "metadata": task.config.metadata,
            "until": (task.config.generation_kwargs or {}).get("until", []),
        }
    }


def answer_prompts(files, data, numbers, rows):
    own = {file.stem: file for file in (Path(lm_eval.__file__).parent / "tasks" / "mgsm").rglob("*.yaml")}
    answers = {}
    for file in map(Path, files):
        name = file.stem
        reference = with_rows(own[name], *hub_rows(Path(data), name.rpartition("_")[2], numbers))
        prepared = load(file)
        answers[name] = {
            "same_version": prepared.VERSION == reference.VERSION,
            "same_filters": prepared.config.filter_list == reference.config.filter_list,
            "prepared": digest(prompts(prepared, 8, rows)),
            "own": digest(prompts(reference, 8, rows)),
        }
    return answers


def answer_answers(file, target, responses):
    task = with_rows(file, [row("Q", 1, "A 1")], [row("question", target)])
    doc = task.eval_docs[0]
    instances = [
        Instance("generate_until", doc, ("", {}), 0, metadata=("task", index, 1), resps=[text])
        for index, text in enumerate(responses)
    ]
    for ensemble in task._filters:
        ensemble.apply(instances)
    return [
        {
            name: {"answer": answer, **task.process_results(doc, [answer])}
            for name, answer in instance.filtered_resps.items()
        }
        for instance in instances
    ]


request = json.load(sys.stdin)
print(json.dumps({"load": answer_load, "prompts": answer_prompts, "answers": answer_answers}[sys.argv[1]](**request)))
