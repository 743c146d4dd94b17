"""`python -m layerloom` is the command `layerloom`."""

from ._command import main

main()
