"""The columns of an experiment's tables, explained in docs/frames.md; settings follow as further columns."""

from .table import Kind

model_columns: dict[str, Kind] = {
    "study": "text",
    "model": "text",
    "role": "text",
    "language": "text",
    "task_expert": "text",
    "language_expert": "text",
    "method": "text",
    "entry": "text",
    "variant": "text",
}
"""Columns of a model in the tables of scores and samples."""

merge_columns: dict[str, Kind] = {
    "study": "text",
    "name": "text",
    "language": "text",
    "task_expert": "text",
    "language_expert": "text",
    "method": "text",
    "entry": "text",
    "variant": "text",
    "state": "text",
    "path": "text",
    "identity": "text",
    "shards_shared": "integer",
    "shards_new": "integer",
    "bytes_read": "integer",
    "bytes_written": "integer",
    "seconds": "number",
    "error_code": "text",
    "error_message": "text",
}

reference_columns: dict[str, Kind] = {
    "study": "text",
    "name": "text",
    "role": "text",
    "languages": "texts",
    "path": "text",
}

score_columns: dict[str, Kind] = {
    **model_columns,
    "task": "text",
    "task_version": "text",
    "metric": "text",
    "filter": "text",
    "headline": "boolean",
    "value": "number",
    "stderr": "number",
    "higher_is_better": "boolean",
    "n": "integer",
    "fewshot": "integer",
    "first_row": "integer",
    "end_row": "integer",
    "max_tokens": "integer",
    "seed": "text",
    "backend": "text",
    "harness_version": "text",
    "source": "text",
    "started": "text",
    "seconds": "number",
    "result": "text",
}

sample_columns: dict[str, Kind] = {
    **model_columns,
    "task": "text",
    "problem": "integer",
    "document": "text",
    "metric": "text",
    "filter": "text",
    "score": "number",
    "weight": "number",
    "answer": "text",
    "response": "text",
    "question": "text",
    "expected": "text",
}

fixed = {*merge_columns, *score_columns, *sample_columns}
"""Names that no column of a setting has."""
