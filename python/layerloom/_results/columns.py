"""The columns of an experiment's tables, explained in docs/frames.md; settings follow as further columns."""

from .table import columns

model_columns = columns(("text", "study model role language task_expert language_expert method entry variant"))
"""Columns of a model in the tables of scores and samples."""

merge_columns = columns(
    ("text", "study name language task_expert language_expert method entry variant state path identity"),
    ("integer", "shards_shared shards_new bytes_read bytes_written"),
    ("number", "seconds"),
    ("text", "error_code error_message"),
)

reference_columns = columns(("text", "study name role"), ("texts", "languages"), ("text", "path"))

score_columns = model_columns | columns(
    ("text", "task task_version metric filter"),
    ("boolean", "headline"),
    ("number", "value stderr"),
    ("boolean", "higher_is_better"),
    ("integer", "n fewshot first_row end_row max_tokens"),
    ("text", "seed sampling"),
    ("integer", "answers"),
    ("text", "backend harness_version source started"),
    ("number", "seconds"),
    ("text", "result"),
)

sample_columns = model_columns | columns(
    ("text", "task"),
    ("integer", "problem sample"),
    ("text", "document metric filter"),
    ("number", "score weight"),
    ("text", "answer response question expected"),
)

fixed = {*merge_columns, *score_columns, *sample_columns}
"""Names that are not used for columns of settings."""
