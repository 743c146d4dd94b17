"""The exports of `layerloom`."""

from . import _calls
from ._call import Progress
from ._calls import *
from ._engine import close
from ._errors import EngineEnded, LayerloomError, LayerloomWarning
from ._merged import Merged
from ._model import Model, ModelLike
from ._result import Result
from ._results.analysis import Analysis
from ._results.log_mlflow import log_mlflow
from ._results.log_wandb import log_wandb
from ._results.merge import Merge
from ._results.study import Study, open

__all__ = ["Analysis", "EngineEnded", "LayerloomError", "LayerloomWarning", "Merge", "Merged", "Model", "ModelLike"]
__all__ += ["Progress", "Result", "Study", "close", "log_mlflow", "log_wandb", "open"]
__all__ += _calls.__all__
