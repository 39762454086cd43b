"""`Batches` gives what the engine gives, row by row, in several workers."""

import pathlib
import shutil
from collections.abc import Iterator

import cluster
import hosted
import numpy as np
import pytest
import ray
import ray.data
import tensorrt as trt
from tenon.serving.ray import Batches

X = np.random.default_rng(5).standard_normal((2000, 8), np.float32)


@pytest.fixture(scope="module", autouse=True)
def node() -> Iterator[None]:
    cluster.start(4)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return hosted.plan(tmp_path_factory.mktemp("plans") / "small.plan")


def rows(count: int = len(X), column: str = "x") -> ray.data.Dataset:
    def numbered(batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"number": batch["id"], column: X[batch["id"]]}

    return ray.data.range(count, override_num_blocks=8).map_batches(numbered, batch_size=None)


def workers(count: int) -> ray.data.ActorPoolStrategy:
    return ray.data.ActorPoolStrategy(size=count)


def collected(dataset: ray.data.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and outputs, in the order of the numbers."""
    batches = list(dataset.iter_batches(batch_size=None, batch_format="numpy"))
    numbers, found = (np.concatenate([each[name] for each in batches]) for name in ("number", "y"))
    order = np.argsort(numbers)
    return numbers[order], found[order]


@pytest.mark.parametrize("kind", ["path", "url", "bytes", "object"])
def test_two_workers_give_every_row_once(plan: pathlib.Path, kind: str) -> None:
    given, more = str(plan) if kind == "path" else plan.read_bytes(), {}
    if kind == "object":
        given = ray.put(given)
    elif kind == "url":  # Of Ray's runtime environment, which brings a folder.
        archive = shutil.make_archive(str(plan.parent / "models"), "zip", plan.parent, plan.name)
        given, more = plan.name, {"runtime_env": {"working_dir": f"file://{archive}"}}
    asked = {"fn_constructor_args": (given,), "batch_size": 50, "num_cpus": 1, "compute": workers(2)} | more
    mapped = rows().map_batches(Batches, **asked)
    numbers, found = collected(mapped)
    np.testing.assert_array_equal(numbers, np.arange(len(X)))
    np.testing.assert_allclose(found, X @ hosted.WEIGHTS, rtol=1e-4, atol=1e-4)


def test_columns_are_named(plan: pathlib.Path) -> None:
    more = {"fn_constructor_args": (str(plan),), "fn_constructor_kwargs": {"columns": {"x": "picture"}}}
    mapped = rows(40, "picture").map_batches(Batches, batch_size=7, compute=workers(1), **more)
    assert set(mapped.schema().names) == {"number", "y"}
    np.testing.assert_allclose(collected(mapped)[1], X[:40] @ hosted.WEIGHTS, rtol=1e-4, atol=1e-4)


@pytest.fixture
def batches(plan: pathlib.Path) -> Batches:
    return Batches(plan)


def test_what_does_not_fit_is_refused_by_column(batches: Batches, plan: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="there is no column 'x'; the columns are 'z'"):
        batches({"z": X})
    with pytest.raises(ValueError, match="the rows of column 'x' differ in shape"):
        batches({"x": np.array([X[0], X[0, :3]], dtype=object)})
    with pytest.raises(ValueError, match="input 'x' has elements of float64"):
        batches({"x": X.astype(np.float64)})
    with pytest.raises(ValueError, match="output 'y' has the name of a column that is no input"):
        batches({"x": X, "y": X})
    with pytest.raises(ValueError, match="columns names 'w', which is no input"):
        Batches(plan, columns={"w": "x"})


def test_no_rows_give_no_rows(batches: Batches) -> None:
    assert batches({"x": X[:0], "number": np.arange(0)})["y"].shape == (0, 4)


def test_an_engine_whose_rows_are_not_those_of_the_batch_is_refused(tmp_path: pathlib.Path) -> None:
    """y = x', whose rows are as many as those of a batch of eight by chance."""
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network, config = builder.create_network(), builder.create_builder_config()
    layer = network.add_shuffle(network.add_input("x", trt.float32, (-1, 8)))
    layer.first_transpose = (1, 0)
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 8), (8, 8), (8, 8))
    config.add_optimization_profile(profile)
    (tmp_path / "plan").write_bytes(builder.build_serialized_network(network, config))
    with pytest.raises(ValueError, match="output 'y' .* axis 0 is not the batch"):
        Batches(tmp_path / "plan")
