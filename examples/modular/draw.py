"""Pictures of an experiment's results.   python draw.py RESULTS.jsonl DIRECTORY"""

import math
import sys
from html import escape
from pathlib import Path

from results import COLUMNS, FORMS, METHODS, Estimate, Results

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'
INK, SOFT, RULE = "#222", "#555", "#e5e5e5"
# Single experts, mixed data, and the modular ways: trained in parts, merged afterwards.
COLOURS = {
    "math": "#8a8a8a", "language": "#8a8a8a", "mixed": "#555555",
    "freeze-then-train": "#c9761a", "simultaneous": "#c9761a",
    "train-then-revert": "#1b6ca8", "swap": "#1b6ca8", "soup": "#1b6ca8",
}


def text(x, y, words, size=11, anchor="start", fill=INK, weight=400) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{fill}" '
        f'font-weight="{weight}">{escape(words)}</text>'
    )


def line(x1, y1, x2, y2, colour=RULE, width=1.0, dash="") -> str:
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{colour}" stroke-width="{width}"{dashes} fill="none"/>'


def picture(title: str, subtitle: str, width: int, height: int, shapes: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="{escape(FONT)}" role="img"><title>{escape(title)}</title><desc>{escape(subtitle)}</desc>'
        f'<rect width="100%" height="100%" fill="#fff"/>'
    )
    titles = text(20, 26, title, 16, weight=600) + text(20, 46, subtitle, 11, fill=SOFT)
    return f"{head}{titles}{''.join(shapes)}</svg>\n"


def steps(low: float, high: float, most: int = 4) -> list[float]:
    """Round numbers from low to high, at most `most` intervals."""
    raw = (high - low) / most
    unit = 10 ** math.floor(math.log10(raw))
    size = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= raw)
    return [size * i for i in range(math.ceil(low / size - 1e-9), math.floor(high / size + 1e-9) + 1)]


def percent_lower(gain: Estimate) -> Estimate:
    return Estimate(tuple(100 * (1 - math.exp(-value)) for value in gain.values))


def seeds_of(results: Results) -> str:
    counts = {len(results.of("score", form, method)) for form in FORMS for method in METHODS} - {0}
    low, high = min(counts), max(counts)
    counted = f"{high} seeds, lines are standard errors" if high > 1 else "one seed"
    return counted if low == high else f"{low} to {counted}"


def draw_gains(results: Results) -> str:
    """The follow-up's Fig. 2 for this experiment: gain over the base by texts and method."""
    left, top, wide, gap, row = 150, 96, 180, 22, 19
    shapes = []
    block = row * len(METHODS)
    for number, (form, form_title) in enumerate(FORMS.items()):
        y0 = top + number * (block + 62)
        shapes.append(text(20, y0 - 8, form_title, 12, weight=600))
        for index, (method, name) in enumerate(METHODS.items()):
            shapes.append(text(left - 10, y0 + row * index + 13, name, 11, "end"))
        for place, (column, (_, _, title)) in enumerate(COLUMNS.items()):
            x0 = left + place * (wide + gap)
            both = [results.gain(each, method, column) for each in FORMS for method in METHODS]
            reach = [percent_lower(gain) for gain in both if gain is not None]
            low = min(0.0, *(g.mean - (g.error or 0) for g in reach))
            high = max(g.mean + (g.error or 0) for g in reach)
            low, high = low - 0.04 * (high - low) * (low < 0), high + 0.04 * (high - low)

            def at(value, x0=x0, low=low, high=high):
                return x0 + wide * (value - low) / (high - low)

            shapes.append(text(x0, y0 - 8, title, 11, fill=SOFT))
            for mark in steps(low, high):
                shapes.append(line(at(mark), y0, at(mark), y0 + block))
                shapes.append(text(at(mark), y0 + block + 14, f"{mark:g} %", 10, "middle", SOFT))
            for index, method in enumerate(METHODS):
                gain = results.gain(form, method, column)
                if gain is None:
                    continue
                found, y = percent_lower(gain), y0 + row * index
                x1, x2 = sorted((at(0), at(found.mean)))
                shapes.append(
                    f'<rect x="{x1:.1f}" y="{y + 3}" width="{x2 - x1:.1f}" height="{row - 6}" fill="{COLOURS[method]}"/>'
                )
                if found.error is not None:
                    ends = at(found.mean - found.error), at(found.mean + found.error)
                    shapes.append(line(ends[0], y + row / 2, ends[1], y + row / 2, INK, 1.4))
                    shapes += [line(end, y + row / 2 - 3, end, y + row / 2 + 3, INK, 1.4) for end in ends]
            shapes.append(line(at(0), y0, at(0), y0 + block, "#999"))
    width, height = left + 4 * (wide + gap), top + 2 * (block + 62) - 24
    subtitle = f"how much lower the perplexity per byte of held-out texts is than the base's; {seeds_of(results)}"
    return picture("Gain by texts and method", subtitle, width, height, shapes)


def draw_linearity(results: Results) -> str:
    """Gain along each task vector."""
    left, top, wide, high_px, gap = 60, 92, 190, 170, 46
    alphas, shapes = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5), []
    panels = [(form, expert, column) for form in FORMS for expert, column in (("math", "math-en"), ("language", "language"))]
    for place, (form, expert, column) in enumerate(panels):
        x0 = left + place * (wide + gap)
        points = {0.0: Estimate((0.0,))}
        for alpha in alphas[1:]:
            found = results.ratio(form, expert, alpha, column)
            if found is not None:
                points[alpha] = found
        most = max([1.5, *(p.mean + (p.error or 0) for p in points.values())]) * 1.04

        def x(alpha, x0=x0):
            return x0 + wide * alpha / 1.5

        def y(value, most=most):
            return top + high_px * (1 - value / most)

        shapes.append(text(x0, top - 12, f"{FORMS[form]}, {expert}", 12, weight=600))
        for mark in steps(0, most):
            shapes += [line(x0, y(mark), x0 + wide, y(mark)), text(x0 - 6, y(mark) + 4, f"{mark:g}", 10, "end", SOFT)]
        for alpha in (0, 0.5, 1, 1.5):
            shapes.append(text(x(alpha), top + high_px + 16, f"{alpha:g}", 10, "middle", SOFT))
        shapes.append(line(x(0), y(0), x(1.5), y(1.5), "#999", 1.2, "4 3"))
        path = "L".join(f"{x(alpha):.1f} {y(point.mean):.1f}" for alpha, point in sorted(points.items()))
        shapes.append(f'<path d="M{path}" stroke="#1b6ca8" stroke-width="1.8" fill="none"/>')
        for alpha, point in points.items():
            shapes.append(f'<circle cx="{x(alpha):.1f}" cy="{y(point.mean):.1f}" r="3" fill="#1b6ca8"/>')
            if point.error is not None:
                shapes.append(line(x(alpha), y(point.mean - point.error), x(alpha), y(point.mean + point.error), "#1b6ca8", 1.2))
    width, height = left + 4 * (wide + gap) - gap + 24, top + high_px + 44
    shapes.append(text(width / 2, height - 8, "α", 12, "middle", SOFT))
    subtitle = "gain of base + α · δ on held-out texts of the expert's own kind, as a multiple of the gain at α = 1; dashed: in proportion to α"
    return picture("Gain along each task vector", subtitle, width, height, shapes)


if __name__ == "__main__":
    found, directory = Results(Path(sys.argv[1])), Path(sys.argv[2])
    (directory / "modular-gains.svg").write_text(draw_gains(found), encoding="utf8")
    (directory / "modular-linearity.svg").write_text(draw_linearity(found), encoding="utf8")
