"""A small model and its plan, for the tests of the program."""

import pathlib

import pytest
from test_cli import RANGE, save, tenon


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("cli") / "small.onnx"
    save(path)
    return path


@pytest.fixture(scope="module")
def plan(model: pathlib.Path) -> pathlib.Path:
    tenon("build", model, "--shapes", RANGE, "--quiet")
    return model.with_suffix(".plan")
