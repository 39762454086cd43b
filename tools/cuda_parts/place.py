"""Where a build lies, by whatever way it came, and what programs and tests need to run from there."""

import functools
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def nvidia_folders() -> list[str]:
    """Folders of NVIDIA's libraries from Python packages, for machines without a toolkit."""
    return [str(each) for path in sys.path for each in sorted((pathlib.Path(path) / "nvidia").glob("*/lib"))]


class Place:
    """A build's folder (`bin`, `lib`, `python`), a folder for logs, and one for models."""

    def __init__(self, build: pathlib.Path, logs: pathlib.Path | None, models: pathlib.Path | None, is_fake: bool):
        self.build = build.absolute()
        self.logs = (logs or self.build / "cuda_test").absolute()
        self.models = (models or self.build / "models").absolute()
        self.is_fake = is_fake

    def program(self, name: str) -> pathlib.Path:
        return self.build / "bin" / name

    @functools.cached_property
    def environment(self) -> dict[str, str]:
        own = dict(os.environ)
        folders = [str(self.build / "lib")]
        if self.is_fake:
            folders.append(str(self.build / "fake_cuda"))
            own["TENON_CACHE_DIR"] = str(self.build / "test_cache")
        else:
            folders += nvidia_folders()
            own.setdefault("TENON_CACHE_DIR", str(self.build / "cuda_cache"))
        own["LD_LIBRARY_PATH"] = ":".join([*folders, own.get("LD_LIBRARY_PATH", "")]).strip(":")
        own["PYTHONPATH"] = ":".join([str(self.build / "python"), own.get("PYTHONPATH", "")]).strip(":")
        own["TENON_BUILD"] = str(self.build)
        return own

    def python(self, *modules: str) -> str | None:
        """A Python that has these modules: the one that runs this, or the project's own."""
        for each in (sys.executable, str(ROOT / ".venv/bin/python")):
            if pathlib.Path(each).exists() and self._has(each, modules):
                return each
        return None

    @functools.cache  # noqa: B019 (there is one place)
    def _has(self, python: str, modules: tuple[str, ...]) -> bool:
        script = "import importlib.util, sys; sys.exit(any(importlib.util.find_spec(m) is None for m in sys.argv[1:]))"
        return subprocess.run([python, "-c", script, *modules], env=self.environment, check=False).returncode == 0

    def sanitizer(self) -> str | None:
        found = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        return found if pathlib.Path(found).exists() else None
