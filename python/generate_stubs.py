"""Write _native.pyi, the types of the extension: names and types of the API table, as far as the module has them.

generate_stubs.py TABLES_DIR PACKAGE_DIR
"""

import importlib.machinery
import importlib.util
import inspect
import json
import keyword
import pathlib
import re
import sys
import textwrap
import types

#: Types of the table that Python spells otherwise.
TYPES = {
    "List": "list",
    "Tuple": "tuple",
    "buffer": "Buffer",
    "object": "Any",
    "capsule": "Handle",
    "function": "Callable[..., Any]",
    "Iterator": "Iterator[Any]",
    "Iterable": "Iterable[Any]",
    "slice": "slice",
    "numpy.ndarray": "NDArray[Any]",
    "Weights": "Weights | NDArray[Any] | None",
    "Dims": "Shape",
    "DimsHW": "Pair",
}
#: What takes more than the table says: (class, method, argument) -> type.
ARGUMENTS = {
    ("IExecutionContext", "set_tensor_address", "memory"): "Memory",
    ("IExecutionContext", "set_device_memory", "memory"): "Memory",
    ("IExecutionContext", "execute_v2", "bindings"): "Sequence[Memory]",
    ("IExecutionContext", "execute_async_v3", "stream_handle"): "Handle",
    ("IExecutionContext", "execute_async_v2", "bindings"): "Sequence[Memory]",
    ("IExecutionContext", "execute_async_v2", "stream_handle"): "Handle",
    ("IExecutionContext", "set_shape_input", "shape"): "Sequence[int]",
    ("IExecutionContext", "set_optimization_profile_async", "stream_handle"): "Handle",
    ("IExecutionContext", "set_aux_streams", "aux_streams"): "Sequence[Handle]",
    ("IOutputAllocator", "notify_shape", "shape"): "Dims",  # What overrides are called with.
    ("IOutputAllocator", "reallocate_output", "memory"): "int",
    ("", "init_libnvinfer_plugins", "logger"): "ILogger | Handle",
    ("Dims", "__init__", "shape"): "Iterable[int]",
}
#: Functions of the module whose result the table leaves open.
RESULTS = {"get_plugin_registry": "IPluginRegistry"}
#: Attributes that None resets.
MAY_BE_NONE = {
    "error_recorder",
    "int8_calibrator",
    "algorithm_selector",
    "progress_monitor",
    "profiler",
    "gpu_allocator",
    "temporary_allocator",
}
HEAD = '''"""Types of the extension module. Written by generate_stubs.py from the API table; do not edit."""

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, overload

from numpy.typing import NDArray
from typing_extensions import Buffer, CapsuleType, Self

Shape = Dims | Sequence[int]
Pair = DimsHW | tuple[int, int] | list[int]
Handle = int | CapsuleType | None
Memory = Handle | NDArray[Any] | Buffer

class _Enumeration(enum.Enum):
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...

class _Ordered(_Enumeration):
    def __lt__(self, other: Self | int) -> bool: ...
    def __le__(self, other: Self | int) -> bool: ...
    def __gt__(self, other: Self | int) -> bool: ...
    def __ge__(self, other: Self | int) -> bool: ...
    def __and__(self, other: Self | int) -> int: ...
    def __or__(self, other: Self | int) -> int: ...
    def __xor__(self, other: Self | int) -> int: ...
    def __rand__(self, other: int) -> int: ...
    def __ror__(self, other: int) -> int: ...
    def __rxor__(self, other: int) -> int: ...
    def __invert__(self) -> int: ...

'''
#: Special methods that the extension adds to the table's.
SPECIAL = {
    "ICudaEngine": [
        "def __len__(self) -> int: ...",
        "def __iter__(self) -> Iterator[str]: ...",
        "@overload\ndef __getitem__(self, index: int) -> str: ...",
        "@overload\ndef __getitem__(self, name: str) -> int: ...",
        "@property\ndef max_batch_size(self) -> int: ...",
    ],
    "IExecutionContext": [
        "def execute(self, batch_size: int = ..., bindings: Sequence[Memory] = ...) -> bool: ...",
        "def execute_async(\n    self,\n    batch_size: int = ...,\n    bindings: Sequence[Memory] = ...,\n"
        "    stream_handle: Handle = ...,\n    input_consumed: Handle = None,\n) -> bool: ...",
    ],
    "INetworkDefinition": [
        "def __len__(self) -> int: ...",
        "def __getitem__(self, index: int) -> ILayer: ...",
        "def add_fully_connected(\n    self, input: ITensor, num_outputs: int, kernel: Any, bias: Any = None\n"
        ") -> IFullyConnectedLayer: ...",
        "def add_attention_v2(\n    self, query: ITensor, key: ITensor, value: ITensor, "
        "norm_op: AttentionNormalizationOp, causal_kind: CausalMaskKind\n) -> IAttention: ...",
        "def add_rnn_v2(\n    self, input: ITensor, layer_count: int, hidden_size: int, max_seq_length: int, "
        "op: RNNOperation\n) -> IRNNv2Layer: ...",
    ],
    "Dims": [
        "def __iter__(self) -> Iterator[int]: ...",
        "@overload\ndef __getitem__(self, index: int) -> int: ...",
        "@overload\ndef __getitem__(self, index: slice) -> tuple[int, ...]: ...",
        "@property\ndef nbDims(self) -> int: ...",
    ],
    "IAttention": [
        "causal_kind: CausalMaskKind",
        "query_form: AttentionIOForm",
        "key_value_form: AttentionIOForm",
        "query_lengths: ITensor | None",
        "key_value_lengths: ITensor | None",
    ],
    "IKVCacheUpdateLayer": ["update_form: AttentionIOForm", "update_lengths: ITensor | None"],
    "IBuilderConfig": [
        "max_workspace_size: int",
        "build_route: str",
        "@property\ndef all_build_routes(self) -> str: ...",
    ],
    "Builder": ["max_batch_size: int"],
    "IHostMemory": [
        "def __buffer__(self, flags: int, /) -> memoryview: ...",
        "def __len__(self) -> int: ...",
    ],
}
#: Functions of the module that Tenon's own Python files call.
OWN = """
def _knobs() -> str: ...
def _devices() -> str: ...
def _not_implemented() -> str: ...
def _inspect_plan(plan: Buffer) -> str: ...
def _inspect_engine(engine: ICudaEngine) -> str: ...
def _inspect_network(network: INetworkDefinition) -> str: ...
def _verify(
    engine: ICudaEngine, inputs: Mapping[str, Any], atol: float, rtol: float, seed: int, first_only: bool
) -> str: ...
def _load(runtime: Runtime, path: str) -> ICudaEngine | None: ...
def _stream_create(blocking: bool) -> int: ...
def _stream_destroy(stream: int) -> None: ...
def _stream_synchronize(stream: int) -> None: ...
def _stream_is_idle(stream: int) -> bool: ...
def _stream_await(stream: int) -> None: ...
def _streams_await() -> None: ...
def _host_function(called: Callable[[int], None]) -> int: ...
def _event_await(event: int) -> None: ...
def _inspect_plugins() -> str: ...
def _check_plugin(
    plugin: Any,
    creator: IPluginCreatorInterface | None,
    namespace: str,
    fields: PluginFieldCollection,
    inputs: list[tuple[list[int], list[int], list[int], bool]],
    types: list[int],
    reference: Callable[..., Any] | None,
    settings: dict[str, Any],
) -> str: ...
def _doc_of(name: str) -> str: ...
def _bits_of(type: DataType) -> int: ...
def _lend_as_dlpack(
    owner: Any,
    address: int,
    type: tuple[int, int],
    extents: Sequence[int],
    strides: Sequence[int],
    is_read_only: bool,
    is_copied: bool,
    is_versioned: bool,
    device: tuple[int, int],
) -> Any: ...
def _plugin_gpu() -> int | None: ...
def _is_on_gpu(engine: ICudaEngine) -> bool: ...
def _engine_allocate(engine: ICudaEngine, bytes: int) -> int: ...
def _engine_free(engine: ICudaEngine, memory: int) -> None: ...
def _engine_copy(
    engine: ICudaEngine, to: int, source: int, bytes: int, stream: int, is_in: bool
) -> None: ...
def _order_streams(earlier: int, later: int) -> None: ...

class _BufferOfArray:
    def __buffer__(self, flags: int, /) -> memoryview: ...

ResizeMode = InterpolationMode
SliceMode = SampleMode

class IFullyConnectedLayer(ILayer):
    num_output_channels: int
    kernel: Any
    bias: Any

class RNNOperation(_Enumeration):
    RELU = 0
    TANH = 1
    LSTM = 2
    GRU = 3

class RNNDirection(_Enumeration):
    UNIDIRECTION = 0
    BIDIRECTION = 1

class RNNInputMode(_Enumeration):
    LINEAR = 0
    SKIP = 1

class RNNGateType(_Enumeration):
    INPUT = 0
    OUTPUT = 1
    FORGET = 2
    UPDATE = 3
    RESET = 4
    CELL = 5
    HIDDEN = 6

class IRNNv2Layer(ILayer):
    @property
    def num_layers(self) -> int: ...
    @property
    def hidden_size(self) -> int: ...
    @property
    def max_seq_length(self) -> int: ...
    @property
    def data_length(self) -> int: ...
    op: RNNOperation
    input_mode: RNNInputMode
    direction: RNNDirection
    seq_lengths: ITensor | None
    hidden_state: ITensor | None
    cell_state: ITensor | None
    def set_weights_for_gate(self, layer_index: int, gate: RNNGateType, is_w: bool, weights: Any) -> None: ...
    def get_weights_for_gate(self, layer_index: int, gate: RNNGateType, is_w: bool) -> Any: ...
    def set_bias_for_gate(self, layer_index: int, gate: RNNGateType, is_w: bool, bias: Any) -> None: ...
    def get_bias_for_gate(self, layer_index: int, gate: RNNGateType, is_w: bool) -> Any: ...

class AttentionIOForm(_Enumeration):
    PADDED_BHND = 0
    PACKED_NHD = 1

class CausalMaskKind(_Enumeration):
    NONE = 0
    UPPER_LEFT = 1
    LOWER_RIGHT = 2

_version: str
_api_version: str
_ordered: str
"""


def extension(package: pathlib.Path) -> types.ModuleType:
    """The extension alone, without the package around it."""
    path = next(package.glob("_native*.so"))
    loader = importlib.machinery.ExtensionFileLoader("_native", str(path))
    spec = importlib.util.spec_from_loader("_native", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def spelled(text: str | None, is_result: bool) -> str:
    if text is None:
        return "Any"
    if is_result and text in ("Dims", "DimsHW", "Weights"):
        return {"Weights": "Any"}.get(text, text)
    return re.sub(
        r"numpy\.ndarray|\w+", lambda m: TYPES.get(m.group(), m.group()), text.replace("ILogger.Severity", "Severity__")
    )


class Stub:
    def __init__(self, module: types.ModuleType, table: dict) -> None:
        self.module, self.table, self.lines = module, table, []

    def typed(self, text: str | None, is_result: bool = False) -> str:
        """The type; Any for one that the module does not have yet."""
        found = spelled(text, is_result)
        known = {
            "list",
            "tuple",
            "dict",
            "int",
            "str",
            "bool",
            "float",
            "bytes",
            "None",
            "Any",
            "Buffer",
            "Shape",
            "Pair",
        }
        known |= {"Handle", "Callable", "Iterator", "Iterable", "NDArray", "slice", "memoryview", "Severity__"}
        words = set(re.findall(r"\w+", found))
        if any(not hasattr(self.module, word) for word in words - known):
            return "Any"
        found = {"list": "list[Any]", "tuple": "tuple[Any, ...]"}.get(found, found)
        return found.replace("Severity__", "ILogger.Severity")

    def document(self, text: str | None, indent: str) -> None:
        body = re.sub(r"^(\d+\. )?\w+\(.*\).*$", "", text or "", flags=re.M).replace("Overloaded function.", "").strip()
        if body:
            body = body.replace("\\", "\\\\").replace('"""', "'''")
            wrapped = [piece for line in body.splitlines() for piece in textwrap.wrap(line, 110) or [""]]
            self.lines += [f'{indent}"""{wrapped[0]}', *[f"{indent}{line}".rstrip() for line in wrapped[1:]]]
            self.lines[-1] += '"""'

    def method(self, cls: str, name: str, overloads: list[dict], documentation: str | None) -> None:
        for number, one in enumerate(overloads):
            if len(overloads) > 1:
                self.lines.append("    @overload")
            declared, has_default = ["self"], False
            for i, argument in enumerate(one["args"]):
                if argument["name"] == "self":
                    continue
                label = argument["name"] + ("_" if keyword.iskeyword(argument["name"]) else "")
                kind = ARGUMENTS.get((cls, name, argument["name"]), self.typed(argument.get("type")))
                has_default = has_default or "default" in argument
                optional = argument.get("default") in ("None", None) and has_default and "None" not in kind
                kind += " | None" if optional and kind != "Any" else ""
                declared.append(f"{label or f'arg{i}'}: {kind}" + (" = ..." if has_default else ""))
            result = "None" if name == "__init__" else self.typed(one.get("returns"), True)
            self.lines.append(f"    def {name}({', '.join(declared)}) -> {result}:")
            before = len(self.lines)
            if number == 0:
                self.document(documentation, "        ")
            self.lines.append("        ...") if len(self.lines) > before else self.suffix(" ...")

    def suffix(self, text: str) -> None:
        self.lines[-1] += text

    def enumeration(self, cls: dict, live: type, indent: str = "") -> None:
        base = "_Ordered" if cls["name"] in self.module._ordered.split() else "_Enumeration"
        self.lines.append(f"{indent}class {cls['name']}({base}):")
        self.document(self.module._doc_of(cls["name"]), indent + "    ")
        for name, member in live.__members__.items():  # Those of older versions included.
            self.lines.append(f"{indent}    {name} = {member.value}")
            self.document(self.module._doc_of(f"{cls['name']}.{name}"), indent + "    ")
        if cls["name"] == "DataType":
            self.lines += [f"{indent}    @property", f"{indent}    def itemsize(self) -> float: ..."]
        self.lines.append("")

    def klass(self, cls: dict, live: type) -> None:
        bases = [base for base in cls["bases"] if hasattr(self.module, base)]
        self.lines.append(f"class {cls['name']}" + (f"({', '.join(bases)})" if bases else "") + ":")
        before = len(self.lines)
        self.document(live.__doc__, "    ")
        if cls["name"] == "ILogger":
            severity = next(c for c in self.table["classes"] if c["qualname"] == "ILogger.Severity")
            self.enumeration(severity, live.Severity, "    ")
            for member in severity["enum_members"]:
                self.lines.append(f"    {member['name']}: ClassVar[ILogger.Severity]")
        special = SPECIAL.get(cls["name"], [])
        own = {word for line in special for match in re.findall(r"def (\w+)|^(\w+):", line) for word in match}
        if cls["constructors"] and "__init__" not in own:
            self.method(cls["name"], "__init__", cls["constructors"], None)
        for attribute in cls["attributes"]:
            if inspect.getattr_static(live, attribute["name"], None) is None or attribute["name"] in own:
                continue
            self.attribute(attribute, live)
        for method in cls["methods"]:
            name = method["name"]
            if hasattr(live, name) and name not in own and name not in ("__del__", "__enter__", "__exit__", "__eq__"):
                self.method(cls["name"], name, method["overloads"], getattr(live, name).__doc__)
        if any(method["name"] == "__enter__" for method in cls["methods"]):
            self.lines += [
                "    def __enter__(self) -> Self: ...",
                "    def __exit__(self, *exception: object) -> None: ...",
            ]
        for line in special:
            self.lines += textwrap.indent(line, "    ").splitlines()
        if len(self.lines) == before:
            self.suffix(" ...")
        self.lines.append("")

    def attribute(self, attribute: dict, live: type) -> None:
        name, kind = attribute["name"], self.typed(attribute.get("type"), True)
        if attribute.get("static"):
            self.lines.append(f"    {name}: ClassVar[{kind}]")
            return
        if "r" not in attribute["access"]:
            kind_in = self.typed(attribute.get("type"))
            self.lines += [
                f"    def _set_{name}(self, value: {kind_in}) -> None: ...",
                f"    {name} = property(None, _set_{name})",
            ]
            return
        # Two layers have a `type` that means another thing than that of every layer.
        ignore = "  # type: ignore[override]" if name == "type" and self.hides(live) else ""
        self.lines += [f"    @property{ignore}", f"    def {name}(self) -> {kind}:"]
        self.document(inspect.getdoc(inspect.getattr_static(live, name)), "        ")
        self.lines.append("        ...")
        if "w" in attribute["access"]:
            kind_in = self.typed(attribute.get("type")) + (" | None" if name in MAY_BE_NONE else "")
            self.lines += [f"    @{name}.setter", f"    def {name}(self, value: {kind_in}) -> None: ..."]

    def hides(self, live: type) -> bool:
        layer = self.module.ILayer
        return live is not layer and issubclass(live, layer)

    def text(self) -> str:
        for cls in sorted(self.table["classes"], key=lambda c: bool(c["bases"])):
            live = getattr(self.module, cls["name"], None)
            if live is None or cls["qualname"] != cls["name"]:
                continue
            (self.enumeration if cls["kind"] == "enum" else self.klass)(cls, live)
        for function in self.table["functions"]:
            if hasattr(self.module, function["name"]):
                one = function["overloads"][0]
                arguments = ", ".join(
                    f"{a['name']}: {ARGUMENTS.get(('', function['name'], a['name']), self.typed(a.get('type')))}"
                    for a in one["args"]
                )
                result = RESULTS.get(function["name"], self.typed(one.get("returns"), True))
                self.lines.append(f"def {function['name']}({arguments}) -> {result}:")
                self.document(getattr(self.module, function["name"]).__doc__, "    ")
                self.lines.append("    ...")
        return HEAD + "\n".join(self.lines) + OWN


def with_older(table: dict, older: dict, module: types.ModuleType) -> dict:
    """The table with the members that only an older version has, and with attributes that are set as there."""
    former = {cls["name"]: cls for cls in older["classes"]}
    for cls in table["classes"]:
        live = getattr(module, cls["name"], None)
        for kind in ("attributes", "methods"):
            known = {member["name"]: member for member in cls.get(kind, [])}
            for member in former.get(cls["name"], {}).get(kind, []):
                if member["name"] not in known:
                    cls[kind].append(member)
                elif getattr(inspect.getattr_static(live, member["name"], None), "fset", None) and kind == "attributes":
                    known[member["name"]]["access"] = member["access"]
    return table


def main() -> None:
    tables, package = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    table, older = (
        json.loads((tables / f"python-{version}.json").read_text())["modules"][0] for version in ("10.16", "8.6.1")
    )
    module = extension(package)
    text = Stub(module, with_older(table, older, module)).text()
    out = package / "_native.pyi"
    if not out.exists() or out.read_text() != text:
        out.write_text(text)


if __name__ == "__main__":
    main()
