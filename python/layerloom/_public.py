"""What `layerloom` exports."""

from . import _calls
from ._call import Progress
from ._calls import *
from ._engine import close
from ._errors import EngineEnded, LayerloomError, LayerloomWarning
from ._merged import Merged
from ._model import Model, ModelLike

__all__ = ["EngineEnded", "LayerloomError", "LayerloomWarning", "Merged", "Model", "ModelLike", "Progress", "close"]
__all__ += _calls.__all__
