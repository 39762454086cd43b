"""On a GPU: a worker of xdist whose GPU is lost to it ends, so that one case does not fail all those behind it."""

import os

import numpy as np
import onnx.helper
import pytest
import tenon

IS_WORKER_ON_GPU = "PYTEST_XDIST_WORKER" in os.environ and tenon.devices()["chosen"].startswith("cuda")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    item.failed_on_gpu = IS_WORKER_ON_GPU and (report.failed or getattr(item, "failed_on_gpu", False))
    return report


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item):
    if getattr(item, "failed_on_gpu", False) and not works():
        os._exit(70)  # The report of the case is out; xdist names this end, too, and starts another worker.


def works() -> bool:
    """After an illegal address, say, no call of this process has the GPU any more."""
    from running import plan_of, run

    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4]) for name in ("x", "y"))
    graph = onnx.helper.make_graph([onnx.helper.make_node("Abs", ["x"], ["y"])], "works", [x], [y])
    feed = {"x": np.full(4, -1, np.float32)}
    try:
        return bool((run(plan_of(onnx.helper.make_model(graph), [feed]), [feed])[0]["y"] == 1).all())
    except Exception:
        return False
