"""The blocks of docs/SERVING.md are run as they stand there, but for ports and what a machine here does not have.

Those on Ray: tests/serving/on_ray/test_ray_docs.py.
"""

import json
import pathlib
import re
import shlex
import subprocess
import sys

import hosted
import numpy as np
import pytest
import tensorrt as trt
import yaml
from tenon.serving.__main__ import options
from tenon.serving.ports import Padding
from tenon.serving.server import sources
from test_extensions import onnx_model

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "SERVING.md"
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
LINES = [line for line in PAGE.read_text().splitlines() if line.startswith("curl ")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> hosted.Running:
    plan = hosted.plan(tmp_path_factory.mktemp("plans") / "model.plan")
    with hosted.Running(plan, name="detector") as found:
        yield found


def asked(server: hosted.Running, line: str) -> str:
    """What a command prints; it fails where the server refuses."""
    words = shlex.split(line.replace("localhost:8000", f"127.0.0.1:{server.port}"))
    done = subprocess.run([*words, "-sS", "--fail-with-body"], capture_output=True, text=True, timeout=hosted.PATIENCE)
    assert done.returncode == 0, (line, done.stdout, done.stderr)
    return done.stdout


def test_there_are_commands() -> None:
    for word in ("health/ready", "models/detector", "/infer", "/metrics"):
        assert any(word in line for line in LINES), word


@pytest.mark.parametrize("line", LINES)
def test_a_command_of_the_page_is_answered(server: hosted.Running, line: str) -> None:
    found = asked(server, line)
    if "/infer" in line:
        sent = json.loads(re.search("'(.*)'", line)[1])["inputs"][0]["data"]
        answer = json.loads(found)["outputs"][0]
        np.testing.assert_allclose(answer["data"], np.float32(sent) @ hosted.WEIGHTS, rtol=1e-4, atol=1e-5)
    elif "/metrics" in line:
        assert 'tenon_requests_total{model="detector",version="1"}' in found
    elif line.endswith("ready"):
        assert json.loads(found)["ready"] is True
    else:
        assert json.loads(found)["name"] == "detector"


def block(*words: str) -> str:
    """The only block that has all of these words."""
    (found,) = (text for _, text in BLOCKS if all(word in text for word in words))
    return found


def test_every_block_is_tested() -> None:
    tested = ("Pool(engine", "tenon serve model.plan", "curl", "detector/\n", "[[profiles]]", "deployment(", "Batches,")
    tested += ("podman", "InferenceService", "serve_pages.py")
    for language, text in BLOCKS:
        assert sum(word in text for word in tested) == 1, (language, text)


def test_the_pool_of_the_page_answers(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network, config, profile = builder.create_network(), builder.create_builder_config(), None
    layer = network.add_unary(network.add_input("input", trt.float32, (-1, 3, 224, 224)), trt.UnaryOperation.NEG)
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    profile = builder.create_optimization_profile()
    profile.set_shape("input", *((rows, 3, 224, 224) for rows in (1, 4, 8)))
    config.add_optimization_profile(profile)
    (tmp_path / "model.plan").write_bytes(builder.build_serialized_network(network, config))
    monkeypatch.chdir(tmp_path)
    names: dict[str, dict[str, np.ndarray]] = {}
    exec(compile(block("Pool(engine").replace("timeout=1.0", "timeout=100.0"), PAGE, "exec"), names)
    for answer in ("outputs", "later", "awaited"):
        np.testing.assert_array_equal(names[answer]["y"], -names["picture"])


def test_the_command_of_the_page_starts_a_server(tmp_path: pathlib.Path) -> None:
    (line,) = (line for line in block("tenon serve model.plan").splitlines() if line.startswith("tenon serve"))
    words = shlex.split(line)[2:]
    asked = options(words)
    assert (str(asked.plan), asked.name, asked.port, asked.grpc_port) == ("model.plan", "detector", 8000, 8001)
    without_ports = re.sub(r"--(grpc-)?port \d+|--name \w+", "", " ".join(words[1:])).split()
    with hosted.Running(hosted.plan(tmp_path / "model.plan"), *without_ports, name="detector") as server:
        assert server.get("/v2/models/detector/ready")[0] == 200


def test_the_folder_of_the_page_is_served(tmp_path: pathlib.Path) -> None:
    place: list[str] = []
    for line in block("detector/\n").splitlines():
        place[(len(line) - len(line.lstrip())) // 2 :] = [line.strip().rstrip("/")]
        path = tmp_path.joinpath(*place)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.name == "model.plan":
            hosted.plan(path)
        elif path.name == "model.onnx":
            onnx_model(path)
        elif path.name == "config.toml":
            path.write_text("[[profiles]]\nx = [[1, 8], [4, 8], [16, 8]]\n" if "reader" in place else "")
    with hosted.Running(tmp_path / "models", name=None) as server:
        found = json.loads(server.ask("POST", "/v2/repository/index", b"{}")[1])
    assert [(each["name"], each["version"], each["state"]) for each in found] == [
        ("detector", "2", "READY"),
        ("reader", "1", "READY"),
    ]


def test_the_configuration_of_the_page_says_what_the_page_says(tmp_path: pathlib.Path) -> None:
    (tmp_path / "config.toml").write_text(block("[[profiles]]"))
    (tmp_path / "model.onnx").touch()
    (found,) = sources.of_model(tmp_path, "reader", {})
    assert found.settings == {
        "contexts": 0,
        "max_batch": 8,
        "max_wait": 0.002,
        "queue": 256,
        "max_output": 256 << 20,
        "padding": {"mask": Padding(0, 16)},
    }
    assert found.profiles == [{"input": [[1, 3, 224, 224], [4, 3, 224, 224], [8, 3, 224, 224]]}]


@pytest.mark.parametrize("text", [text for _, text in BLOCKS if "InferenceService" in text])
def test_the_manifests_of_the_page_are_inference_services(text: str) -> None:
    """By KServe's types, in a process of its own: KServe's messages and those of Triton's client share names."""
    program = pathlib.Path(__file__).parent / "check_by_kserve.py"
    for manifest, is_right in ((text, True), (text.replace("modelFormat", "format"), False)):
        done = subprocess.run([sys.executable, program], input=manifest, capture_output=True, text=True)
        assert (done.returncode == 0) == is_right, done.stderr
    model = yaml.safe_load(text)["spec"]["predictor"]["model"]
    assert model["modelFormat"]["name"] == "tenon"
    folder = PAGE.parents[1] / "python" / "serving_distribution" / "container"
    runtime = yaml.safe_load((folder / "kserve.yaml").read_text())["spec"]
    assert model.get("protocolVersion", "v2") in runtime["protocolVersions"]
    for port in model.get("ports", []):
        assert f"--grpc-port={port['containerPort']}" in runtime["containers"][0]["args"]


@pytest.mark.parametrize("words, count", [("podman", 2), ("serve_pages.py", 3)])
def test_what_commands_name_is_there(words: str, count: int) -> None:
    named = [word for line in block(words).splitlines() for word in shlex.split(line) if "/" in word]
    assert len(named) == count and all((PAGE.parents[1] / each.partition("[")[0]).exists() for each in named)
