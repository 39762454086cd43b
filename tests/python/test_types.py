"""Types, API table and documentation, as far as this version goes; type checkers accept the example."""

import enum
import inspect
import json
import os
import pathlib
import pydoc
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
import tenon
import tensorrt as trt

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = pathlib.Path(tenon.__file__).resolve().parents[1]


def check(*paths: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *map(str, paths)],
        capture_output=True,
        text=True,
        env=os.environ | {"MYPYPATH": str(PACKAGES)},
    )


def test_the_example_is_well_typed() -> None:
    done = check(ROOT / "examples" / "python" / "classify.py")
    assert done.returncode == 0, done.stdout


def test_a_wrong_argument_is_found(tmp_path: pathlib.Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import tensorrt as trt\n"
        "builder = trt.Builder(trt.Logger(trt.Logger.WARNING))\n"
        "network = builder.create_network()\n"
        "network.add_input('x', (1, 2), trt.float32)\n"  # Type and shape are swapped.
        "builder.max_threads = 'two'\n"
        "network.no_such_call()\n"
    )
    done = check(wrong)
    assert done.returncode == 1
    for line in (4, 5, 6):
        assert f"wrong.py:{line}: error" in done.stdout, done.stdout


def compare(*arguments: object, **environment: str) -> subprocess.CompletedProcess:
    """`tensorrt` with tables of tools/api."""
    return subprocess.run(
        [sys.executable, str(ROOT / "tools/api/check_python.py"), "tensorrt", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(PACKAGES)} | environment,
    )


def test_every_name_of_the_seeds_is_bound() -> None:
    done = compare("--seeds", ROOT / "tools/api/seeds.json")
    assert done.returncode == 0, done.stdout + done.stderr
    present, _, total = done.stdout.split()[-3:]
    assert present == total and int(total) > 100, done.stdout


def test_api_table_is_bound_as_far_as_this_version_goes() -> None:
    """All of the 10.16 module."""
    done = compare()
    present, _, total = done.stdout.split()[-3:]
    assert present == total == "2544", done.stdout
    whole = {
        "Builder",
        "Runtime",
        "ICudaEngine",
        "IExecutionContext",
        "OnnxParser",
        "IOptimizationProfile",
        "IHostMemory",
        "ITensor",
    }
    lacking = {line.split(":")[0] for line in done.stdout.splitlines() if ": present " in line}
    assert not whole & lacking, done.stdout


def numbers_of_10() -> dict[str, dict[str, int]]:
    table = json.loads((ROOT / "tools/api/python-10.16.json").read_text())
    enumerations = [each for each in table["modules"][0]["classes"] if "enum_members" in each]
    return {each["name"]: {m["name"]: m["value"] for m in each["enum_members"]} for each in enumerations}


def contradicts_10(line: str, numbers: dict[str, int]) -> bool:
    """Whether a member cannot have the number of an older generation: 10.16 gives it another, or that to another."""
    member, wanted = re.fullmatch(r" +missing: member (\w+): value \d+, want (.*)", line).groups()
    return member in numbers or all(int(number) in numbers.values() for number in wanted.split(" or "))


@pytest.mark.parametrize("version", ["8.6.1", "9.3.0"])
def test_X7_names_of_older_versions_are_bound(version: str) -> None:
    done = compare("--api", f"python-{version}.json")
    classes, members, owner = set(), set(), ""
    numbers = numbers_of_10()
    for line in done.stdout.splitlines():
        if ": present " in line:
            owner = line.split(":")[0]
        elif line == "    missing: the class and all of it":
            classes.add(owner)
        elif ": value " in line:
            assert contradicts_10(line, numbers[owner]), f"{owner}:{line}"
        elif "missing: " in line:
            what = line.strip().split(": ")[1].split()[-1]
            members.add(f"{owner}.{what}")
    assert "present 1" in done.stdout, done.stdout + done.stderr
    assert not classes and not members, done.stdout


def test_X7_all_names_of_older_versions_are_there_and_52_have_other_numbers() -> None:
    """Decision 89 says which, and why one module cannot have both."""
    tables = [word for version in ("8.6.1", "9.3.0") for word in ("--api", f"python-{version}.json")]
    assert "names 1917 / 1917, of which 52 have another value\npresent 1865 / 1917" in compare(*tables).stdout


@pytest.mark.parametrize("generation", ["8", "9"])
def test_X7_programs_of_older_generations_see_their_numbers(generation: str) -> None:
    tables = [word for version in ("8.6.1", "9.3.0") for word in ("--api", f"python-{version}.json")]
    done = compare(*tables, TENON_API_GENERATION=generation)
    assert done.returncode == 0 and "present 1917 / 1917" in done.stdout, done.stdout


def test_X7_newer_members_keep_apart_from_older_numbers() -> None:
    """Of each enumeration: as many numbers as before, none beyond a mask's 32 bits, and masks there and back."""
    program = """
import random, tensorrt as trt
builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
network, config = builder.create_network(), builder.create_builder_config()
for cls in (trt.BuilderFlag, trt.LayerType, trt.NetworkDefinitionCreationFlag, trt.PreviewFeature):
    assert all(cls(int(member)) is member and member.value == int(member) for member in cls)
    print(cls.__name__, len({int(member) for member in cls}), sorted(cls.__members__))
flags = [flag for flag in trt.BuilderFlag]
assert all(0 <= int(flag) < 32 for flag in flags)
for _ in range(100):
    chosen = random.sample(flags, random.randrange(len(flags)))
    mask = sum(1 << int(flag) for flag in chosen)
    config.flags = mask
    assert config.flags == mask and all(config.get_flag(flag) == (flag in chosen) for flag in flags), chosen
config.flags = 0
for flag in flags:
    config.set_flag(flag)
    assert config.flags == 1 << int(flag), flag
    config.clear_flag(flag)
x = network.add_input("x", trt.float32, (2, 3))
assert network.add_cast(x, trt.float16).type is trt.LayerType.CAST
strong = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
assert strong.get_flag(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
assert strong.flags & 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
"""
    said = []
    for generation in ("10", "8"):
        environment = os.environ | {"PYTHONPATH": str(PACKAGES), "TENON_API_GENERATION": generation}
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert said[0] == said[1] and len(said[0].splitlines()) == 4


def body(text: str | None, name: str) -> str:
    """A docstring without the signatures that the binding library puts in front."""
    lines = [line.strip() for line in (text or "").splitlines()]
    signature = re.compile(rf"(\d+\. )?{re.escape(name)}\(.*\) ->")
    return " ".join(line for line in lines if line and not signature.match(line) and line != "Overloaded function.")


def members(cls: type) -> Iterator[tuple[str, str]]:
    """Own members of a class with their documentation; values of enumerations are named in the class's own."""
    for name, member in vars(cls).items():
        static = type(member).__name__ == "pybind11_static_property"  # These cannot carry any.
        if not (static or name.startswith("_") or isinstance(member, enum.Enum | enum.EnumType)):
            yield name, body(member.__doc__, name)


def classes() -> list[type]:
    found = [getattr(trt, name) for name in trt.__all__]
    return [cls for cls in found if inspect.isclass(cls)] + [trt.ILogger.Severity]


def test_every_class_and_call_has_documentation() -> None:
    assert len(classes()) > 130
    bare = [cls.__qualname__ for cls in classes() if len(body(vars(cls).get("__doc__"), cls.__name__)) < 12]
    bare += [f"{cls.__name__}.{name}" for cls in classes() for name, text in members(cls) if len(text) < 8]
    calls = [name for name in tenon.__all__ if inspect.isroutine(getattr(tenon, name))]
    bare += [name for name in calls if len(body(getattr(tenon, name).__doc__, name)) < 12]
    assert len(calls) > 8 and not bare, bare


def test_documentation_speaks_python() -> None:
    foreign = re.compile(
        r"\b(delete\b|null|nullptr|true\b|false\b|std::|k[A-Z]{2,}\w*|nb(?!Dims)[A-Z]\w*|I(Builder|Runtime|Parser)\b"
        r"|(?!nbDims|queryKeys)[a-z]+[A-Z]\w*\(\))|::|\\\w"
    )
    texts = [(f"{cls.__name__}.{name}", text) for cls in classes() for name, text in members(cls)]
    texts += [(cls.__name__, body(cls.__doc__, cls.__name__)) for cls in classes()]
    assert len(texts) > 650
    wrong = [(name, found.group(), text) for name, text in texts if (found := foreign.search(text))]
    assert not wrong, wrong


def test_documented_parameters_are_those_of_the_call() -> None:
    wrong, seen = [], 0
    for cls in classes():
        for name, member in vars(cls).items():
            text = getattr(member, "__doc__", None) or ""
            signatures = " ".join(line for line in text.splitlines() if re.match(rf"(\d+\. )?{name}\(", line))
            for parameter in re.findall(r":param (\w+):", text):
                seen += 1
                if f" {parameter}: " not in signatures:
                    wrong.append(f"{cls.__name__}.{name}({parameter})")
    assert seen > 100 and not wrong, wrong


@pytest.mark.parametrize("module", ["tensorrt", "tenon"])
def test_help_lists_the_classes(module: str) -> None:
    text = pydoc.plain(pydoc.render_doc(sys.modules[module]))
    for name in ("class Builder", "class ICudaEngine", "class ActivationType", "class IHostMemory"):
        assert f"    {name}(" in text, name
    assert ("inspect(" in text) == (module == "tenon")
    assert "Max" in trt.ActivationType.RELU.__doc__ or "max" in trt.ActivationType.RELU.__doc__
