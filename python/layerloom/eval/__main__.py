"""`python -m layerloom.eval` runs the program that `layerloom evaluate` starts, whose lines its docstring describes."""

import runpy

from . import program

runpy.run_path(str(program), run_name="__main__")
