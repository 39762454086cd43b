"""The blocks on Ray of docs/SERVING.md, with plans and pictures of here."""

import pathlib
import re
from collections.abc import Iterator

import cluster
import hosted
import numpy as np
import pytest
import ray
import ray.data
import tensorrt as trt
from PIL import Image
from ray import serve

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "SERVING.md"
RNG = np.random.default_rng(6)


@pytest.fixture(scope="module", autouse=True)
def node() -> Iterator[None]:
    with cluster.serving(8, hosted.free_ports(1)[0]):
        yield


def block(word: str) -> str:
    (found,) = (text for text in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S) if word in text)
    return found


def test_the_deployment_of_the_page_answers(tmp_path: pathlib.Path) -> None:
    plan = hosted.plan(tmp_path / "detector.plan")
    pictures = RNG.standard_normal((3, 8), np.float32)
    names = {"pictures": pictures}
    text = block("deployment(").replace('"detector.plan"', repr(str(plan))).replace("timeout=1.0", "timeout=100.0")
    exec(compile(text, PAGE, "exec"), names)
    np.testing.assert_allclose(names["outputs"]["y"], pictures @ hosted.WEIGHTS, rtol=1e-4, atol=1e-5)
    serve.delete("default")


def classifier(path: pathlib.Path) -> None:
    """y = the mean of a picture's values."""
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network, config = builder.create_network(), builder.create_builder_config()
    layer = network.add_reduce(
        network.add_input("input", trt.float32, (-1, 3, 224, 224)), trt.ReduceOperation.AVG, 14, False
    )
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    profile = builder.create_optimization_profile()
    profile.set_shape("input", *((rows, 3, 224, 224) for rows in (1, 4, 8)))
    config.add_optimization_profile(profile)
    path.write_bytes(builder.build_serialized_network(network, config))


def test_the_batches_of_the_page_are_run(tmp_path: pathlib.Path) -> None:
    classifier(tmp_path / "classifier.plan")
    for number in range(12):
        Image.fromarray(RNG.integers(0, 256, (64, 48, 3), np.uint8)).save(tmp_path / f"{number}.png")

    def prepared(batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        values = batch["image"].astype(np.float32).transpose(0, 3, 1, 2) / np.float32(255)
        return {"image": np.ascontiguousarray(values), "mean": batch["image"].mean((1, 2, 3)) / 255}

    names = {"ray": ray, "prepared": prepared}
    text = block("Batches,").replace('"classifier.plan"', repr(str(tmp_path / "classifier.plan")))
    exec(compile(text.replace('"s3://…"', repr([str(each) for each in tmp_path.glob("*.png")])), PAGE, "exec"), names)
    rows = names["results"].take_all()
    assert len(rows) == 12
    np.testing.assert_allclose([row["y"] for row in rows], [row["mean"] for row in rows], rtol=1e-4)
