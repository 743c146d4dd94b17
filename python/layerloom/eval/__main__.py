"""`python -m layerloom.eval` runs the program that `layerloom evaluate` starts; its docstring describes the
protocol."""

import runpy

from . import program

runpy.run_path(str(program), run_name="__main__")
