"""The notebook summary of a study."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .analysis import Analysis
from .experiment import Experiment
from .html import BASE, EXPERTS, escape, framed, heading, muted, table


def summary_text(experiments: Sequence[Experiment], found: Sequence[Analysis]) -> str:
    parts = [f"{one.name}: {counts_of(one)}" for one in experiments]
    if found:
        parts.append(f"{plural(len(found), 'analysis', 'analyses')}: {', '.join(one.name for one in found)}")
    return f"<study {'; '.join(parts)}>"


def summary_html(experiments: Sequence[Experiment], found: Sequence[Analysis]) -> str:
    parts = [heading(one.name, counts_of(one)) + scores_of(one) for one in experiments]
    if found:
        rows = [[escape(one.name), escape(one.base), f"{one.mean_mav:.3g}", f"{one.threshold:g}"] for one in found]
        head = heading(found[0].study, plural(len(found), "analysed expert", "analysed experts"))
        parts.append(head + table(["expert", "base", "mean MAV", "threshold"], rows, left=2))
    return framed('<div style="height:16px"></div>'.join(parts))


def plural(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def counts_of(experiment: Experiment) -> str:
    states = Counter(experiment.merges.columns["state"])
    references = len(experiment.references)
    merges = plural(len(experiment.merges), "merge", "merges")
    told = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    return f"{merges}{f' ({told})' if told else ''}, {plural(references, 'reference', 'references')}"


def scores_of(experiment: Experiment) -> str:
    """A line for each task and metric: the number of scored models, and the range of scores."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in experiment.scores.rows():
        if row["headline"] is not False and row["value"] is not None:
            metric = row["metric"] if row["filter"] is None else f"{row['metric']},{row['filter']}"
            groups.setdefault((row["task"], metric), []).append(row)
    if not groups:
        return f'<div style="{muted}">no scores yet</div>'
    models = len(experiment.models)
    lines = [
        [
            escape(task),
            escape(metric),
            f"{len(rows)} / {models}",
            " – ".join(f"{end(row['value'] for row in rows):.3f}" for end in (min, max)),
            strip(rows),
        ]
        for (task, metric), rows in groups.items()
    ]
    legend = " ".join(
        f'<span style="white-space:nowrap;margin-right:10px"><svg width="10" height="10" style="vertical-align:-1px">'
        f'<rect width="4" x="3" height="10" rx="2" fill="{colour}"/></svg> {words}</span>'
        for words, colour in (("merge", EXPERTS[0]), ("expert", EXPERTS[1]), ("base", BASE))
    )
    head = ["task", "metric", "models with a score", "lowest – highest", legend]
    return table(head, lines, left=2)


def strip(rows: Sequence[Mapping[str, Any]]) -> str:
    values = [row["value"] for row in rows]
    low, high = min(values), max(values)
    # Merges come last, because there are many.
    order = sorted(rows, key=lambda row: {"merge": 0, "base": 2}.get(row["role"], 1))
    marks: list[str] = []
    for row in order:
        colour = {"merge": EXPERTS[0], "base": BASE}.get(row["role"], EXPERTS[1])
        x = 4 + (152 * (row["value"] - low) / (high - low) if high > low else 76)
        title = escape(f"{row['model']}: {row['value']:.3f}")
        marks.append(
            f'<rect x="{x - 1.5:.1f}" y="2" width="3" height="14" rx="1.5" fill="{colour}" fill-opacity=".75"><title>{title}</title></rect>'
        )
    return f'<svg width="160" height="18" role="img"><title>scores from lowest to highest</title>{"".join(marks)}</svg>'
