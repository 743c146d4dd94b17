"""layerloom's tasks for lm_eval, and the program that scores one model after another in one process.

`pip install 'layerloom[eval]'` installs the harness beside them.
"""

from pathlib import Path

from .._program import directory

tasks = Path(directory, "tasks")
"""Tasks of lm_eval: `lm_eval --include_path` takes this directory."""

program = Path(directory, "python", "layerloom_eval")
"""The program that `layerloom evaluate` starts in the harness's Python."""

__all__ = ["program", "tasks"]
