"""What `layerloom` exports."""

from . import _calls
from ._call import Progress
from ._calls import *
from ._engine import close
from ._errors import EngineEnded, LayerloomError, LayerloomWarning

__all__ = ["EngineEnded", "LayerloomError", "LayerloomWarning", "Progress", "close"]
__all__ += _calls.__all__
