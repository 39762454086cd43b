"""Every block of code of the documentation is run as it stands there, here or by the test that is named for it."""

import dataclasses
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN_HERE = ["QUICKSTART.md", "FROM_TENSORRT.md", "FROM_ONNXRUNTIME.md", "ERRORS.md", "TOOLS.md"]
PATIENCE = 600  # Seconds that a page's code may take.

# Blocks of other pages that are not run here, by words that they contain, and the file that has their code whole and
# runs it: sketches with "…" in them, programs, what needs a server or an installation.
ELSEWHERE = {
    "README.md": {"make demo": "Makefile"},
    "docs/HOSTRT.md": {
        "g++ program.cpp": "tests/hostrt/test_programs.py",
        "LD_LIBRARY_PATH=": "tests/hostrt/test_programs.py",
    },
    "docs/PLUGINS.md": {
        "class FirstCreator": "tests/plugins/library_test.cpp",
        "tenonSetCpuBody": "tests/plugins/cpu_body_test.cpp",
        "class V3(": "tests/python/test_plugin_signatures.py",
        "tenon plugin check": "tests/cli/test_cli_plugins.py",
        "keepsItsPromises": "tests/plugins/check_test.cpp",
        "test_my_plugin_keeps_its_promises": "tests/python/test_testing.py",
        "onShapeChange": "tests/cli/test_cli_plugins.py",
    },
    "docs/SERVING.md": {
        "Pool(": "tests/serving/test_pool.py",
        "curl": "tests/serving/server/test_docs.py",
        "tenon serve": "tests/serving/server/hosted.py",
        "config.toml": "tests/serving/server/test_extensions.py",
        'versions = "latest"': "tests/serving/server/test_extensions.py",
        "from ray import serve": "tests/serving/on_ray/test_ray_serve.py",
        "import Batches": "tests/serving/on_ray/test_ray_data.py",
        "podman build": "tests/serving/server/test_kserve.py",
        "kind: InferenceService": "tests/serving/server/test_kserve.py",
        "serve_pages.py": "tests/serving/on_ray/test_serve_pages.py",
    },
    "docs/TOOLS.md": {"pip install polygraphy": "tools/polygraphy_table"},
}


@dataclasses.dataclass(frozen=True)
class Block:
    page: str
    kind: str
    text: str
    heading: str  # The text in backquotes of the nearest heading above.


def blocks(page: pathlib.Path) -> list[Block]:
    found, heading, inside = [], "", None
    for line in page.read_text().splitlines():
        if inside is None and line.startswith("```"):
            inside = (line[3:], [])
        elif inside is not None and line.startswith("```"):
            found.append(Block(str(page.relative_to(ROOT)), inside[0], "\n".join(inside[1]), heading))
            inside = None
        elif inside is not None:
            inside[1].append(line)
        elif line.startswith("#"):
            heading = next(iter(re.findall("`(.*)`", line)), "")
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Where the files are that the pages speak of: a small network over pictures, and a picture."""
    path = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(5)
    shapes = {"filters": (8, 3, 7, 7), "bias": (8,), "classes": (8, 1000)}
    weights = [
        onnx.numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32) / 10, name)
        for name, shape in shapes.items()
    ]
    node = onnx.helper.make_node
    graph = onnx.helper.make_graph(
        [
            node("Conv", ["input", "filters", "bias"], ["maps"], name="conv1", strides=[8, 8]),
            node("Relu", ["maps"], ["active"], name="relu1"),
            node("GlobalAveragePool", ["active"], ["means"], name="pool"),
            node("Flatten", ["means"], ["features"], name="flatten"),
            node("MatMul", ["features", "classes"], ["output"], name="classifier"),
        ],
        "pictures",
        [onnx.helper.make_tensor_value_info("input", onnx.TensorProto.FLOAT, ["batch", 3, 224, 224])],
        [onnx.helper.make_tensor_value_info("output", onnx.TensorProto.FLOAT, ["batch", 1000])],
        weights,
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path / "model.onnx")
    np.save(path / "picture.npy", rng.standard_normal((1, 3, 224, 224)).astype(np.float32))
    return path


def shell(line: str, folder: pathlib.Path, statuses: tuple[int, ...] = (0,)) -> str:
    programs = os.pathsep.join([str(BUILD / "bin"), os.path.dirname(sys.executable), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env=os.environ | {"PATH": programs},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode in statuses, (line, done.stdout, done.stderr)
    return done.stdout


def python(code: str, folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=PATIENCE)


@pytest.mark.parametrize("name", [name for name in RUN_HERE if name != "ERRORS.md"])
def test_the_code_of_a_page_runs_in_its_order(name: str, folder: pathlib.Path) -> None:
    code = ""
    for block in blocks(ROOT / "docs" / name):
        if block.kind == "sh":
            for line in block.text.splitlines():
                shell(line, folder)
        elif block.kind == "python":
            code += block.text + "\n"
            done = python(code, folder)
            assert done.returncode == 0, (block.text, done.stdout, done.stderr)


ERRORS = [block for block in blocks(ROOT / "docs" / "ERRORS.md") if block.heading]


@pytest.mark.parametrize("block", ERRORS, ids=[block.heading for block in ERRORS])
def test_a_message_is_the_one_that_its_code_gives(block: Block, folder: pathlib.Path) -> None:
    """What stands before it on the page has run, too: the code goes on from there."""
    page = blocks(ROOT / "docs" / "ERRORS.md")
    before = page[: page.index(block)]
    opening = "\n".join(each.text for each in before if not each.heading)
    needed = "\n".join(f"try:\n{indented(each.text)}\nexcept (TypeError, ValueError):\n    pass" for each in before[1:])
    silent = python(f"{opening}\n{needed}", folder)
    assert silent.returncode == 0, silent.stderr
    done = python(
        f"{opening}\n{needed}\nprint('HERE', file=__import__('sys').stderr, flush=True)\n{block.text}", folder
    )
    message = re.sub(r"…", "*", block.heading.replace("[", "[[]"))
    said = done.stderr.rsplit("HERE", 1)[-1]
    assert fnmatch.fnmatch(said.replace("\n", " "), f"*{message}*"), (message, said)
    assert done.returncode == 0 or "Error" in said, said


def indented(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines())


def test_the_commands_of_the_front_page_run(folder: pathlib.Path) -> None:
    (lines,) = [b.text for b in blocks(ROOT / "README.md") if b.text.startswith("tenon build")]
    library = BUILD / "lib" / "libtenon_bodied_library.so"
    for line in lines.splitlines():
        if "libpad.so" in line:  # Status 1: something was found, as in this library, which takes one axis only.
            assert "combinations" in shell(line.replace("libpad.so", str(library)), folder, (1,))
        else:
            shell(line, folder)


# What the programs of README.md do, for those that go on from there.
FRONT = ("import tensorrt as trt", "createInferBuilder(logger)", "mine::double")


def front(words: str) -> str:
    (text,) = [block.text for block in blocks(ROOT / "README.md") if words in block.text]
    return text


@pytest.fixture(scope="module")
def front_folder(folder: pathlib.Path) -> pathlib.Path:
    shutil.copy(folder / "model.onnx", folder / "mobilenet_v2.onnx")
    return folder


def test_the_python_program_of_the_front_page_runs(front_folder: pathlib.Path) -> None:
    check = """
import onnxruntime
want = onnxruntime.InferenceSession("mobilenet_v2.onnx").run(None, {"input": batch})[0]
np.testing.assert_allclose(scores, want, atol=1e-4)
"""
    done = python(front("import tensorrt as trt") + check, front_folder)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("page", "words"), [("HOSTRT.md", "tenon.Stream()"), ("CUDA.md", "DeviceArray")], ids=["stream", "array"]
)
def test_what_other_pages_add_to_it_runs(page: str, words: str, front_folder: pathlib.Path) -> None:
    (more,) = [block.text for block in blocks(ROOT / "docs" / page) if words in block.text]
    program = front("import tensorrt as trt") + "\nimport tenon\nkept, scores[:] = scores.copy(), 0\n" + more
    check = "\nnp.testing.assert_array_equal(y.numpy() if 'y' in dir() else scores, kept)\n"
    done = python(program + check, front_folder)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_cpp_program_of_the_front_page_runs(front_folder: pathlib.Path) -> None:
    (front_folder / "front.cpp").write_text(
        """
#include "NvInfer.h"
#include "NvOnnxParser.h"
#include <cstdio>
#include <memory>
#include <vector>
using namespace nvinfer1;
struct Logger : ILogger
{
    void log(Severity severity, char const* message) noexcept override
    {
        if (severity <= Severity::kWARNING)
            std::fprintf(stderr, "%s\\n", message);
    }
};
int main()
{
    Logger logger;
    std::vector<float> picture(3 * 224 * 224, 0.5F), scores(1000);
"""
        + front("createInferBuilder(logger)")
        + """
    float sum{0.0F};
    for (float const score : scores)
        sum += score * score;
    return sum > 0.0F ? 0 : 2;
}
"""
    )
    libraries = BUILD / "lib"
    flags = f"-std=c++17 -I{ROOT / 'include'} -L{libraries} -Wl,-rpath,{libraries} -lnvinfer -lnvonnxparser"
    shell(f"c++ front.cpp -o front {flags} && ./front", front_folder)


def test_the_custom_layer_of_the_front_page_runs(folder: pathlib.Path) -> None:
    code = f"""
import numpy as np
import tensorrt as trt
logger = trt.Logger(trt.Logger.ERROR)
builder = trt.Builder(logger)
network = builder.create_network()
network.add_input("x", trt.float32, (2, 3))
{front("mine::double")}
layer.get_output(0).name = "y"
network.mark_output(layer.get_output(0))
plan = builder.build_serialized_network(network, builder.create_builder_config())
context = trt.Runtime(logger).deserialize_cuda_engine(plan).create_execution_context()
x, y = np.random.rand(2, 3).astype(np.float32), np.empty((2, 3), np.float32)
assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y) and context.execute_async_v3(0)
np.testing.assert_array_equal(y, 2 * x)
"""
    done = python(code, folder)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_commands_about_pages_of_plans_run(folder: pathlib.Path) -> None:
    shell("tenon build model.onnx -o model.plan --shapes input=1x3x224x224:4x3x224x224:8x3x224x224", folder)
    (lines, *rest) = [block.text for block in blocks(ROOT / "docs" / "INSPECT.md")]
    for line in lines.splitlines():
        shell(line, folder)
        assert "conv1" in (folder / "model.html").read_text()
    assert all(text.startswith("model.html#") for text in rest)


def test_the_functions_about_plugins_run(folder: pathlib.Path) -> None:
    page = [block.text for block in blocks(ROOT / "docs" / "PLUGINS.md") if "example::" in block.text]
    (scale,) = [text for text in page if '@trtp.register("example::scale")' in text]
    (positives,) = [text for text in page if "positives" in text]
    (ahead,) = [text for text in page if "aot_impl" in text]
    code = f"""
import tensorrt as trt
network = trt.Builder(trt.Logger()).create_network()
tensor = network.add_input("x", trt.float32, (2, 3))
{scale}
assert tuple(layer.get_output(0).shape) == (2, 3)
{ahead}

@trtp.register("example::positives")
def positives(x: trtp.TensorDesc) -> tuple[trtp.TensorDesc, trtp.TensorDesc]:
    most = x.shape_expr.numel()
    size = trtp.size_tensor(opt=most // 2, upper_bound=most)
    return trtp.from_shape_expr((size.expr(),), x.dtype), size

{positives}
"""
    done = python(code, folder)
    assert done.returncode == 0, done.stderr


def test_the_commands_of_trtexec_run(folder: pathlib.Path) -> None:
    (lines,) = [b.text for b in blocks(ROOT / "docs" / "TRTEXEC.md") if b.text.startswith("trtexec --onnx")]
    np.zeros((8, 3, 224, 224), np.float32).tofile(folder / "x.bin")
    for line in lines.splitlines():
        shown = line.replace("x:", "input:")
        output = shell(shown + " --duration=0.2 --warmUp=10 --iterations=1", folder)
        assert output.strip().splitlines()[-1].startswith("&&&& PASSED"), output


# Blocks that the tests above run, by words of which each stands in one block of its page. Of pages in RUN_HERE all of
# Python and the shell are run, of INSPECT.md all.
RUN_BY_NAME = {
    "README.md": ("tenon build model.onnx -o", *FRONT),
    "docs/CUDA.md": ("DeviceArray",),
    "docs/HOSTRT.md": ("tenon.Stream()",),
    "docs/PLUGINS.md": ('@trtp.register("example::scale")', '@trtp.impl("example::positives")', "@trtp.aot_impl"),
    "docs/TRTEXEC.md": ("trtexec --onnx",),
}


def test_no_block_is_forgotten() -> None:
    forgotten = []
    for page in PAGES:
        name = str(page.relative_to(ROOT))
        for block in blocks(page):
            is_run = page.name in RUN_HERE and block.kind in ("sh", "python") or page.name == "INSPECT.md"
            words = (*RUN_BY_NAME.get(name, ()), *ELSEWHERE.get(name, {}))
            if not is_run and not any(each in block.text for each in words):
                forgotten.append((name, block.text[:80]))
    assert not forgotten
    for name, words in RUN_BY_NAME.items():
        counts = {each: sum(each in block.text for block in blocks(ROOT / name)) for each in words}
        assert set(counts.values()) == {1}, (name, counts)
    assert all((ROOT / file).exists() for known in ELSEWHERE.values() for file in known.values())
