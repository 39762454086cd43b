"""Two scripts as their authors wrote them for a GPU, unchanged: one of the TensorRT 8 era, one of 10's."""

import pathlib

import numpy as np
import onnx
import pytest
from installed import install, run_file
from onnx import TensorProto, helper, numpy_helper

SCRIPTS = pathlib.Path(__file__).resolve().parent / "scripts"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return install(tmp_path_factory.mktemp("hostcuda"))


def write_classifier(path: pathlib.Path) -> tuple[np.ndarray, np.ndarray]:
    """A convolution, an activation, a pooling and a fully connected layer; an image and the scores that NumPy gives."""
    source = np.random.default_rng(11)
    kernel = source.standard_normal((8, 3, 1, 1)).astype(np.float32)
    weights = source.standard_normal((8, 10)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["image", "kernel"], ["features"]),
            helper.make_node("Relu", ["features"], ["active"]),
            helper.make_node("GlobalAveragePool", ["active"], ["pooled"]),
            helper.make_node("Flatten", ["pooled"], ["flat"]),
            helper.make_node("Gemm", ["flat", "weights"], ["scores"]),
        ],
        "classifier",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 16, 16])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 10])],
        [numpy_helper.from_array(kernel, "kernel"), numpy_helper.from_array(weights, "weights")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    image = source.standard_normal((1, 3, 16, 16)).astype(np.float32)
    features = np.maximum(np.einsum("oc,nchw->nohw", kernel[:, :, 0, 0], image), 0)
    return image, features.mean(axis=(2, 3)) @ weights


def test_tutorial_on_the_primary_context(site: pathlib.Path, tmp_path: pathlib.Path) -> None:
    text = (SCRIPTS / "tutorial_8.py").read_text()
    assert "pycuda.autoinit" in text
    (tmp_path / "tutorial.py").write_text(text.replace("pycuda.autoinit", "pycuda.autoprimaryctx"))
    run_tutorial(site, tmp_path, tmp_path / "tutorial.py")


@pytest.mark.parametrize("script", ["tutorial_8.py", "tutorial_10.py"])
def test_tutorial_runs_unchanged(site: pathlib.Path, tmp_path: pathlib.Path, script: str) -> None:
    run_tutorial(site, tmp_path, SCRIPTS / script)


def run_tutorial(site: pathlib.Path, tmp_path: pathlib.Path, script: pathlib.Path) -> None:
    model, image, result = tmp_path / "model.onnx", tmp_path / "image.npy", tmp_path / "result.npy"
    feed, want = write_classifier(model)
    np.save(image, feed)
    run_file(site, script, model, image, result)
    np.testing.assert_allclose(np.load(result).reshape(want.shape), want, rtol=1e-4, atol=1e-5)
