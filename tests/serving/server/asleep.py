"""tenon serve beside a folder that falls asleep: while FOLDER.asleep is there, no call on FOLDER's files comes back.

So does a folder of another machine whose server is away. FOLDER is what the environment's ASLEEP says.
"""

import builtins
import io
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from tenon.serving import __main__ as program
from tenon.serving.server import aside

FOLDER = os.environ["ASLEEP"]
PATIENCE = 2.0


def waiting(call: Callable[..., Any]) -> Callable[..., Any]:
    def called(place: Any, *arguments: Any, **options: Any) -> Any:
        is_below = isinstance(place, str | os.PathLike) and os.fspath(place).startswith(FOLDER)
        while is_below and os.access(f"{FOLDER}.asleep", os.F_OK):
            time.sleep(0.02)
        return call(place, *arguments, **options)

    return called


for module, names in ((os, ("stat", "lstat", "listdir", "scandir", "open")), (io, ("open",)), (builtins, ("open",))):
    for name in names:
        setattr(module, name, waiting(getattr(module, name)))

if __name__ == "__main__":
    aside.PATIENCE = PATIENCE
    sys.exit(program.main())
