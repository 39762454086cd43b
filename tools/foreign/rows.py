"""The rows of tools/polygraphy_table: what is done with each model, as command lines of Polygraphy."""

import dataclasses
import pathlib
from collections.abc import Callable, Iterable

import onnx

Words = list[str]

PATTERNS = pathlib.Path(__file__).resolve().parent / "patterns"
EXTENTS = {"batch": (1, 2, 3), "seq": (4, 24, 32), "time": (4, 20, 30), "h": (64, 96, 128), "w": (64, 128, 160)}


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    path: pathlib.Path
    inputs: dict[str, tuple[str | int, ...]]  # Extents; dynamic ones by name.
    integers: tuple[str, ...]
    inner: str  # A tensor between two nodes.
    nodes: int

    @staticmethod
    def of(path: pathlib.Path) -> "Model":
        graph = onnx.load(path).graph
        given = {tensor.name for tensor in graph.initializer}
        inputs = [value for value in graph.input if value.name not in given]
        shapes = {v.name: tuple(d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim) for v in inputs}
        integers = tuple(v.name for v in inputs if v.type.tensor_type.elem_type == onnx.TensorProto.INT64)
        computed = [node for node in graph.node if node.op_type in ("Conv", "MatMul", "Gemm")]
        return Model(path.stem, path, shapes, integers, computed[0].output[0], len(graph.node))

    def shapes(self, which: int) -> Words:
        texts = []
        for name, extents in self.inputs.items():
            numbers = [EXTENTS[extent][which] if isinstance(extent, str) else extent for extent in extents]
            texts.append(f"{name}:{numbers}".replace(" ", ""))
        return texts

    @property
    def profile(self) -> Words:
        if not any(isinstance(extent, str) for extents in self.inputs.values() for extent in extents):
            return []
        flags = ("--trt-min-shapes", "--trt-opt-shapes", "--trt-max-shapes")
        return [word for i, flag in enumerate(flags) for word in (flag, *self.shapes(i))]

    @property
    def data(self) -> Words:
        """Inputs that the network makes sense of: numbers of tokens, and a mask of ones."""
        if not self.integers:
            return []
        ranges = [f"{name}:[1,1]" if "mask" in name else f"{name}:[1,200]" for name in self.integers]
        return ["--val-range", *ranges]

    @property
    def loading(self) -> Words:
        """Data and shapes of a run."""
        return ["--input-shapes", *self.shapes(1), *self.data]

    @property
    def close(self) -> Words:
        """Tolerances of a comparison with another engine."""
        if self.name == "qdq_resnet18":  # A sum next to the middle of two steps is rounded to one or the other.
            return ["--atol", "0.2", "--rtol", "1e-3", "--check-error-stat", "quantile"]
        if self.name == "ssdlite320":  # Detections with scores as good as equal come in one order or the other.
            return ["--atol", "1e-4", "--rtol", "1e-3", "--check-error-stat", "boxes:median", "labels:median"]
        return ["--atol", "1e-4", "--rtol", "1e-3"]

    @property
    def running(self) -> Words:
        """The arguments that a run of the model begins with."""
        return ["run", str(self.path), "--trt", *self.loading, *self.profile]


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    commands: Callable[[Model, pathlib.Path], Iterable[Words]]
    says: tuple[str, ...] = ()  # What the output must contain.
    takes: Callable[[Model], bool] = lambda model: True


ROUGH = ["--validate"]  # Not a number, or infinite: fails. Lower precisions are compared by tests of their own.


def run(model: Model, folder: pathlib.Path) -> list[Words]:
    return [[*model.running, "--onnxrt", *model.close]]


def with_words(*words: str) -> Callable[[Model, pathlib.Path], list[Words]]:
    return lambda model, folder: [[*model.running, *words]]


def beside_onnxrt(*words: str) -> Callable[[Model, pathlib.Path], list[Words]]:
    return lambda model, folder: [[*model.running, "--onnxrt", *model.close, *words]]


def engine(model: Model, folder: pathlib.Path) -> list[Words]:
    return [
        ["convert", str(model.path), "--convert-to", "trt", "-o", "model.engine", *model.profile, *model.data],
        ["inspect", "model", "model.engine", "--model-type", "engine", "--show", "layers", "attrs", "weights"],
        ["run", "model.engine", "--trt", *model.loading, "--save-inputs", "in.json", "--save-outputs", "out.json"],
        [
            "run",
            "model.engine",
            "--trt",
            "--load-inputs",
            "in.json",
            "--load-outputs",
            "out.json",
            "--atol",
            "0",
            "--rtol",
            "0",
        ],
        ["inspect", "data", "out.json", "--show-values"],
    ]


def capability(model: Model, folder: pathlib.Path) -> list[Words]:
    return [["inspect", "capability", str(model.path), "--with-partitioning", "-o", "parts"]]


def capability_with_unknown(model: Model, folder: pathlib.Path) -> list[Words]:
    """A norm that the operator does not have: what it gives has the type and shape that ONNX says."""
    insertion = ["--op", "LpNormalization", "--attrs", "p=3", "--name", "unknown"]
    insertion += ["--inputs", model.inner, "--outputs", model.inner]
    return [
        ["surgeon", "insert", str(model.path), "-o", "with.onnx", *insertion],
        ["inspect", "capability", "with.onnx", "--with-partitioning", "--shape-inference", "-o", "parts"],
        ["inspect", "capability", "with.onnx", "--shape-inference", "-o", "static"],
    ]


def tactics(model: Model, folder: pathlib.Path) -> list[Words]:
    return [
        [*model.running, "--save-tactics", "good.json"],
        [*model.running, "--save-tactics", "bad.json"],
        ["inspect", "tactics", "good.json"],
        ["inspect", "diff-tactics", "--good", "good.json", "--bad", "bad.json"],
        [*model.running, "--load-tactics", "good.json"],
    ]


def timing_cache(model: Model, folder: pathlib.Path) -> list[Words]:
    return [
        [*model.running, "--save-timing-cache", "cache"],
        [
            *model.running,
            "--load-timing-cache",
            "cache",
            "--save-timing-cache",
            "cache",
            "--error-on-timing-cache-miss",
        ],
    ]


def calibration(model: Model, folder: pathlib.Path) -> list[Words]:
    words = [*model.running, *ROUGH, "--fp16", "--int8"]
    return [
        [*words, "--calibration-cache", "cache"],
        [*words, "--calibration-cache", "cache"],
        [*words, "--calib-base-cls", "IInt8MinMaxCalibrator"],
    ]


def stripped(model: Model, folder: pathlib.Path) -> list[Words]:
    convert = ["convert", str(model.path), "--convert-to", "trt", *model.profile]
    return [
        [*convert, "-o", "stripped.engine", "--strip-plan"],
        ["inspect", "model", "stripped.engine", "--model-type", "engine"],
    ]


def network_script(model: Model, folder: pathlib.Path) -> list[Words]:
    return [
        ["template", "trt-network", str(model.path), "-o", "network.py"],
        ["run", "network.py", "--model-type", "trt-network-script", "--trt", *model.loading, *model.profile],
    ]


def config_script(model: Model, folder: pathlib.Path) -> list[Words]:
    return [
        ["template", "trt-config", "-o", "config.py", "--fp16", "--precision-constraints", "prefer", *model.profile],
        ["run", str(model.path), "--trt", "--trt-config-script", "config.py", *model.loading],
    ]


def graph_script(model: Model, folder: pathlib.Path) -> list[Words]:
    return [["template", "onnx-gs", str(model.path), "-o", "process.py"], ["python", "process.py"]]


def generated_script(model: Model, folder: pathlib.Path) -> list[Words]:
    return [[*model.running, "--onnxrt", *model.close, "--gen-script", "compare.py"], ["python", "compare.py"]]


def surgeon(model: Model, folder: pathlib.Path) -> list[Words]:
    folded = Model(**{**vars(model), "path": folder / "folded.onnx"})
    return [
        ["surgeon", "sanitize", str(model.path), "-o", "folded.onnx", "--fold-constants", "--cleanup", "--toposort"],
        [*folded.running, "--onnxrt", *model.close],
        ["surgeon", "extract", "folded.onnx", "-o", "part.onnx", "--outputs", f"{model.inner}:auto"],
        ["inspect", "model", "part.onnx", "--convert-to", "trt", "--show", "layers"],
    ]


def sparse(model: Model, folder: pathlib.Path) -> list[Words]:
    pruned = Model(**{**vars(model), "path": folder / "pruned.onnx"})
    return [
        ["surgeon", "prune", str(model.path), "-o", "pruned.onnx"],
        ["inspect", "sparsity", "pruned.onnx"],
        [*pruned.running, "--onnxrt", "--sparse-weights", *model.close],
    ]


def weight_strip(model: Model, folder: pathlib.Path) -> list[Words]:
    whole = Model(**{**vars(model), "path": folder / "whole.onnx"})
    return [
        ["surgeon", "weight-strip", str(model.path), "-o", "bare.onnx"],
        ["surgeon", "weight-reconstruct", "bare.onnx", "-o", "whole.onnx"],
        whole.running,
    ]


def plugin(model: Model, folder: pathlib.Path) -> list[Words]:
    """Replaced by a stock plugin, with fields, that the model then runs with."""
    where = ["--plugin-dir", str(PATTERNS)]
    replaced = Model(**{**vars(model), "path": folder / "replaced.onnx"})
    return [
        ["plugin", "list", str(model.path), *where],
        ["plugin", "match", str(model.path), *where, "-o", "found.yaml"],
        ["plugin", "replace", str(model.path), *where, "--config", "found.yaml", "-o", "replaced.onnx"],
        [*replaced.running, *ROUGH],
    ]


def converted(model: Model, folder: pathlib.Path) -> list[Words]:
    """What `tenon convert` writes, read, and read and written again by onnx-graphsurgeon."""
    ranges = [
        ":".join(text.split(":")[1].strip("[]").replace(",", "x") for text in texts)
        for texts in zip(*(model.shapes(i) for i in range(3)), strict=True)
    ]
    shapes = [word for name, text in zip(model.inputs, ranges, strict=True) for word in ("--shapes", f"{name}={text}")]
    return [
        ["tenon", "convert", str(model.path), "-o", "shown.onnx", "--weights", *(shapes if model.profile else [])],
        ["inspect", "model", "shown.onnx", "--show", "layers", "attrs", "weights"],
        ["surgeon", "sanitize", "shown.onnx", "-o", "again.onnx", "--cleanup", "--toposort", "--no-shape-inference"],
        ["inspect", "model", "again.onnx", "--show", "layers"],
    ]


def reference(model: Model) -> Words:
    return [
        "run",
        str(model.path),
        "--onnxrt",
        *model.loading,
        "--save-inputs",
        "in.json",
        "--save-outputs",
        "out.json",
    ]


# What the `debug` tools ask of each engine that they build.
CHECK_ENGINE = ["--check", "polygraphy", "run", "polygraphy_debug.engine", "--trt", "--load-inputs", "in.json"]


def debug_build(model: Model, folder: pathlib.Path) -> list[Words]:
    words = ["--until", "2", *model.profile, "--save-tactics", "tactics.json", "--artifacts", "tactics.json"]
    check = [*CHECK_ENGINE, "--load-outputs", "out.json", *model.close]
    return [reference(model), ["debug", "build", str(model.path), *words, *check]]


def debug_precision(model: Model, folder: pathlib.Path) -> list[Words]:
    words = ["--fp16", "--mode", "bisect", *model.profile]
    check = [*CHECK_ENGINE, "--load-outputs", "out.json", "--atol", "1e-2", "--rtol", "1e-2"]
    return [reference(model), ["debug", "precision", str(model.path), *words, *check]]


def debug_reduce(model: Model, folder: pathlib.Path) -> list[Words]:
    """Nothing passes without any tolerance: what is left is one node that computes."""
    check = ["--check", "polygraphy", "run", "polygraphy_debug.onnx", "--trt", "--onnxrt", "--atol", "0", "--rtol", "0"]
    words = ["-o", "least.onnx", "--mode", "bisect", "--model-input-shapes", *model.shapes(1), *model.data]
    return [
        ["debug", "reduce", str(model.path), *words, *check],
        ["inspect", "model", "least.onnx", "--show", "layers"],
    ]


def debug_repeat(model: Model, folder: pathlib.Path) -> list[Words]:
    return [["debug", "repeat", "--until", "2", "--check", "polygraphy", *model.running]]


def by_layer(model: Model, folder: pathlib.Path) -> list[Words]:
    close = model.close
    if model.name == "qdq_resnet18":  # Its tensors of int8 among them: one step.
        close = ["--atol", "1", "--rtol", "1e-3", "--check-error-stat", "quantile"]
    return [[*model.running, "--onnxrt", "--trt-outputs", "mark", "all", "--onnx-outputs", "mark", "all", *close]]


def layer_precisions(model: Model, folder: pathlib.Path) -> list[Words]:
    return [[*model.running, *ROUGH, "--fp16", "--precision-constraints", "obey", "--trt-outputs", model.inner]]


ROWS = [
    Row("run --trt --onnxrt", run, ("PASSED",)),
    Row("convert to an engine; inspect, run, save and load it", engine, ("---- ", "PASSED")),
    Row(
        "inspect model as trt with layers, attributes, weights",
        lambda model, folder: [
            ["inspect", "model", str(model.path), "--convert-to", "trt", "--show", "layers", "attrs", "weights"]
        ],
        ("Layer 0",),
    ),
    Row("inspect capability with partitioning", capability, ("supported",)),
    Row("the same with a node that is not supported", capability_with_unknown, ("LpNormalization",)),
    Row("save, inspect, compare, load tactics", tactics),
    Row("save and load a timing cache", timing_cache),
    Row("run --fp16 --int8 with calibration", calibration, ("PASSED",)),
    Row("run --bf16", with_words("--bf16", *ROUGH)),
    Row("run --mark-unfused-tensors-as-debug-tensors", beside_onnxrt("--mark-unfused-tensors-as-debug-tensors")),
    Row(
        "run --mark-debug",
        lambda model, folder: [[*model.running, "--onnxrt", *model.close, "--mark-debug", model.inner]],
    ),
    Row("run --refittable", beside_onnxrt("--refittable"), ("PASSED",)),
    Row("convert --strip-plan", stripped),
    Row(
        "run --weight-streaming",
        beside_onnxrt("--strongly-typed", "--weight-streaming", "--weight-streaming-budget", "50%"),
        ("PASSED",),
    ),
    Row("run --version-compatible", beside_onnxrt("--version-compatible", "--exclude-lean-runtime"), ("PASSED",)),
    Row("run with every tensor as output", by_layer, ("PASSED",)),
    Row("run with precision constraints", layer_precisions),
    Row(
        "run several iterations",
        beside_onnxrt("--iterations", "3"),
        ("PASSED",),
    ),
    Row("run with a profile's strategy", with_words("--allocation-strategy", "runtime", "--optimization-profile", "0")),
    Row("run --gen-script, and the script", generated_script, ("PASSED",)),
    Row("template trt-network, and a run of it", network_script),
    Row("template trt-config, and a run with it", config_script),
    Row("template onnx-gs, and the script", graph_script),
    Row("surgeon sanitize and extract", surgeon, ("PASSED",)),
    Row("surgeon prune, inspect sparsity", sparse, ("PASSED",)),
    Row("surgeon weight-strip and weight-reconstruct", weight_strip),
    Row("check lint", lambda model, folder: [["check", "lint", str(model.path), *model.loading]]),
    Row("tenon convert, inspect and sanitize what it writes", converted, ("Other Opsets: {'tenon': 1}",)),
    Row("plugin list, match, replace", plugin),
    Row("debug build", debug_build),
    Row("debug precision", debug_precision),
    Row("debug reduce", debug_reduce),
    Row("debug repeat", debug_repeat),
]

# By row and model: why a failure is not Tenon's.
NOT_OURS = {
    ("run with every tensor as output", "qdq_resnet18"): "each layer is right, single steps of int8 spread",
    ("run with every tensor as output", "ssdlite320"): "Polygraphy marks tensors inside an If, which cannot be outputs",
    ("surgeon weight-strip and weight-reconstruct", "ssdlite320"): "onnx-graphsurgeon's patterns ask nodes for an id",
    ("the same with a node that is not supported", "rnn_lstm_gru"): "Polygraphy asks for the tensor '', as below",
    ("the same with a node that is not supported", "ssdlite320"): "the same, of an optional input of Resize",
    ("the same with a node that is not supported", "deeplabv3_mobilenet"): "the same, of an optional input of Resize",
    ("debug reduce", "rnn_lstm_gru"): "Polygraphy asks for the input '', an optional one that LSTM does without",
}
