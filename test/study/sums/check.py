"""Computes the tables of the sampled study independently, from the models' responses and the sums.

python check.py STUDY TABLES.csv DATA     DATA: the folder with swahili.jsonl and english.jsonl

A response is right if its last number is the sum. All figures come from that: none of layerloom's is used, and
none of its code. Intervals and tests follow docs/tables.md: crossed effects of experts and problems, intervals
within the range, four more problems for one model, two more for equivalence, Holm's adjustment. Intervals of
chosen figures draw at random: they are compared with 20,000 resamples of ours, within a tenth of their width.
"""

import csv
import json
import math
import re
import sys
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import numpy
from scipy import optimize, stats

sys.path.append(str(Path(__file__).resolve().parents[1]))
from layouts import elsewhere

study, tables, data = (Path(argument) for argument in sys.argv[1:4])
record = json.loads((study / "experiment.json").read_text("utf-8"))
languages = ("swahili", "english")
expected = {
    of: [json.loads(line)["answer"] for line in (data / f"{of}.jsonl").read_text("utf-8").splitlines()]
    for of in languages
}
K = len(expected["swahili"])
MARGIN, PLANNED = 20, 5


def answers_of(model, language):
    """The last number of each response: a row for each run."""
    runs = []
    for result in model["scores"][f"sums_{language}"]["samples"]:
        path = study / result.replace(".json", ".problems.json")
        lines = json.loads(path.read_text("utf-8"))
        assert [line["id"] for line in lines] == list(range(K)), path
        runs.append([(re.findall(r"\d+", line["response"]) or [None])[-1] for line in lines])
    return runs


answers, right = {}, {}
groups, pairs = defaultdict(list), {}
for model in [*record["references"], *record["merges"]]:
    name, role = model["name"], model.get("role")
    if role in ("base", "task", "language"):
        groups[role].append(name)
    else:
        kind = model["path"].rsplit("/", 1)[-1]
        groups[{"default": "swap-default"}.get(kind, kind)].append(name)
        pairs[name] = (model["task"], model["languageExpert"])
    for language in languages:
        answers[name, language] = answers_of(model, language)
        right[name, language] = numpy.array(
            [[one == sum_ for one, sum_ in zip(run, expected[language])] for run in answers[name, language]], float
        )
assert len(answers) == 24 and all(runs.shape == (3, K) for runs in right.values())
groups["swahili"] = groups["language"]
groups["swap-best"] = groups["swap-default"]
groups["task-experts"] = groups["task"]


def avg(name, language):
    return right[name, language].mean(0)


def levels(group, language, side):
    """Mean scores by problem of each expert of one side; none if the side does not vary."""
    of = {name: pairs.get(name, (name, None) if name in groups["task"] else (None, name))[side] for name in group}
    experts = sorted({expert for expert in of.values() if expert is not None})
    if len(group) < 2 or len(experts) < 2:
        return None
    return {
        expert: numpy.mean([avg(name, language) for name in group if of[name] == expert], 0) for expert in experts
    }


def excess(table):
    """V_F, V_FP and I - 1 of means by level and problem."""
    table = numpy.array(table)
    count = len(table)
    own = table.mean(1).var(ddof=1) / count
    left = table - table.mean(1, keepdims=True) - table.mean(0) + table.mean()
    return own, (left**2).sum() / ((count - 1) * (K - 1)) / (count * K), count - 1


def t95(df):
    return stats.t.ppf(0.975, df) if math.isfinite(df) else stats.norm.ppf(0.975)


def crossed(variance, tables):
    """Variance V = V_P + Σ max(0, V_F - w V_FP) and the half-width's factor: t²(K - 1) V_P + t²(f) V_E, at least t²(K - 1) V."""
    levels = [excess(table) for table in tables]
    whole = variance + sum(max(0, own - (df - 1) / df * left) for own, left, df in levels)
    parts = [(own - left, df) for own, left, df in levels if own > left]
    squares = t95(K - 1) ** 2 * variance
    if parts:
        of = sum(v for v, _ in parts)
        squares += t95(of**2 / sum(v**2 / df for v, df in parts)) ** 2 * of
    squares = max(squares, t95(K - 1) ** 2 * whole)
    return whole, math.sqrt(squares / whole) if whole > 0 else 0


def df_of(t):
    return math.exp(optimize.brentq(lambda x: t95(math.exp(x)) - t, math.log(0.5), math.log(1e8), xtol=1e-14))


def bounded(mean, variance, t, least=0.0, most=1.0):
    """All μ with (mean - μ)² <= t² c (μ - least)(most - μ)."""
    c = t * t * variance / ((mean - least) * (most - mean))
    a, b, d = 1 + c, -(2 * mean + c * (least + most)), mean * mean + c * least * most
    root = math.sqrt(max(0, b * b - 4 * a * d))
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


def estimate(group, language):
    scores = numpy.array([avg(name, language) for name in group])
    variance = scores.mean(0).var(ddof=1) / K
    mean = scores.mean()
    if len(group) == 1:
        variance = (K * variance + 4 * mean * (1 - mean) / (K - 1)) / (K + 4)
    found = [of for side in (0, 1) if (of := levels(group, language, side)) is not None]
    variance, t = crossed(variance, [list(of.values()) for of in found])
    low, high = bounded(mean, variance, t)
    return {"score": mean, "stderr": math.sqrt(variance), "low": low, "high": high}


def paired(first, second, language):
    """Differences by problem, and the tables of levels that vary."""
    means = [numpy.mean([avg(name, language) for name in group], 0) for group in (first, second)]
    found = []
    for side in (0, 1):
        a, b = (levels(group, language, side) for group in (first, second))
        if a is not None and b is not None and a.keys() == b.keys():
            found.append([a[expert] - b[expert] for expert in a])
        else:
            found += [list(of.values()) for of in (a, b) if of is not None]
    return means[0] - means[1], found


def difference(first, second, language):
    by_problem, found = paired(first, second, language)
    mean = by_problem.mean()
    variance, t = crossed(by_problem.var(ddof=1) / K, found)
    low, high = bounded(mean, variance, t, -1, 1)
    # At a difference of 0 the variance is c, of v(μ) = c (1 - μ²).
    at_zero = variance / (1 - mean**2)
    p = 2 * stats.t.sf(abs(mean) / math.sqrt(at_zero), df_of(t)) if mean else 1
    differing = int((abs(by_problem) > 1e-12).sum())
    p = max(min(1, p), 2.0 ** (1 - differing))
    return {"difference": mean, "low": low if p < 0.05 else min(low, 0), "high": high if p < 0.05 else max(high, 0), "p": p}


def equivalence(first, second, language):
    by_problem, found = paired(first, second, language)
    largest = abs(by_problem).max()
    values = numpy.append(by_problem, [largest, -largest])
    parts = [(values.var(ddof=1) / len(values), len(values) - 1)]
    for table in map(numpy.array, found):
        parts.append((table.mean(1).var(ddof=1) / len(table), len(table) - 1))
    variance = sum(v for v, _ in parts)
    df = variance**2 / sum(v**2 / f for v, f in parts)
    p = lambda margin: stats.t.sf((margin - abs(values.mean())) / math.sqrt(variance), df)
    return p(MARGIN / 100), optimize.brentq(lambda margin: p(margin) - 0.05, 1e-9, 50)


draw = numpy.random.default_rng(59)
counts = draw.multinomial(K, numpy.full(K, 1 / K), 20_000)


def chosen(group, language, sign, others=None):
    """The interval of a group's highest (1) or lowest (-1) score; with others, of their mean minus it."""
    table = numpy.array([avg(name, language) for name in group])
    full = table.mean(1)
    drawn = counts @ table.T / K
    best = (sign * drawn).max(1, keepdims=True)
    ties = abs(sign * drawn - best) < 1e-12
    errors = ((drawn - full) * ties).sum(1) / ties.sum(1)
    top = sign * (sign * full).max()
    alike = [row for row, mean in zip(table, full) if abs(mean - top) < 1e-12]
    least, mean = 0, top
    bias = errors.mean()
    if others is not None:
        means = numpy.mean([avg(name, language) for name in others], 0)
        errors = (counts @ means / K - means.mean()) - errors
        alike = [means - row for row in alike]
        bias, least, mean = errors.mean(), -1, means.mean() - top
    variance = max(errors.var(), *(row.var(ddof=1) / K for row in alike)) + bias**2
    t = t95(K - 1)
    center = min(1, max(least, mean - bias))
    c = variance / ((mean - least) * (1 - mean)) if least == 0 else variance / (1 - mean**2)
    return bounded(center, c * (center - least) * (1 - center), t, least)


def group_in(row):
    for part in reversed(row.split("/")):
        if part in groups:
            return groups[part]
    raise SystemExit(f"{row}: no group")


def language_in(*texts):
    return "english" if any("english" in text for text in texts) else "swahili"


def extremes(group, language, which):
    score = lambda name: avg(name, language).mean()
    value = {"min": min, "max": max}[which](map(score, group))
    return value, chosen(group, language, -1 if which == "min" else 1) if len(group) > 1 else None


def figures(line):
    """The cell's value and its further figures: exact ones, and those of random resamples."""
    table, row, column = line["table"], line["row"], line["column"]
    layout = table.split("/")[0]
    language = language_in(table, row, column)
    share = 1 if layout == "table-5" else 100
    scaled = lambda of: {key: share * of[key] for key in of if key != "p"} | {key: of[key] for key in of if key == "p"}

    def mean_of(group):
        own = scaled(estimate(group, language))
        return own.pop("score"), own, {}

    def less(first, second):
        own = scaled(difference(first, second, language))
        return own.pop("difference"), own, {}

    if layout in ("table-1", "intervals"):
        parts = row.split("/")
        which, group = (parts[1], groups[column]) if layout == "table-1" else (parts[3], groups[parts[2]])
        value, own, near = mean_of(group)
        if which != "avg":
            extreme, interval = extremes(group, language, which)
            if interval is not None:
                value, own, near = 100 * extreme, {}, dict(zip(("low", "high"), (100 * end for end in interval)))
        if layout == "table-1":
            return value, own, near
        if column == "plain-stderr":
            scores = [avg(name, language).mean() for name in group]
            return 100 * numpy.std(scores, ddof=1) / math.sqrt(len(scores)), {}, {}
        if column == "score":
            return value, {}, {}
        return own.get(column), near and {}, {"value": near[column]} if column in near else {}
    if layout == "table-5":
        return mean_of(groups[column])
    if layout == "table-6":
        return mean_of(groups[column])
    if layout == "reverted" and table.endswith("differences"):
        sides = groups["reverted"], groups["task"]
        value, own, _ = less(*sides)
        p, smallest = equivalence(*sides, language)
        known = {"p": own["p"], "adjusted-p": own["p"], "equivalence-p": p, "smallest-margin": 100 * smallest}
        return (value, own, {}) if column == "difference" else (known.get(column), {}, {})
    if layout == "reverted":
        return mean_of(group_in(row))
    if layout == "gains":
        group, over = row.split("/")
        if over == "base":
            value, own, _ = less(groups[group], groups["base"])
            return value, {} if column == "mean" else own, {}
        experts = groups["task"] + groups["language"]
        top, _ = extremes(experts, language, "max")
        value = numpy.mean([avg(name, language).mean() for name in groups[group]]) - top
        near = dict(zip(("low", "high"), (100 * end for end in chosen(experts, language, 1, groups[group]))))
        return 100 * value, {}, {} if column == "mean" else near
    if layout == "wins":
        if column.endswith("pairs"):
            return len(groups[row]), {}, {}
        score = lambda name: avg(name, language).mean()
        return sum(all(score(name) > score(of) + 1e-12 for of in pairs[name]) for name in groups[row]), {}, {}
    if layout == "regressions":
        group = groups[row.split("/")[1]]
        if column == "score":
            return mean_of(group)
        return less(group, groups[column]) if column in groups else (None, {}, {})
    if layout == "comparisons":
        first, second = (groups[part] for part in row.split("/")[2:])
        value, own, _ = less(first, second)
        return {"problems": K, "difference": value, **own}.get(column), {}, {}
    if layout == "models":
        language = column.removeprefix("sums_")
        return mean_of([row])
    if layout == "samples":
        language, name = row.split("/", 1)[0].removeprefix("sums_"), row.split("/", 1)[1]
        return (*samples(name, language, column, mean_of([name])), {})
    if layout == "plan":
        return planned(row.split("/")[0].removeprefix("sums_"), int(row.split("/")[1])).get(column), {}, {}
    return elsewhere(table), {}, {}


def samples(name, language, column, mean):
    if column == "avg":
        return mean[:2]
    runs = right[name, language]
    scores = 100 * runs.mean(1)
    votes = []
    for at in range(K):
        own = [run[at] for run in answers[name, language] if run[at] is not None]
        most = max(map(own.count, own), default=0)
        winners = {one for one in own if own.count(one) == most}
        votes.append(sum(one == expected[language][at] for one in winners) / max(1, len(winners)))
    whole = runs.mean(0).var(ddof=1)
    drawing = runs.var(0, ddof=1).mean() / 3
    known = {
        "k": 3,
        "sd": scores.std(ddof=1),
        "min": scores.min(),
        "max": scores.max(),
        "pass": 100 * runs.max(0).mean(),
        "maj": 100 * numpy.mean(votes),
        "drawing": 100 * min(1, drawing / whole),
    }
    return known.get(column), {}


def planned(language, k):
    names = list(dict.fromkeys(name for name, _ in right))
    whole = numpy.mean([avg(name, language).var(ddof=1) for name in names])
    drawing = numpy.mean([right[name, language].var(0, ddof=1).mean() for name in names])
    apart = numpy.mean([(avg(a, language) - avg(b, language)).var(ddof=1) for a, b in combinations(names, 2)])
    change = drawing / k - drawing / 3
    problems = lambda variance: math.ceil((stats.norm.ppf(0.975) * 100 / PLANNED) ** 2 * variance)
    return {"k": k, "score": problems(whole + change), "difference": problems(apart + 2 * change)}


lines = list(csv.DictReader(tables.open(encoding="utf-8")))
checked, resampled, texts, wrong, families = 0, 0, 0, [], defaultdict(dict)
for line in lines:
    where = f"{line['table']}, {line['row']}, {line['column']}"
    if line["column"] == "adjusted-p" and line["table"] == "comparisons":
        families[tuple(line["row"].split("/")[:2])][line["row"]] = float(line["value"])
        continue
    if line["value"] in ("sums_swahili", "sums_english"):
        texts += 1
        continue
    value, exact, near = figures(line)
    shown = {"value": line["value"], **{key: line[key] for key in ("stderr", "low", "high", "p") if line[key]}}
    if value is not None:
        exact = {"value": value, **exact}
    for key, text in shown.items():
        if key in exact:
            checked += 1
            if not math.isclose(float(text), exact[key], rel_tol=1e-7, abs_tol=1e-9):
                wrong.append(f"{where}, {key}: {text}, computed {exact[key]}")
        elif key in near:
            resampled += 1
            if abs(float(text) - near[key]) > 0.1 * max(5, abs(near.get("high", 50) - near.get("low", 0))):
                wrong.append(f"{where}, {key}: {text}, resampled {near[key]}")
        else:
            texts += 1
for (_, task), family in families.items():
    sides = {row: [groups[part] for part in row.split("/")[2:]] for row in family}
    ps = {row: difference(*sides[row], task.removeprefix("sums_"))["p"] for row in family}
    least = 0
    for at, (row, p) in enumerate(sorted(ps.items(), key=lambda item: item[1])):
        least = max(least, min(1, p * (len(ps) - at)))
        checked += 1
        if not math.isclose(family[row], least, rel_tol=1e-7):
            wrong.append(f"comparisons, {row}, adjusted-p: {family[row]}, computed {least}")
print("\n".join(wrong))
print(f"{resampled} ends of intervals are near those of other resamples; {texts} cells are texts, or p of such intervals")
print(
    f"{checked} figures of {len({line['table'] for line in lines})} tables, {'all as' if not wrong else f'{len(wrong)} not as'} computed from the answers"
)
