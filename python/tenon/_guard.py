"""Refuses to work where NVIDIA's distribution and ours both bring the module `tensorrt`, each overwriting the other."""

from importlib import metadata

#: NVIDIA's distributions with files under that module name.
_THEIRS = (
    "tensorrt",
    "tensorrt-cu12",
    "tensorrt-cu13",
    "tensorrt-bindings",
    "tensorrt-cu12-bindings",
    "tensorrt-cu13-bindings",
)
_OURS = "tenon-tensorrt"


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def check(ours_is_here: bool = False) -> None:
    """ImportError that says what to remove; `ours_is_here` when our module `tensorrt` is what asks."""
    theirs = [name for name in _THEIRS if _is_installed(name)]
    if theirs and (ours_is_here or _is_installed(_OURS)):
        raise ImportError(
            f"{', '.join(theirs)} (NVIDIA's) and {_OURS} both provide the module `tensorrt` and overwrite each other's "
            f"files. Remove NVIDIA's: pip uninstall {' '.join(theirs)}, then pip install --force-reinstall {_OURS}. "
            f"Or remove ours: pip uninstall {_OURS}."
        )
