"""Write the regular part of the Python bindings from the API tables.

    generate_bindings.py TABLES_DIR OUT_DIR

An attribute or method of the Python table whose name maps onto a C++ method (snake_case to camelCase, `num_x` to
`NbX`) is bound by a generated lambda; enums wholly. What does not map stands in python/src, by hand, and is named in
HAND. A name that is in neither place stops the build, so that nothing of the table is forgotten.
"""

import json
import pathlib
import sys

from binding_names import (
    ENUM_VALUES,
    HAND,
    HAND_CLASSES,
    MASKS,
    NAMES,
    OTHER_MEMBERS,
    OWN_MEMBERS,
    OWNED,
    RELEASES_GIL,
    RENUMBERED,
)

GUARD = ", py::call_guard<WithoutGil>()"

#: Python classes of each generated file. Compiled in parallel, each within a modest amount of memory.
FILES = {
    "layers": None,  # Every class that derives from ILayer, and ILayer.
    "network": ["ITensor", "INetworkDefinition", "ILoop", "IIfConditional", "IAttention"],
    "build": ["Builder", "IBuilderConfig", "IOptimizationProfile", "OnnxParser", "ParserError", "OnnxParserRefitter"],
    "run": [
        "Runtime",
        "ICudaEngine",
        "IExecutionContext",
        "EngineInspector",
        "IRuntimeConfig",
        "ISerializationConfig",
        "ITimingCache",
        "Refitter",
    ],
}

#: Classes of the parser's namespace.
PARSER_CLASSES = ("OnnxParser", "ParserError", "OnnxParserRefitter")


#: Classes whose objects hold on to Python objects in attributes of their own.
KEEPS_ARRAYS = {"IExecutionContext"}


#: Attributes and setters whose object the owner keeps until another takes its place; all others keep what they get.
REPLACES = {
    ("Builder", "gpu_allocator"),
    ("Runtime", "gpu_allocator"),
    ("IExecutionContext", "profiler"),
    ("IExecutionContext", "set_debug_listener"),
    ("IExecutionContext", "temporary_allocator"),
    ("EngineInspector", "execution_context"),
}

#: Attributes whose objects count who holds them, and live as long.
COUNTED = {"error_recorder"}


def keeps(python: str, name: str) -> str:
    return f'KeepInstead<"{name}">()' if (python, name) in REPLACES else "KeepAlive<1, 2>()"


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part if part.isupper() else part[:1].upper() + part[1:] for part in rest)


def pascal(name: str) -> str:
    if name.startswith("num_"):
        return "Nb" + pascal(name[4:])
    text = camel(name)
    return text[:1].upper() + text[1:]


class Cpp:
    """Methods of the C++ classes, bases included."""

    def __init__(self, table: dict) -> None:
        self.classes = {c["plain_name"].split("::")[-1]: c for c in table["classes"]}

    def methods(self, cls: str, name: str) -> list[dict]:
        found, seen = [], cls
        while seen in self.classes:
            found += [m for m in self.classes[seen]["methods"] if m["name"] == name]
            if found or not self.classes[seen]["bases"]:
                break
            seen = self.classes[seen]["bases"][0]["name"].split("::")[-1]
        return found


def parameter(param: dict, position: int) -> tuple[str, str]:
    """C++ parameter of the lambda and the expression that passes it on."""
    kind, name = param["type"].strip(), f"a{position}"
    if kind in ("Weights", "nvinfer1::Weights"):
        return f"py::object const& {name}", f"toWeights(self, {name})"
    plain = kind.removesuffix(" const")
    if plain in ("cudaStream_t", "cudaEvent_t", "void*", "void const*"):
        target = plain if plain.startswith("cuda") else "void*"
        return f"Handle {name}", f"{name}.as<{target}>()"
    return f"{kind} {name}", name


def default_of(arg: dict) -> str | None:
    if "default" not in arg:
        return None
    text = str(arg["default"])
    if text in ("None", "null"):
        return "py::none()"
    if text in ("True", "False"):
        return text.lower()
    if text.lstrip("-").isdigit():
        return text
    enum, _, member = text.rpartition(".")
    if enum:
        return f"nvinfer1::{enum.split('.')[-1]}::k{member}"
    raise ValueError(f"a default that nothing here can write: {text}")


def result_policy(python: str, name: str) -> str:
    if name in OWNED:
        return "py::return_value_policy::take_ownership"
    return "py::return_value_policy::reference_internal"


class Writer:
    def __init__(self, cpp: Cpp) -> None:
        self.cpp = cpp
        self.unmapped: list[str] = []

    def attribute(self, python: str, cpp: str, attribute: dict) -> list[str]:
        name = attribute["name"]
        stem = NAMES.get((python, name), NAMES.get(("*", name), pascal(name)))
        getters = [
            m
            for prefix in ("get", "is", "")
            for m in self.cpp.methods(cpp, prefix + stem if prefix else stem[:1].lower() + stem[1:])
            if not m["params"]
        ]
        setters = [m for m in self.cpp.methods(cpp, "set" + stem) if len(m["params"]) == 1]
        access = attribute["access"]
        guard = GUARD if (python, name) in RELEASES_GIL else ""
        doc = f'docOf("{python}.{name}")'
        if ("r" in access and not getters) or ("w" in access and not setters):
            self.unmapped.append(f"{python}.{name}")
            return []
        getter = setter = "py::none()"
        if getters:
            m = getters[0]
            body = f"present(self).{m['name']}()"
            if "Weights" in m["return"]:
                body = f"fromWeights(self, {body})"
            elif "void" in m["return"] or "cuda" in m["return"]:
                body = f"reinterpret_cast<size_t>({body})"
            elif m["return"] in MASKS:
                body = f"shownMask(renumbered<{MASKS[m['return']]}>(), {body})"
            getter = (
                f"accessor([](T& self) -> decltype(auto) {{ return {body}; }}, "
                f"py::return_value_policy::reference_internal{guard})"
            )
        if "w" not in access:
            return [f'    property(c, "{name}", {getter}, {setter}, {doc});']
        declared, passed = parameter(setters[0]["params"][0], 0)
        if setters[0]["params"][0]["type"] in MASKS:
            passed = f"meantMask(renumbered<{MASKS[setters[0]['params'][0]['type']]}>(), {passed})"
        pointer = setters[0]["params"][0]["type"].endswith("*") and "char" not in setters[0]["params"][0]["type"]
        keep = f", {keeps(python, name)}" if pointer and name not in COUNTED else ""
        setter = (
            f'accessor([](T& self, {declared}) {{ checked("{python}.{name}", '
            f"[&] {{ return present(self).{setters[0]['name']}({passed}); }}); }}{keep}{guard})"
        )
        if "r" not in access:
            getter = "py::none()"
        return [f'    property(c, "{name}", {getter}, {setter}, {doc});']

    def method(self, python: str, cpp: str, method: dict) -> list[str]:
        name, lines = method["name"], []
        target = NAMES.get((python, name), camel(name))
        for overload in method["overloads"]:
            args = overload["args"][1:]
            found = [m for m in self.cpp.methods(cpp, target) if len(m["params"]) == len(args)]
            if not found:
                self.unmapped.append(f"{python}.{name}({', '.join(a['name'] for a in args)})")
                continue
            m = found[0]
            params = [parameter(p, i) for i, p in enumerate(m["params"])]
            declared = "".join(f", {d}" for d, _ in params)
            call = f"present(self).{target}({', '.join(p for _, p in params)})"
            if m["return"] in ("void*", "void const*", "cudaEvent_t", "cudaStream_t"):
                call = f"reinterpret_cast<size_t>({call})"
            extra = "".join(
                f', py::arg("{a["name"]}")' + (f" = {default_of(a)}" if default_of(a) else "") for a in args
            )
            if method.get("releases_gil") or (python, name) in RELEASES_GIL:
                extra += GUARD
            for nurse, patient in method.get("keep_alive", []):
                if nurse == 0 and not m["return"].endswith(("*", "&")):
                    continue  # A value, which needs nobody and cannot be watched.
                if (nurse, patient) == (1, 2) and (python, name) in REPLACES:
                    extra += f", {keeps(python, name)}"
                elif not any("Weights" in p["type"] for p in m["params"]):
                    extra += f", KeepAlive<{nurse}, {patient}>()"
            lines.append(
                f'    method(c, "{name}", [](T& self{declared}) -> decltype(auto) {{ return {call}; }}{extra}, '
                f'{result_policy(python, name)}, docOf("{python}.{name}"));'
            )
        return lines

    def body(self, cls: dict) -> list[str]:
        python, cpp = cls["name"], cls["cpp_type"]
        hand = HAND.get(python, set())
        lines = []
        for attribute in cls["attributes"]:
            if attribute["name"] not in hand:
                lines += self.attribute(python, cpp, attribute)
        for method in cls["methods"]:
            if method["name"] not in hand and not method["name"].startswith("__"):
                lines += self.method(python, cpp, method)
        return lines


def values_of(cls: dict, cpp: str) -> dict[str, str]:
    """C++ expressions of the members, by name."""
    values = {member["name"]: f"static_cast<{cpp}>({member['value']})" for member in cls["enum_members"]}
    # Last: where two names have one value the first is the member.
    values |= {name: f"{cpp}::k{name}" for name in OTHER_MEMBERS.get(cls["name"], [])}
    return values | {name: f"static_cast<{cpp}>({n})" for name, n in OWN_MEMBERS.get(cls["name"], {}).items()}


def enums(classes: list[dict]) -> list[str]:
    lines = []
    for cls in classes:
        if cls["kind"] != "enum" or cls["name"] in HAND_CLASSES:
            continue
        space = "nvonnxparser" if cls["name"] == "OnnxParserFlag" else "nvinfer1"
        cpp = ENUM_VALUES.get(cls["name"], {}).get("", f"{space}::{cls['cpp_type']}")
        lines.append(f'    py::native_enum<{cpp}>(m, "{cls["name"]}", "enum.Enum")')
        for name, value in values_of(cls, cpp).items():
            lines.append(f'        .value("{name}", {f"shownMember({value})" if cls["name"] in RENUMBERED else value})')
        lines.append("        .finalize();")
    return lines


def numbers_before(tables: pathlib.Path) -> dict[str, dict[str, int]]:
    """What 8.x and 9.x number otherwise than 10.x; they agree with each other."""
    found: dict[str, dict[str, int]] = {name: {} for name in RENUMBERED}
    for version in ("8.6.1", "9.3.0"):
        for cls in json.loads((tables / f"python-{version}.json").read_text())["modules"][0]["classes"]:
            if cls["name"] in found:
                found[cls["name"]] |= {member["name"]: member["value"] for member in cls["enum_members"]}
    return found


def renumbered(classes: dict[str, dict], before: dict[str, dict[str, int]]) -> list[str]:
    """For each of these enumerations its members' numbers in both generations; newer members follow the older ones."""
    lines = []
    for enum in RENUMBERED:
        cpp, old = f"nvinfer1::{enum}", before[enum]
        pairs = {value: old[name] for name, value in values_of(classes[enum], cpp).items() if name in old}
        free = max(old.values()) + 1
        for value in values_of(classes[enum], cpp).values():
            if value not in pairs:
                pairs[value], free = free, free + 1
        rows = [f"        {{static_cast<int32_t>({value}), {number}}}," for value, number in pairs.items()]
        lines += ["template <>", f"std::span<Renumbered const> renumbered<{cpp}>() noexcept", "{"]
        lines += ["    static constexpr Renumbered kMembers[]{", *rows, "    };", "    return kMembers;", "}", ""]
    return lines


def names(module: dict) -> list[str]:
    """The enumerations whose members can be compared by size."""
    ordered = sorted(
        c["name"] for c in module["classes"] if "__lt__" in c.get("special_methods", []) and c["kind"] == "enum"
    )
    return text("_ordered", ordered)


def text(attribute: str, words: list[str]) -> list[str]:
    lines = [f'        "{" ".join(words[i : i + 5])} "' for i in range(0, len(words), 5)]
    return [f'    m.attr("{attribute}") = py::str(', *lines[:-1], lines[-1] + ");"]


HEAD = """// Written by generate_bindings.py from the API tables. {what}
#include "members.h"

namespace tenon::python
{{

"""
FOOT = """
} // namespace tenon::python
"""


def main() -> None:
    tables, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    python = json.loads((tables / "python-10.16.json").read_text())["modules"][0]
    cpp = Cpp(json.loads((tables / "cpp-10.16.json").read_text()))
    classes = {c["name"]: c for c in python["classes"]}
    writer = Writer(cpp)
    out.mkdir(parents=True, exist_ok=True)

    def emit(name: str, what: str, lines: list[str]) -> None:
        text = HEAD.format(what=what) + "\n".join(lines) + FOOT
        path = out / f"generated_{name}.cpp"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)

    emit(
        "enums",
        "Enumerations.",
        renumbered(classes, numbers_before(tables))
        + ["void bindEnums(py::module_& m)", "{"]
        + enums(python["classes"])
        + names(python)
        + ["}"],
    )
    for name, members in FILES.items():
        if members is None:
            members = ["ILayer"] + sorted(
                c["name"]
                for c in python["classes"]
                if c["kind"] != "enum"
                and c["bases"]
                and c["name"] not in HAND_CLASSES
                and c["name"].endswith("Layer")
                and c["name"] != "ILayer"
            )
            members.sort(key=lambda n: (n != "ILayer", "Boundary" not in n, n))
        lines = []
        for member in members:
            cls = classes[member]
            space = "nvonnxparser" if member in PARSER_CLASSES else "nvinfer1"
            kind = f"{space}::{cls['cpp_type']}"
            lines += [
                f"static void bind{member}([[maybe_unused]] py::class_<{kind}{holder(cls, kind)}>& c)",
                "{",
                f"    using T [[maybe_unused]] = {kind};",
                *writer.body(cls),
                "}",
                "",
            ]
        lines += [f"void declare{pascal(name)}(py::module_& m)", "{"]
        for member in members:
            cls = classes[member]
            space = "nvonnxparser" if member in PARSER_CLASSES else "nvinfer1"
            kind = f"{space}::{cls['cpp_type']}"
            extra = "py::dynamic_attr(), " if member in KEEPS_ARRAYS else ""
            lines.append(f'    py::class_<{kind}{holder(cls, kind)}>(m, "{member}", {extra}docOf("{member}"));')
        lines += ["}", "", f"void bind{pascal(name)}(py::module_& m)", "{"]
        for member in members:
            cls = classes[member]
            space = "nvonnxparser" if member in PARSER_CLASSES else "nvinfer1"
            kind = f"{space}::{cls['cpp_type']}"
            lines += [
                "    {",
                f'        auto c = m.attr("{member}").cast<py::class_<{kind}{holder(cls, kind)}>>();',
                f"        bind{member}(c);",
                "    }",
            ]
        lines.append("}")
        emit(name, "Classes: " + name + ".", lines)
    if writer.unmapped:
        sys.exit("no C++ method found for:\n  " + "\n  ".join(writer.unmapped))


def holder(cls: dict, kind: str) -> str:
    """Template arguments after the class: base and holder."""
    base = f", nvinfer1::{cls['bases'][0]}" if cls["bases"] else ""
    if cls["name"] in ("OnnxParser", "OnnxParserRefitter"):
        return base + f", std::shared_ptr<{kind}>"
    owned = cls["name"] in (
        "Builder",
        "IBuilderConfig",
        "INetworkDefinition",
        "OnnxParser",
        "Runtime",
        "ICudaEngine",
        "IExecutionContext",
        "EngineInspector",
        "IRuntimeConfig",
        "ISerializationConfig",
        "ITimingCache",
        "Refitter",
    )
    return base + (f", Owned<{kind}>" if owned else f", Borrowed<{kind}>")


if __name__ == "__main__":
    main()
