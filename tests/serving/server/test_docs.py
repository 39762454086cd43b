"""The commands of docs/SERVING.md are run as they stand there, but for the ports."""

import json
import pathlib
import re
import shlex
import subprocess

import hosted
import numpy as np
import pytest

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "SERVING.md"
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
