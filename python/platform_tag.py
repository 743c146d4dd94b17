"""Hook of hatchling: sets the wheel's platform to that of its addon."""

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformTag(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_data["tag"] = f"py3-none-{os.environ['LAYERLOOM_WHEEL_PLATFORM']}"
        build_data["pure_python"] = False
