"""Means and standard errors over seeds, from the lines of results."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

# Columns of the tables: the set of texts, whether only their answers count, and a title.
COLUMNS = {
    "language": ("language", False, "Japanese prose"),
    "math-en": ("math-en", False, "English math"),
    "math-ja": ("math-ja", False, "Japanese math"),
    "answer-ja": ("math-ja", True, "its answers only"),
}
METHODS = {
    "math": "math only",
    "language": "language only",
    "mixed": "mixed data",
    "freeze-then-train": "freeze, then train",
    "simultaneous": "simultaneous",
    "train-then-revert": "train, then revert",
    "swap": "layer swap",
    "soup": "soup",
}
FORMS = {"full": "Full fine-tuning", "lora": "LoRA"}


@dataclass(frozen=True)
class Estimate:
    """Mean of a number over seeds, and its standard error: None with one seed."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return sum(self.values) / len(self.values)

    @property
    def error(self) -> float | None:
        count = len(self.values)
        if count < 2:
            return None
        return math.sqrt(sum((value - self.mean) ** 2 for value in self.values) / (count - 1) / count)

    def text(self, digits: int) -> str:
        error = "" if self.error is None else f" ± {self.error:.{digits}f}"
        return f"{self.mean:.{digits}f}{error}"


def nats_per_byte(scores: dict, column: str) -> float:
    texts, answers, _ = COLUMNS[column]
    found = scores[texts]
    return found["answerNats"] / found["answerBytes"] if answers else found["nats"] / found["bytes"]


class Results:
    def __init__(self, path: Path):
        self.lines = {}
        for line in path.read_text().splitlines():
            result = json.loads(line)
            self.lines[tuple(result[name] for name in ("kind", "seed", "form", "model"))] = result
        self.base = self.lines["score", 0, "base", "base"]["scores"]

    def of(self, kind: str, form: str, model: str) -> list[dict]:
        """Lines of a model, one a seed; only of seeds whose methods are all scored, so that rows are of the same seeds."""
        seeds = set.intersection(*(
            {seed for k, seed, f, m in self.lines if (k, f, m) == ("score", form, method)} for method in METHODS
        ))
        return [
            line for (k, seed, f, m), line in self.lines.items() if (k, f, m) == (kind, form, model) and seed in seeds
        ]

    def ratio(self, form: str, expert: str, alpha: float, column: str) -> Estimate | None:
        """Gain of base + α·δ as a multiple of the gain at α = 1, seed by seed."""
        if alpha == 1:
            return Estimate((1.0,))
        before = nats_per_byte(self.base, column)
        whole = {line["seed"]: before - nats_per_byte(line["scores"], column) for line in self.of("score", form, expert)}
        return self.estimate("linearity", form, f"{expert}*{alpha}", lambda line: (
            before - nats_per_byte(line["scores"], column)) / whole[line["seed"]])

    def together(self, form: str, column: str) -> tuple[Estimate, ...] | None:
        """Gains of δ math, of δ language, of both deltas, and both less the sum; of the seeds that have all three."""
        before, gains = nats_per_byte(self.base, column), []
        for kind, model in (("score", "math"), ("score", "language"), ("linearity", "math+language")):
            gains.append({line["seed"]: before - nats_per_byte(line["scores"], column) for line in self.of(kind, form, model)})
        seeds = sorted(set.intersection(*(set(each) for each in gains)))
        if not seeds:
            return None
        rows = [(math, language, both, both - math - language) for math, language, both in ([g[s] for g in gains] for s in seeds)]
        return tuple(Estimate(values) for values in zip(*rows, strict=True))

    def estimate(self, kind: str, form: str, model: str, number) -> Estimate | None:
        """A number of each seed's line; None before the first seed is there."""
        values = tuple(number(line) for line in self.of(kind, form, model))
        return Estimate(values) if values else None

    def perplexity(self, form: str, model: str, column: str) -> Estimate | None:
        return self.estimate("score", form, model, lambda line: math.exp(nats_per_byte(line["scores"], column)))

    def gain(self, form: str, model: str, column: str, kind: str = "score") -> Estimate | None:
        """Nats per byte below the base's."""
        before = nats_per_byte(self.base, column)
        return self.estimate(kind, form, model, lambda line: before - nats_per_byte(line["scores"], column))

    def difference(self, form: str, model: str, reference: str, column: str) -> Estimate | None:
        """Nats per byte below the reference's, paired by seed: seeds share their batches and texts."""
        models, references = (
            {line["seed"]: nats_per_byte(line["scores"], column) for line in self.of("score", form, each)}
            for each in (model, reference)
        )
        both = sorted(models.keys() & references.keys())
        return Estimate(tuple(references[seed] - models[seed] for seed in both)) if both else None
