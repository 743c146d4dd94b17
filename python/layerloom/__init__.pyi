from . import aio as aio
from . import results as results
from ._call import Progress as Progress
from ._calls import *
from ._engine import close as close
from ._errors import EngineEnded as EngineEnded
from ._errors import LayerloomError as LayerloomError
from ._errors import LayerloomWarning as LayerloomWarning
from ._merged import Merged as Merged
from ._model import Model as Model
from ._model import ModelLike as ModelLike
from ._results.analysis import Analysis as Analysis
from ._results.log_mlflow import log_mlflow as log_mlflow
from ._results.log_wandb import log_wandb as log_wandb
from ._results.merge import Merge as Merge
from ._results.study import Study as Study
from ._results.study import open as open
