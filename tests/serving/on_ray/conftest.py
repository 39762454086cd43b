"""The tests on Ray need Ray, RapidOCR and Triton's client: `make serving-test` runs them where all are installed."""

import importlib.util
import os
import pathlib
import sys

HAS_ALL = all(importlib.util.find_spec(name) for name in ("ray", "rapidocr_onnxruntime", "tritonclient"))
collect_ignore_glob = [] if HAS_ALL else ["test_*.py"]
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "server"))  # hosted.py
# Ray's workers are of niceness 15 otherwise: beside one other program they have a thirtieth of a processor.
os.environ.setdefault("RAY_worker_niceness", "0")
