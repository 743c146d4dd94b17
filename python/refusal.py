"""Build back end of the source distribution: prints instructions, since pip cannot build this package's
program.

pip takes a source distribution if no wheel fits. This one has no requirements, so that its message appears
without a network too.
"""

import platform
import sys
from typing import NoReturn

advice = f"""
layerloom is not built by pip, and no wheel of it fits Python {platform.python_version()} on {platform.system()} {platform.machine()}.

Wheels are for Python 3.10 or later on
  Linux x86_64 and aarch64 (glibc 2.28 or later, or musl 1.2)
  macOS 11 or later (arm64 and x86_64)

  - An old pip does not know their names: python -m pip install --upgrade pip
  - On Windows, install layerloom in WSL 2.
  - On other 64-bit Linux, Node.js 20, CMake and a C++20 compiler build it: npm install layerloom && npx layerloom build
  - In a clone of the repository, `npm run wheels` makes the wheel of this machine.
"""


def refuse(*_: object, **__: object) -> NoReturn:
    sys.exit(advice)


get_requires_for_build_sdist = get_requires_for_build_wheel = get_requires_for_build_editable = refuse
prepare_metadata_for_build_wheel = prepare_metadata_for_build_editable = refuse
build_sdist = build_wheel = build_editable = refuse
