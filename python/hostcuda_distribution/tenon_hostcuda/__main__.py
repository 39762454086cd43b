"""Runs a program that opens the CUDA runtime by its name: `python -m tenon_hostcuda PROGRAM ARGUMENTS…`.

The loader finds Tenon's host calls as libcudart.so, .so.12 and .so.13 for as long as the program runs,
and nobody else does. The driver's names are not among them: who looks for a GPU finds none.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from tenon_hostcuda import library

NAMES = ("libcudart.so", "libcudart.so.12", "libcudart.so.13")


def _environment(links: pathlib.Path) -> dict[str, str]:
    """That of this process, the links and the engine in front of what loaders search, with this Python's programs."""
    engine = library.folder_of_the_engine()
    for name in NAMES:
        (links / name).symlink_to(engine / library.NAME)
    found = {"LD_LIBRARY_PATH": [str(links), str(engine)], "PATH": [os.path.dirname(sys.executable)]}
    return os.environ | {
        name: os.pathsep.join([*folders, *filter(None, [os.environ.get(name)])]) for name, folders in found.items()
    }


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print("usage: python -m tenon_hostcuda PROGRAM ARGUMENTS…", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="tenon-hostcuda-") as folder:
        environment = _environment(pathlib.Path(folder))
        program = shutil.which(sys.argv[1], path=environment["PATH"])
        if program is None:
            print(f"tenon_hostcuda: there is no program '{sys.argv[1]}'", file=sys.stderr)
            return 127
        child, signals = None, []

        def pass_on(number: int, _: object) -> None:
            signals.append(number)
            if child is not None:
                child.send_signal(number)

        for number in (signal.SIGTERM, signal.SIGHUP):  # Whoever ends this process means the program.
            signal.signal(number, pass_on)
        child = subprocess.Popen([program, *sys.argv[2:]], env=environment)
        for number in list(signals):  # They came while it was started.
            child.send_signal(number)
        while True:
            try:
                status = child.wait()
            except KeyboardInterrupt:  # The program has got it, too, and says what becomes of it.
                continue
            return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
