"""What holds for all tests in Python."""

import os
import pathlib
import signal

# What a user's cache keeps is neither read nor added to.
BUILD = pathlib.Path(os.environ.get("TENON_BUILD", pathlib.Path(__file__).parents[1] / "build")).resolve()
os.environ.setdefault("TENON_CACHE_DIR", str(BUILD / "test_cache"))
os.environ["TENON_DEVICE"] = (
    os.environ.get("TENON_DEVICE") or "cpu"
)  # Arrays are its memory; tests of GPUs name theirs.

# A shell starts programs in the background with Ctrl-C ignored, and whoever they start inherits that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
