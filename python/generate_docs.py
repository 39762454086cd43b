"""Write docs.cpp: docstrings of the Python module, derived from the documentation comments of the public headers.

generate_docs.py PROJECT_DIR OUT_FILE
"""

import json
import pathlib
import re
import sys

from binding_names import NAMES, OTHER_MEMBERS
from generate_bindings import Cpp, camel, pascal
from own_docs import OWN

HEADERS = [
    "NvInferRuntimeBase.h",
    "NvInferPluginBase.h",
    "NvInferRuntimePlugin.h",
    "NvInferRuntimeCommon.h",
    "NvInferRuntime.h",
    "NvInfer.h",
    "NvInferLegacyDims.h",
    "NvOnnxParser.h",
    "impl/NvInferPythonPlugin.h",
]

#: Classes whose Python name is another one.
CLASSES = {
    "IBuilder": "Builder",
    "IRuntime": "Runtime",
    "IRefitter": "Refitter",
    "IEngineInspector": "EngineInspector",
    "IParser": "OnnxParser",
    "IParserError": "ParserError",
    "IParserRefitter": "OnnxParserRefitter",
    "Dims64": "Dims",
}


#: Calls that Python has under another one's name.
OTHER_CALLS = {
    "setDeviceMemoryV2": "set_device_memory()",
    "setShapeValuesV2": "set_shape_input()",
    "setDimensions": "set_shape()",
    "createNetworkV2": "create_network()",
    "createInferBuilder": "Builder()",
    "createInferRuntime": "Runtime()",
    "createParser": "OnnxParser()",
}


def comments(text: str) -> dict[tuple[str, str], list[str]]:
    """(class or enumeration, member) -> its documentations, one for each overload; member "" is the class itself."""
    found: dict[tuple[str, str], list[str]] = {}
    current, doc, outer = "", [], ""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("//!"):
            doc.append(stripped[3:].strip())
            continue
        code = re.sub(r"\b(TRT_DEPRECATED\w*|__attribute__\(\(\w+\)\))\s*", "", stripped)
        key = None
        if (m := re.match(r"(?:class|struct|enum class|enum)\s+(\w+)(?!.*;)", code)) and doc:
            outer = outer if line[:1].isspace() else m.group(1)
            current, key = m.group(1), (m.group(1), "")
        elif m := re.match(r"(k[A-Z]\w*)\s*(=|,|$)", code):
            key = (current, m.group(1)[1:])
        elif m := re.search(r"(~?\w+)\s*\(", code):
            key = (current if not line[:4].strip() else outer or current, m.group(1))
        if doc and key:
            found.setdefault(key, []).append(" ".join(doc))
        if stripped == "};":
            current = outer
        if stripped:
            doc = []
    return found


class Names:
    """How Python calls what the headers name."""

    def __init__(self, module: dict, cpp: Cpp) -> None:
        self.classes = {c["name"]: c for c in module["classes"]}
        self.cpp = cpp
        self.calls: dict[str, str] = {}
        for cls in self.classes.values():
            for member in cls["methods"]:
                if not member["name"].startswith("__"):
                    self.calls[NAMES.get((cls["name"], member["name"]), camel(member["name"]))] = member["name"] + "()"
        for cls in self.classes.values():
            for member in cls["attributes"]:
                stem = self.stem(cls["name"], member["name"])
                for prefix in ("get", "set", "is"):
                    self.calls.setdefault(prefix + stem, member["name"])

    @staticmethod
    def stem(cls: str, attribute: str) -> str:
        return NAMES.get((cls, attribute), NAMES.get(("*", attribute), pascal(attribute)))

    def call(self, match: re.Match) -> str:
        name = match.group(1)
        if name == "delete":
            return "del"
        return OTHER_CALLS.get(name) or self.calls.get(name, snake(name) + "()")

    def text(self, text: str) -> str:
        """C++ names and words as Python's readers know them."""
        text = re.sub(r"[,;]? ?(?:to be|and|is)? ?destroyed with delete(?:, (?:but not|also)[^;.:]*)?", "", text)
        text = re.sub(r" It goes with delete[^.]*\.", "", text)
        text = re.sub(r"\b(?:nvinfer1|nvonnxparser)::", "", text)
        for cpp, python in CLASSES.items():
            text = re.sub(rf"\b{cpp}\b", python, text)
        text = re.sub(r"\b(\w+)::k([A-Z])", r"\1.\2", text)
        text = re.sub(r"\bk([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)*)\b", r"\1", text)
        text = re.sub(r"\b([a-z]\w*)\(\)", self.call, text).replace("::", ".")
        text = re.sub(r"\bnull(ptr)?\b", "None", text)
        return re.sub(r"\b(true|false)\b", lambda m: m.group().capitalize(), text)


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def sentence(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", ":")) else ".") if text else ""


def split(text: str) -> tuple[str, list[tuple[str, str]], str]:
    """Body, parameters, result."""
    text = re.sub(r"\\(see|note|brief|p|c)\s+", "", text)
    body, *marks = re.split(r"\\(?=param|returns?\b)", text)
    params, result = [], ""
    for mark in marks:
        if m := re.match(r"param(?:\[\w+\])?\s+(\w+)\s+(.*)", mark, re.S):
            params.append((m.group(1), m.group(2).strip()))
        else:
            result = re.sub(r"^returns?\s+", "", mark).strip()
    return body.strip(), params, result


class Docs:
    def __init__(self, found: dict[tuple[str, str], list[str]], names: Names) -> None:
        self.found, self.names = found, names

    def lookup(self, cls: str, member: str) -> list[str]:
        """Documentation of a member, or of that of a base class."""
        seen = cls
        while seen:
            if (seen, member) in self.found:
                return self.found[seen, member]
            bases = self.names.cpp.classes.get(seen, {}).get("bases", [])
            seen = bases[0]["name"].split("::")[-1] if bases else ""
        return []

    def attribute(self, cls: str, cpp: str, name: str) -> str:
        """What the getter returns, said as a sentence; the setter's words where those of the getter point at them."""
        stem = self.names.stem(cls, name)
        getters = [self.lookup(cpp, c) for c in ("get" + stem, "is" + stem, stem[:1].lower() + stem[1:])]
        getter = next((docs[0] for docs in getters if docs), "")
        setter = next(iter(self.lookup(cpp, "set" + stem)), "")
        body, _, result = split(getter)
        told = result if not body or body.startswith("Returns") else body
        told = re.sub(r"^Returns\s+", "", told or body)
        if setter and (not told or re.match(r"(that|those|whether th|the \w+(, or null)?\.?$)", told)):
            body, params, _ = split(setter)
            told = re.sub(r"^(?:Sets|Names)\s+(?=(?:how|which|where|who|what|whether|the|an?|at)\b)", "", body)
            told += "".join(f" {sentence(text)}" for _, text in params if "null" in text)
        return self.names.text(sentence(told))

    def method(self, cls: str, cpp: str, member: dict) -> str:
        name = member["name"]
        target = NAMES.get((cls, name), camel(name))
        docs = self.lookup(cpp, target) or self.lookup(cpp, "get" + pascal(name))
        counts = {len(one["args"]) - 1: one["args"][1:] for one in member["overloads"]}
        best = max(docs, key=len, default="")
        body, params, result = split(best)
        renamed = {}
        for m in self.names.cpp.methods(cpp, target):
            for count, args in counts.items():
                if len(m["params"]) == count:
                    pairs = zip(m["params"], args, strict=True)
                    renamed |= {p["name"]: a["name"] for p, a in pairs if not a["name"].startswith("arg")}
        asked = {a["name"] for args in counts.values() for a in args}
        lines = [sentence(body or ("Returns " + result if result else ""))]
        for cpp_name, text in params:
            python = renamed.get(cpp_name, snake(cpp_name))
            if python in asked:
                lines.append(f":param {python}: {text}")
        if result and body:
            lines.append(f":returns: {result}")
        text = self.names.text("\n".join(lines))
        for cpp_name, python in renamed.items():
            if cpp_name != snake(cpp_name):
                text = re.sub(rf"\b{cpp_name}\b", python, text)
        return re.sub(r"\bnb(?!Dims)([A-Z]\w*)\b", lambda m: "num_" + snake(m.group(1)), text)


def rows(root: pathlib.Path) -> dict[str, str]:
    module = json.loads((root / "tools/api/python-10.16.json").read_text())["modules"][0]
    names = Names(module, Cpp(json.loads((root / "tools/api/cpp-10.16.json").read_text())))
    found: dict[tuple[str, str], list[str]] = {}
    for header in HEADERS:
        for key, texts in comments((root / "include" / header).read_text()).items():
            found.setdefault(key, texts)
    docs, made = Docs(found, names), {}
    for cls in module["classes"]:
        cpp = cls.get("cpp_type", cls["name"]).split("::")[-1]
        cpp = {"ErrorCodeTRT": "ErrorCode", "Dims": "Dims64"}.get(cls["name"], cpp)
        made[cls["name"]] = names.text(sentence(split(next(iter(docs.lookup(cpp, "")), ""))[0]))
        for member in [member["name"] for member in cls.get("enum_members", [])] + OTHER_MEMBERS.get(cls["name"], []):
            text = next(iter(found.get((cpp, member), [])), "")
            made[f"{cls['name']}.{member}"] = names.text(text)  # Formulas stay as they are.
        for member in cls["attributes"]:
            made.setdefault(f"{cls['name']}.{member['name']}", docs.attribute(cls["name"], cpp, member["name"]))
        for member in cls["methods"]:
            made[f"{cls['name']}.{member['name']}"] = docs.method(cls["name"], cpp, member)
    return {name: text for name, text in (made | OWN).items() if text}


HEAD = """// Written by generate_docs.py from the headers.
#include "bindings.h"

#include <string_view>

namespace tenon::python
{

namespace
{
struct Row
{
    std::string_view name;
    char const* text;
};
constexpr Row kRows[]{
"""
FOOT = """};
} // namespace

char const* docOf(char const* name) noexcept
{
    for (Row const& row : kRows)
        if (row.name == name)
            return row.text;
    return "";
}

} // namespace tenon::python
"""


def main() -> None:
    root, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    lines = [
        f"    {{{json.dumps(name)}, {json.dumps(text, ensure_ascii=False)}}},\n"
        for name, text in sorted(rows(root).items())
    ]
    text = HEAD + "".join(lines) + FOOT
    if not out.exists() or out.read_text() != text:
        out.write_text(text)


if __name__ == "__main__":
    main()
