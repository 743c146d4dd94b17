"""Parts of notebook pages: colours that are legible on light and dark backgrounds, and escaped texts."""

from collections.abc import Sequence
from html import escape
from itertools import cycle

__all__ = ["colours_of", "cells", "escape", "framed", "heading", "muted", "table"]

BASE = "#8a8f98"
EXPERTS = ("#0a7ea4", "#e08a00", "#2a9d6f", "#c2569b", "#d1495b", "#7a6ff0")
"""Colours that people with colour blindness can distinguish, on white and on black."""

line = "1px solid color-mix(in srgb, currentColor 18%, transparent)"
muted = "opacity:.68"


def framed(body: str) -> str:
    return f'<div style="font:13px/1.45 system-ui,sans-serif;color:inherit;margin:4px 0">{body}</div>'


def heading(title: str, below: str) -> str:
    return (
        f'<div style="font-size:15px;font-weight:600">{escape(title)}</div>'
        f'<div style="{muted};margin-bottom:8px">{escape(below)}</div>'
    )


def cells(tag: str, texts: Sequence[str], left: int = 1) -> str:
    """A row of a table whose cells are HTML; aligns the first cells to the left."""
    styles = [
        f"padding:3px 12px 3px {0 if at == 0 else 12}px;border:0;border-bottom:{line};background:none;"
        f"text-align:{'left' if at < left else 'right'};font-variant-numeric:tabular-nums;white-space:nowrap"
        for at in range(len(texts))
    ]
    each = (f'<{tag} style="{style}">{text}</{tag}>' for style, text in zip(styles, texts))
    return f"<tr>{''.join(each)}</tr>"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    body = "".join(cells("td", row, left) for row in rows)
    return (
        '<table style="border-collapse:collapse;margin:6px 0 0;font-size:13px;color:inherit">'
        f'<thead style="border:0">{cells("th", head, left)}</thead><tbody>{body}</tbody></table>'
    )


def colours_of(roles: Sequence[tuple[str, str]]) -> dict[str, str]:
    some = cycle(EXPERTS)
    return {name: BASE if role == "base" else next(some) for name, role in roles}
