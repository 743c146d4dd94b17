"""Tables of an experiment's results, in Markdown.   python tables.py RESULTS.jsonl [PAGE.md to write them into]"""

import math
import re
import sys
from pathlib import Path

from results import COLUMNS, FORMS, METHODS, Estimate, Results, nats_per_byte


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] + ["--:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def text(estimate, digits: int) -> str:
    return "" if estimate is None else estimate.text(digits)


def perplexities(results: Results, form: str) -> str:
    base = ["base"] + [f"{math.exp(nats_per_byte(results.base, column)):.3f}" for column in COLUMNS]
    rows = [
        [name, *(text(results.perplexity(form, method, column), 3) for column in COLUMNS)] for method, name in METHODS.items()
    ]
    return table([FORMS[form], *(title for _, _, title in COLUMNS.values())], [base, *rows])


def differences(results: Results, form: str, reference: str = "swap") -> str:
    """Each method's gain less the reference's, seed by seed: positive is better. A star: beyond the 95 % interval of t."""
    rows = []
    for method, name in METHODS.items():
        if method != reference:
            found = [results.difference(form, method, reference, column) for column in COLUMNS]
            rows.append([name, *(text(each, 3) + star(each) for each in found)])
    return table([f"{FORMS[form]}, less {METHODS[reference]}", *(title for _, _, title in COLUMNS.values())], rows)


# Two-sided 95 % quantiles of Student's t, by the number of seeds.
QUANTILES = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57}


def star(difference: Estimate | None) -> str:
    if difference is None or difference.error is None:
        return ""
    quantile = QUANTILES.get(len(difference.values), 2.57)
    return " *" if abs(difference.mean) > quantile * difference.error else ""


def parts_alone(results: Results) -> str:
    """Gains of the single experts on their own texts: trained whole, reverted to its part, frozen from the start."""
    models = {
        "math, every parameter": ("math", "math-en"),
        "math, reverted to the middle": ("math-reverted", "math-en"),
        "math, frozen but for the middle": ("math-frozen", "math-en"),
        "language, every parameter": ("language", "language"),
        "language, frozen but for its part": ("language-frozen", "language"),
    }
    rows = [
        [name, COLUMNS[column][2], *(text(results.gain(form, model, column), 3) for form in FORMS)]
        for name, (model, column) in models.items()
    ]
    return table(["expert", "texts", *FORMS.values()], rows)


def linearity(results: Results) -> str:
    """Gain at α as a multiple of the gain at 1."""
    alphas = (0.25, 0.5, 0.75, 1, 1.25, 1.5)
    rows = [
        [f"{title}, {expert}", *(text(results.ratio(form, expert, alpha, column), 2) for alpha in alphas)]
        for form, title in FORMS.items() for expert, column in (("math", "math-en"), ("language", "language"))
    ]
    return table(["α", *(f"{alpha:g}" for alpha in alphas)], rows)


def sums(results: Results) -> str:
    """Gain of base + δ_math + δ_language beside the sum of the single gains."""
    rows = []
    for form, title in FORMS.items():
        for column, (_, _, name) in COLUMNS.items():
            found = results.together(form, column)
            rows.append([f"{title}, {name}", *("" if found is None else each.text(3) for each in found or [None] * 4)])
    return table(["gain, nats per byte", "δ math", "δ language", "both deltas", "less the sum"], rows)


def overlaps(results: Results) -> str:
    rows = []
    for form, title in FORMS.items():
        for share in ("1", "5", "10"):
            found = results.estimate("overlap", form, "math+language", lambda line, share=share: shared(line, share))
            if found is not None:
                rows.append([f"{title}, top {share} %", f"{100 * found.mean:.1f} %", f"{share} %"])
    return table(["rows of largest MAV", "in both", "by chance"], rows)


def shared(line: dict, share: str) -> float:
    return line["shared"][share]


TABLES = {
    **{f"perplexity {form}": lambda results, form=form: perplexities(results, form) for form in FORMS},
    **{f"differences {form}": lambda results, form=form: differences(results, form) for form in FORMS},
    "parts alone": parts_alone,
    "linearity": linearity,
    "sums": sums,
    "overlaps": overlaps,
}


def write_into(page: Path, results: Results) -> None:
    """Replaces the tables of a Markdown page: each stands below a line <!-- table: NAME -->, up to an empty line."""

    def made(match: re.Match) -> str:
        return f"{match[1]}\n{TABLES[match[2]](results)}\n"

    text = page.read_text(encoding="utf8")
    page.write_text(re.sub(r"(<!-- table: ([^>]+) -->)\n(?:\|.*\n)*", made, text), encoding="utf8")


if __name__ == "__main__":
    found = Results(Path(sys.argv[1]))
    if len(sys.argv) > 2:
        write_into(Path(sys.argv[2]), found)
    else:
        print("\n\n".join(make(found) for make in TABLES.values()))
