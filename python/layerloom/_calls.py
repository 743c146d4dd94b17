"""Commands as functions."""

from . import _call

globals().update(_call.functions(__name__, _call.run))
