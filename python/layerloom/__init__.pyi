from . import aio as aio
from ._public import *
