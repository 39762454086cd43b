"""Type checkers accept the example and find mistakes; the API table is bound as far as this version goes."""

import os
import pathlib
import subprocess
import sys

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


def test_api_table_is_bound_as_far_as_this_version_goes() -> None:
    """All of the 10.16 module but plugins, loops, conditions, attention, calibrators, selectors and refitters."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "api" / "check_python.py"), "tensorrt"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(PACKAGES)},
    )
    present, _, total = done.stdout.split()[-3:]
    assert int(present) >= 1985 and int(total) == 2544, done.stdout
    whole = {
        "Builder",
        "ICudaEngine",
        "IExecutionContext",
        "OnnxParser",
        "IOptimizationProfile",
        "IHostMemory",
        "ITensor",
    }
    lacking = {line.split(":")[0] for line in done.stdout.splitlines() if ": present " in line}
    assert whole & lacking <= {"Builder"}, done.stdout  # Builder lacks get_plugin_registry alone.


def test_every_bound_call_has_documentation() -> None:
    bare = [
        f"{cls.__name__}.{name}"
        for cls in (
            trt.Builder,
            trt.IBuilderConfig,
            trt.Runtime,
            trt.ICudaEngine,
            trt.IExecutionContext,
            trt.OnnxParser,
        )
        for name, member in vars(cls).items()
        if not name.startswith("_") and len((member.__doc__ or "").split("\n\n")[-1].strip()) < 8
    ]
    assert len(bare) <= 8, bare
