from . import aio as aio
from . import eval as eval
from . import results as results
from ._calls import *
from ._public import *
from ._public import __all__ as __all__

__version__: str
