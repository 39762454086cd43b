"""What KServe is told of the server is what its types and its schema take, and the server starts as it says."""

import copy
import json
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import hosted
import numpy as np
import published
import pytest
import yaml
from tenon.serving.__main__ import options

CONTAINER = pathlib.Path(__file__).parents[3] / "python" / "serving_distribution" / "container"


def refusal(manifest: dict[str, Any]) -> str:
    """What is wrong with it. In a process of its own: KServe's messages and those of Triton's client share names."""
    program = pathlib.Path(__file__).parent / "check_by_kserve.py"
    text = yaml.safe_dump(manifest)
    done = subprocess.run([sys.executable, program], input=text, capture_output=True, text=True)
    assert done.returncode == bool(done.stderr.strip())
    return done.stderr


@pytest.fixture
def manifest() -> dict[str, Any]:
    return yaml.safe_load((CONTAINER / "kserve.yaml").read_text())


def test_the_manifest_is_a_serving_runtime(manifest: dict[str, Any]) -> None:
    assert refusal(manifest) == ""
    assert (manifest["apiVersion"], manifest["kind"]) == ("serving.kserve.io/v1alpha1", "ServingRuntime")
    (container,) = manifest["spec"]["containers"]
    assert container["name"] == "kserve-container"  # By which KServe finds the one that gets the model.
    assert manifest["spec"]["protocolVersions"] == ["v2", "grpc-v2"]


@pytest.mark.parametrize(
    "path, value, why",
    [
        (("spec", "protocolVersion"), [], "has 'protocolVersion', which V1alpha1ServingRuntimeSpec does not"),
        (("spec", "containers", 0, "ports", 0, "containerPort"), "8080", "containerPort"),
        (("spec", "containers", 0, "resources", "limits"), ["cpu"], "limits"),
        (("spec", "containers", 0, "name"), None, "name"),
        (("spec", "containers", 0, "arguments"), [], "arguments"),
        (("spec", "containers", 0, "env", 0, "valueFrom", "resourceFieldRef"), {}, "resource"),
    ],
)
def test_a_manifest_that_is_wrong_is_found(manifest: dict[str, Any], path: tuple, value: Any, why: str) -> None:
    wrong = copy.deepcopy(manifest)
    place = wrong
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert re.search(why, refusal(wrong))


def places(value: Any, path: tuple = ()) -> Iterator[tuple]:
    """The paths to all that a manifest says, but for its metadata, which are Kubernetes' own."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        if (*path, key) != ("metadata",):
            yield (*path, key)
            yield from places(part, (*path, key))


def test_the_manifest_is_what_the_published_schema_says(manifest: dict[str, Any]) -> None:
    assert published.misfits(manifest, published.RUNTIME) == []


def test_whatever_the_schema_does_not_say_is_found(manifest: dict[str, Any]) -> None:
    """Another type in each place, another name for each field, and no field of those that must be there."""
    for *path, last in places(manifest):
        named = not path or path[-1] not in ("annotations", "requests", "limits")  # Where any name may be.
        for change in ("type", "name") if isinstance(last, str) and named else ("type",):
            wrong = copy.deepcopy(manifest)
            place = wrong
            for step in path:
                place = place[step]
            if change == "name":
                place[f"{last}s"] = place.pop(last)
            else:
                place[last] = {"other": 1.5} if isinstance(place[last], list) else [1.5]
            assert published.misfits(wrong, published.RUNTIME), (path, last, change)
    for amount in ("2 Gi", "2GiB", "", "x", 1.5, True):
        manifest["spec"]["containers"][0]["resources"]["limits"]["memory"] = amount
        assert published.misfits(manifest, published.RUNTIME), amount
    del manifest["spec"]["containers"]
    assert "manifest.spec has no 'containers'" in published.misfits(manifest, published.RUNTIME)


@pytest.mark.parametrize("version", ["", "3"])
def test_the_server_starts_as_the_manifest_says(manifest: dict[str, Any], tmp_path: pathlib.Path, version: str) -> None:
    (tmp_path / version).mkdir(exist_ok=True)
    hosted.plan(tmp_path / version / "model.plan")
    (tmp_path / "config.toml").write_text("max_batch = 4\n")
    container = manifest["spec"]["containers"][0]
    arguments = [each.replace("{{.Name}}", "small").replace("0.0.0.0", "127.0.0.1") for each in container["args"]]
    assert (
        arguments.pop(0) == "/mnt/models" and options(["x", *arguments]).port == container["ports"][0]["containerPort"]
    )
    free = [each for each in arguments if "port=" not in each]
    with hosted.Running(tmp_path, *free, name=None) as server:
        for probe in ("readinessProbe", "livenessProbe"):
            assert server.get(container[probe]["httpGet"]["path"])[0] == 200
        status, answer = server.infer([{"name": "x", "datatype": "FP32", "shape": [1, 8], "data": [1.0] * 8}])
        assert status == 200 and answer["model_version"] == (version or "1")
        np.testing.assert_allclose(answer["outputs"][0]["data"], np.ones(8) @ hosted.WEIGHTS, rtol=1e-4)
        path = manifest["spec"]["annotations"]["prometheus.kserve.io/path"]
        assert b'tenon_answered_total{model="small"' in server.get(path)[1]


def test_the_container_starts_the_server() -> None:
    lines = (CONTAINER / "Containerfile").read_text().splitlines()
    entry, command = (
        json.loads(next(line for line in lines if line.startswith(word)).removeprefix(word))
        for word in ("ENTRYPOINT ", "CMD ")
    )
    assert entry[1:] == ["-m", "tenon.serving"]
    asked = options(command)
    assert (str(asked.plan), asked.host, asked.port, asked.grpc_port) == ("/mnt/models", "0.0.0.0", 8080, 9000)


def test_a_folder_of_one_model_needs_one(tmp_path: pathlib.Path) -> None:
    with pytest.raises(AssertionError, match=r"tenon serve: \[model 'small'\] .* has no VERSION/model.plan"):
        with hosted.Running(tmp_path):
            pass
