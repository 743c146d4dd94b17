"""Computes the statistics of layerloom's tables with scipy and statsmodels: exact McNemar, Holm, intervals,
crossed effects.

Reads {"tables": [[onlyA, onlyB]], "values": [p], "a": [...], "b": [...], "weights": [...], "grid": [[[...]]],
"freedom": [df]} from stdin, prints JSON.
"""

import json
import sys

import numpy
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

given = json.load(sys.stdin)
a, b, weights = (numpy.array(given[name], dtype=float) for name in ("a", "b", "weights"))


def interval(samples, statistic):
    result = stats.bootstrap(
        samples,
        statistic,
        n_resamples=50_000,
        method="percentile",
        paired=len(samples) > 1,
        vectorized=True,
        random_state=numpy.random.default_rng(0),
    )
    return list(result.confidence_interval)


def perplexity(x, w, axis=-1):
    return numpy.exp(-x.sum(axis) / w.sum(axis))


def crossed(y):
    """Variance of the mean over tasks x languages x problems, and half of its 95 % interval, from mean
    squares."""
    tasks, languages, problems = y.shape
    mean = y.mean()
    of_task, of_language, of_problem = y.mean((1, 2)), y.mean((0, 2)), y.mean((0, 1))
    by_task = y.mean(1) - of_task[:, None] - of_problem + mean
    by_language = y.mean(0) - of_language[:, None] - of_problem + mean
    squares = {
        "task": languages * problems * ((of_task - mean) ** 2).sum() / (tasks - 1),
        "language": tasks * problems * ((of_language - mean) ** 2).sum() / (languages - 1),
        "problem": tasks * languages * ((of_problem - mean) ** 2).sum() / (problems - 1),
    }
    residuals = {
        "task": languages * (by_task**2).sum() / ((tasks - 1) * (problems - 1)),
        "language": tasks * (by_language**2).sum() / ((languages - 1) * (problems - 1)),
    }
    whole, parts = squares["problem"], []
    for kind, levels in (("task", tasks), ("language", languages)):
        whole += max(0, squares[kind] - (levels - 2) / (levels - 1) * residuals[kind])
        if squares[kind] > residuals[kind]:
            parts.append((squares[kind] - residuals[kind], levels - 1))
    quantile = stats.t.ppf(0.975, problems - 1)
    scaled = quantile**2 * squares["problem"]
    if parts:
        experts = sum(part for part, _ in parts)
        freedom = experts**2 / sum(part**2 / df for part, df in parts)
        # Cochran (1964): each part of the variance times the square of its own quantile of Student's t.
        scaled += stats.t.ppf(0.975, freedom) ** 2 * experts
    scaled = max(scaled, quantile**2 * whole)
    return [whole / y.size, float(numpy.sqrt(scaled / y.size))]


def bonett_price(x, y):
    n = len(x) + 2
    first, second = ((x > y).sum() + 1) / n, ((x < y).sum() + 1) / n
    half = stats.norm.ppf(0.975) * numpy.sqrt((first + second - (first - second) ** 2) / n)
    return [first - second - half, first - second + half]


json.dump(
    {
        "crossed": crossed(numpy.array(given["grid"], dtype=float)),
        "quantiles": [float(stats.t.ppf(0.975, df)) for df in given["freedom"]],
        "wilson": [float(bound) for bound in proportion_confint(a.sum(), len(a), method="wilson")],
        "bonettPrice": [float(bound) for bound in bonett_price(a, b)],
        "mcnemar": [float(mcnemar([[0, x], [y, 0]], exact=True).pvalue) for x, y in given["tables"]],
        "binomial": [float(stats.binomtest(min(x, y), x + y, 0.5).pvalue) for x, y in given["tables"]],
        "holm": multipletests(given["values"], method="holm")[1].tolist(),
        "mean": interval((a - b,), numpy.mean),
        "perplexity": interval(
            (-10 - a, -10 - b, weights),
            lambda x, y, w, axis=-1: perplexity(x, w, axis) - perplexity(y, w, axis),
        ),
    },
    sys.stdout,
)
