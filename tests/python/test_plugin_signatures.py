"""docs/PLUGINS names the methods of Python plugins with the arguments that they are called with."""

import ast
import inspect
import pathlib
import re

import pytest
import tensorrt as trt
import test_plugins as pads
import test_seed_plugin_v2 as older

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def documented() -> dict[str, dict[str, int]]:
    """By class: how many arguments each method has."""
    text = (ROOT / "docs" / "PLUGINS.md").read_text()
    section = text.split("### What the methods are called with")[1].split("\n## ")[0]
    block = re.search(r"```python\n(.*?)```", section, re.S)
    assert block is not None
    classes = [each for each in ast.parse(block[1]).body if isinstance(each, ast.ClassDef)]
    return {
        each.name: {f.name: len(f.args.args) for f in each.body if isinstance(f, ast.FunctionDef)} for each in classes
    }


# Classes that other tests build and run.
@pytest.mark.parametrize(
    "name, running",
    [
        ("V3", pads.CircPadV3),
        ("V3Creator", pads.CircPadV3Creator),
        ("V2DynamicExt", pads.CircPadDynamic),
        ("V2Ext", pads.OlderPad),
        ("V2Ext", older.PyPad),
        ("V2Creator", pads.CircPadDynamicCreator),
    ],
)
def test_documented_signatures_are_those_that_run(name: str, running: type) -> None:
    methods = {
        key: len(inspect.signature(value).parameters)
        for key, value in vars(running).items()
        if inspect.isfunction(value) and not key.startswith("_") and key != "destroy"
    }
    assert methods, running
    written = documented()[name]
    assert {key: written.get(key) for key in methods} == methods


def test_every_documented_method_of_v3_is_one_of_the_api() -> None:
    bases = (trt.IPluginV3, trt.IPluginV3OneBuildV2, trt.IPluginV3OneRuntime)
    assert {name for name in documented()["V3"] if not any(hasattr(base, name) for base in bases)} == set()
