"""Computes an experiment's tables independently, from the answers that lm-evaluation-harness recorded.

python check.py STUDY TABLES.csv MGSM     STUDY: a directory of one language, Swahili, with one configuration
of each method

Solved shares come from each response's last number and MGSM's own file, perplexities from the log-likelihoods
and the bytes of MGSM's questions; none of layerloom's figures is used. Intervals, standard errors and tests
are computed for the means over experts and problems (crossed effects, docs/tables.md), McNemar's exact test
and Holm's adjustment. Texts, and figures that draw at random (repeated choices), are only counted.
"""

import csv
import json
import math
import re
import sys
from collections import defaultdict
from pathlib import Path

import numpy
from layouts import elsewhere
from scipy import stats

study, tables, mgsm = (Path(argument) for argument in sys.argv[1:4])
solving, reading = "layerloom_mgsm_sw", "layerloom_mgsm_ppl_sw"
published = [line.split("\t") for line in (mgsm / "mgsm_sw.tsv").read_text("utf-8").splitlines()]
record = json.loads((study / "experiment.json").read_text("utf-8"))


def last_number(response):
    found = re.findall(r"\d[\d,]*(?:\.\d+)?", response)
    return float(found[-1].rstrip(",").replace(",", "")) if found else None


def problems(model, task):
    result = study / model["scores"][task]["result"]
    return json.loads(result.with_name(f"{result.stem}.problems.json").read_text("utf-8"))


class Model:
    def __init__(self, model):
        answers = problems(model, solving)
        self.rows = [one["id"] for one in answers]
        self.solved = numpy.array(
            [float(last_number(one["response"]) == float(published[one["id"]][1].replace(",", ""))) for one in answers]
        )
        texts = problems(model, reading)
        likelihoods = [one["scores"]["byte_perplexity,none"][0] for one in texts]
        size = sum(len(published[one["id"]][0].encode()) for one in texts)
        self.score = {solving: 100 * self.solved.mean(), reading: math.exp(-sum(likelihoods) / size)}


groups = defaultdict(list)
names, pairs = {}, {}
for reference in record["references"]:
    role = reference["role"] if reference["role"] in ("base", "task") else "language"
    groups[role].append(reference["name"])
    names[reference["name"]] = Model(reference)
kinds = {"default": "swap", "soup": "soup", "ties": "ties", "reverted": "reverted", "soup-of-each": "soup-of-each"}
for merge in record["merges"]:
    group = kinds[merge["path"].rsplit("/", 1)[-1]]
    groups[group].append(merge["name"])
    names[merge["name"]] = Model(merge)
    pairs[merge["name"]] = (merge["task"], merge["languageExpert"])
assert all(model.rows == list(range(50)) for model in names.values()), "other rows than the first 50"


def group_of(name):
    return groups["soup-of-each" if name == "soup-of-each" else {"swahili": "language"}.get(name, name.split("-")[0])]


def statistic(group, task, which="avg"):
    scores = [names[name].score[task] for name in group]
    return {"min": min, "avg": lambda of: sum(of) / len(of), "max": max}[which](scores)


def less(first, second, task):
    return statistic(group_of(first), task) - statistic(group_of(second), task)


def best_expert(task):
    of = [names[name].score[task] for name in groups["task"] + groups["language"]]
    return max(of) if task == solving else min(of)


def wins(group, task):
    sign = 1 if task == solving else -1
    better = lambda one, other: sign * names[one].score[task] > sign * names[other].score[task]
    return sum(all(better(name, expert) for expert in pairs[name]) for name in group)


def crossed(group):
    tasks, languages = (sorted({pairs.get(name, (name, name))[side] for name in group}) for side in (0, 1))
    if group is groups["task"] or group is groups["reverted"]:
        languages = [None]
    elif group is groups["language"]:
        tasks = [None]
    y = numpy.zeros((len(tasks), len(languages), 50))
    for name in group:
        task, language = pairs.get(name, (name, name))
        y[0 if tasks == [None] else tasks.index(task), 0 if languages == [None] else languages.index(language)] = (
            names[name].solved
        )
    shape, mean = y.shape, y.mean()
    by = {axis: y.mean(tuple(other for other in range(3) if other != axis)) for axis in range(3)}
    problems = ((by[2] - mean) ** 2).sum() / 49 / 50
    whole, excesses = problems, []
    for axis, count in ((0, shape[0]), (1, shape[1])):
        if count < 2:
            continue
        of = ((by[axis] - mean) ** 2).sum() / (count - 1) / count
        left = y.mean(1 - axis) - by[axis][:, None] - by[2] + mean
        residual = (left**2).sum() / ((count - 1) * 49) / (count * 50)
        whole += max(0, of - (count - 2) / (count - 1) * residual)
        if of > residual:
            excesses.append((of - residual, count - 1))
    quantile = stats.t.ppf(0.975, 49)
    squares = quantile**2 * problems
    if excesses:
        experts = sum(more for more, _ in excesses)
        squares += experts * stats.t.ppf(0.975, experts**2 / sum(more**2 / df for more, df in excesses)) ** 2
    squares = max(squares, quantile**2 * whole)
    # All μ with (mean - μ)² <= c μ (1 - μ); models that all solve none or every problem count as one.
    c = squares / (mean * (1 - mean)) if 0 < mean < 1 else quantile**2 / 50
    middle, half = mean + c / 2, math.sqrt(c * mean * (1 - mean) + c**2 / 4)
    return 100 * math.sqrt(whole), 100 * (middle - half) / (1 + c), 100 * (middle + half) / (1 + c)


def expected(table, row, column):
    task = reading if "byte-perplexity" in table or reading in row or row.startswith("byte perplexity") else solving
    layout = table.split("/")[0]
    if layout in ("table-1", "table-2"):
        if column == "derived":
            parts = sum(statistic(group_of(name), task) for name in ("language", "task", "soup")) / 3
            return statistic(group_of("swap"), task) / parts
        return statistic(group_of(column), task, row.split("/")[-1])
    if layout == "table-5":
        return statistic(group_of(column), task) / (100 if task == solving else 1)
    if layout == "table-6":
        return statistic(group_of(column), task)
    if layout == "reverted" and not table.endswith("differences"):
        return statistic(group_of(row), task)
    if table.endswith("differences"):
        return less("reverted", "task", task) if column == "difference" else None
    if layout == "gains":
        group, over = row.split("/")
        against = best_expert(task) if over == "expert" else statistic(groups["base"], task)
        return (1 if task == solving else -1) * (statistic(group_of(group), task) - against)
    if layout == "wins":
        group = group_of(row)
        return wins(group, task) if column.endswith("wins") else len(group)
    if layout == "regressions":
        group = row.split("/")[1]
        task = row.split("/")[-1]
        if column == "score":
            return statistic(group_of(group), task)
        other = {"base": "base", "language": "language", "task-experts": "task"}.get(column)
        return None if other is None else less(group, other, task)
    if layout == "comparisons":
        first, second = row.split("/")[2:]
        if column == "problems":
            return 50
        if column == "difference":
            return less(first, second, task)
        if column == "p" and task == solving and len(group_of(first)) == len(group_of(second)) == 1:
            a, b = (names[group_of(name)[0]].solved for name in (first, second))
            only = int((a > b).sum()), int((a < b).sum())
            return stats.binomtest(min(only), sum(only), 0.5).pvalue if sum(only) else 1
        return None
    if layout == "intervals":
        group, which = row.split("/")[2:]
        if column == "score":
            return statistic(group_of(group), task, which)
        of = group_of(group)
        if task == solving and which == "avg" and len(of) > 1 and column in ("stderr", "low", "high"):
            return dict(zip(("stderr", "low", "high"), crossed(of)))[column]
        if task == solving and which == "avg" and column == "stderr":
            return 100 * names[of[0]].solved.std(ddof=1) / math.sqrt(50)
        return None
    if layout == "models":
        return names[row].score[column]
    return elsewhere(table)


lines = list(csv.DictReader(tables.open(encoding="utf-8")))
checked, unchecked, wrong, ps = 0, 0, [], defaultdict(dict)
for line in lines:
    table, row, column = line["table"], line["row"], line["column"]
    if table == "comparisons" and column in ("p", "adjusted-p"):
        ps[tuple(row.split("/")[:2]), column][row] = float(line["value"])
    figure = expected(table, row, column)
    if figure is None:
        unchecked += 1
        continue
    checked += 1
    if not math.isclose(float(line["value"]), figure, rel_tol=1e-9, abs_tol=1e-9):
        wrong.append(f"{table}, {row}, {column}: {line['value']}, computed {figure}")
for (family, column), of in ps.items():
    if column != "p":
        continue
    least = 0
    for at, (row, p) in enumerate(sorted(of.items(), key=lambda item: item[1])):
        least = max(least, min(1, p * (len(of) - at)))
        checked += 1
        if not math.isclose(ps[family, "adjusted-p"][row], least, rel_tol=1e-9):
            wrong.append(f"comparisons, {row}, adjusted-p: {ps[family, 'adjusted-p'][row]}, computed {least}")
print("\n".join(wrong))
print(f"{unchecked} cells are texts or drawn at random, and were not computed")
print(f"{checked} figures of {len({line['table'] for line in lines})} tables, {'all as' if not wrong else f'{len(wrong)} not as'} computed from the answers")
