"""Folders of models that are not as they should be: one model's mistake is not that of the others."""

import json
import os
import pathlib
import resource
import shutil
import subprocess
from collections.abc import Callable

import hosted
import numpy as np
import pytest
import tensorrt as trt
from tenon.serving import BadRequest
from tenon.serving.server import shared
from test_extensions import onnx_model

ONE = {"name": "x", "datatype": "FP32", "shape": [1, 8], "data": [1.0] * 8}


def bare(model: pathlib.Path, plan: pathlib.Path, version: str = "1") -> pathlib.Path:
    (model / version).mkdir(parents=True)
    return pathlib.Path(shutil.copy(plan, model / version / "model.plan"))


def piped(model: pathlib.Path, plan: pathlib.Path) -> None:
    bare(model, plan)
    os.mkfifo(model / "config.toml")


def with_a_folder(model: pathlib.Path, plan: pathlib.Path) -> None:
    bare(model, plan)
    (model / "config.toml").mkdir()


def with_a_pipe_as_plan(model: pathlib.Path, plan: pathlib.Path) -> None:
    bare(model, plan).unlink()
    os.mkfifo(model / "1" / "model.plan")


def linked_in_a_circle(model: pathlib.Path, plan: pathlib.Path) -> None:
    model.mkdir()
    (model / "1").symlink_to("1")


def of_other_digits(model: pathlib.Path, plan: pathlib.Path) -> None:
    for version in ("\u00b2", "\u0663", "01", "-1", "1.0", "0x1"):
        bare(model, plan, version)


def beyond_memory(model: pathlib.Path, plan: pathlib.Path) -> None:
    """What its contexts need no machine has."""
    logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
    builder = trt.Builder(logger)
    network, config = builder.create_network(), builder.create_builder_config()
    tensor, none = network.add_input("x", trt.float32, (-1, 8)), trt.MatrixOperation.NONE
    for _ in range(3):
        weights = network.add_constant((8, 8), np.eye(8, dtype=np.float32)).get_output(0)
        tensor = network.add_matrix_multiply(tensor, none, weights, none).get_output(0)
        tensor = network.add_softmax(tensor).get_output(0)
    network.mark_output(tensor)
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 8), (1, 8), (2**38, 8))
    config.add_optimization_profile(profile)
    bare(model, plan).write_bytes(builder.build_serialized_network(network, config))


def beyond_memory_in_batches(model: pathlib.Path, plan: pathlib.Path) -> None:
    beyond_memory(model, plan)
    (model / "config.toml").write_text("max_batch = 8")


def of_a_profile_without_sense(model: pathlib.Path, plan: pathlib.Path) -> None:
    (model / "1").mkdir(parents=True)
    onnx_model(model / "1" / "model.onnx")
    (model / "config.toml").write_text("[[profiles]]\nx = [[8, 8], [2, 8], [1, 8]]\n")


LAYOUTS: dict[Callable, str] = {
    of_a_profile_without_sense: "the shapes of input 'x' do not fit each other",
    beyond_memory: "the engine gave no execution context",
    beyond_memory_in_batches: "the engine gave no execution context",
    piped: "config.toml: not a plain file",
    with_a_folder: "config.toml: not a plain file",
    with_a_pipe_as_plan: "is a pipe, not a plain file",
    linked_in_a_circle: "has no VERSION/model.plan",
    of_other_digits: "has no VERSION/model.plan",
}


def index(server: hosted.Running) -> list[dict]:
    status, body, _ = server.ask("POST", "/v2/repository/index")
    assert status == 200, body
    return json.loads(body)


def test_what_is_odd_is_said_and_leaves_the_others_in_peace(tmp_path: pathlib.Path) -> None:
    plan, models = hosted.plan(tmp_path / "small.plan"), tmp_path / "models"
    for layout in LAYOUTS:
        layout(models / layout.__name__, plan)
    bare(models / "good", plan, version="0")
    bare(models / os.fsdecode(b"\xff"), plan)  # No request can name it.
    (models / "nowhere").symlink_to("nowhere")
    with hosted.Running(models, name=None) as server:
        found = {each["name"]: each for each in index(server)}
        assert set(found) == {"good"} | {layout.__name__ for layout in LAYOUTS}
        for layout, message in LAYOUTS.items():
            each = found[layout.__name__]
            assert each["state"] == "UNAVAILABLE" and message in each["reason"], each
            assert each["reason"].startswith(f"[model '{each['name']}'] ")
        assert server.infer([ONE], model="good")[0] == 200
        shutil.rmtree(models)
        assert [each["name"] for each in index(server)] == ["good"]
        assert server.infer([ONE], model="good")[0] == 200


def test_a_link_that_is_turned_is_a_replaced_plan(tmp_path: pathlib.Path) -> None:
    """As Kubernetes replaces what it mounts: `..data` points to another folder from one moment to the next."""
    models = tmp_path / "models"
    for number in (1, 2):
        (models / "good" / f"..{number}").mkdir(parents=True)
        hosted.plan(models / "good" / f"..{number}" / "model.plan", scale=number)
    (models / "good" / "..data").symlink_to("..1")
    (models / "good" / "1").mkdir()
    (models / "good" / "1" / "model.plan").symlink_to("../..data/model.plan")
    with hosted.Running(models, name=None) as server:
        before = server.infer([ONE], model="good")[1]["outputs"][0]["data"]
        (models / "good" / "fresh").symlink_to("..2")
        os.replace(models / "good" / "fresh", models / "good" / "..data")
        server.wait_for("tenon_reloads_total", 1, outcome="done")
        assert server.infer([ONE], model="good")[1]["outputs"][0]["data"] == pytest.approx([2 * y for y in before])


@pytest.mark.parametrize(
    "option",
    ["--contexts=-1", "--max-batch=0", "--max-batch=a", "--max-wait-ms=nan", "--max-wait-ms=1e300", "--queue=0"]
    + ["--max-request-mb=inf", "--max-answer-mb=inf", "--max-answer-mb=-1", "--patience=0", "--patience=nan"]
    + ["--patience=0.001", "--max-held-mb=0", "--max-held-mb=nan"]
    + ["--grace=-1", "--max-connections=0", "--port=65536", "--grpc-port=-1", "--name=a/b", "--name=", "--name=.."],
)
def test_options_without_sense_are_refused(option: str) -> None:
    found = subprocess.run([*hosted.SERVER, "nowhere.plan", option], capture_output=True, text=True)
    assert found.returncode == 2 and f"argument {option.partition('=')[0]}: " in found.stderr, found.stderr


def test_less_room_for_all_than_for_one_is_refused() -> None:
    asked = [*hosted.SERVER, "nowhere.plan", "--max-held-mb", "8"]
    found = subprocess.run(asked, capture_output=True, text=True)
    assert found.returncode == 2 and "--max-held-mb 8 is less than one request, --max-request-mb" in found.stderr


def test_regions_of_shared_memory_are_not_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is an open file of the server's."""
    monkeypatch.setattr(shared, "_MOST", 3)
    memory = pathlib.Path(f"/dev/shm/tenon-test-{os.getpid()}")
    memory.write_bytes(bytes(64))
    regions = shared.Regions(True)
    try:
        for number in range(3):
            regions.register(f"r{number}", memory.name, 0, 64)
        with pytest.raises(BadRequest, match="3 shared memory regions are registered, as many as may"):
            regions.register("more", memory.name, 0, 64)
        regions.unregister("r0")
        regions.register("more", memory.name, 0, 64)
    finally:
        regions.unregister("")
        memory.unlink()


def test_a_region_has_a_name() -> None:
    with pytest.raises(BadRequest, match="needs a name"):
        shared.Regions(True).register("", "any", 0, 1)


def test_a_region_that_the_machine_has_no_memory_for_is_named() -> None:
    """As a sparse one is whose file system is full; here the limit of a file's size says so."""
    memory = pathlib.Path(f"/dev/shm/tenon-test-{os.getpid()}")
    memory.touch()
    os.truncate(memory, 1 << 20)
    regions, (soft, hard) = shared.Regions(True), resource.getrlimit(resource.RLIMIT_FSIZE)
    regions.register("ours", memory.name, 0, 1 << 20)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
        with pytest.raises(BadRequest, match="tensor 'y': shared memory region 'ours': File too large"):
            regions.write("y", shared.Place("ours", 8192, 64), np.zeros(64, np.uint8))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        regions.unregister("")
        memory.unlink()
