"""Computes with scipy and statsmodels what layerloom's tables state: exact McNemar, Holm, bootstrap intervals.

Reads {"tables": [[onlyA, onlyB]], "values": [p], "a": [...], "b": [...], "weights": [...]} from stdin, prints JSON.
"""

import json
import sys

import numpy
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

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


json.dump(
    {
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
