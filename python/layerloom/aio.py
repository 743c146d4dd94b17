"""Commands as coroutines: cancelling a task stops its command."""

from . import _call, _call_async

globals().update(_call.functions(__name__, _call_async.run_async))
