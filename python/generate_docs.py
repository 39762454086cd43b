"""Write docs.cpp: docstrings of the Python module, derived from the documentation comments of the public headers.

generate_docs.py PROJECT_DIR OUT_FILE
"""

import json
import pathlib
import re
import sys

from binding_names import NAMES
from generate_bindings import camel, pascal

HEADERS = [
    "NvInferRuntimeBase.h",
    "NvInferRuntimePlugin.h",
    "NvInferRuntime.h",
    "NvInfer.h",
    "NvInferLegacyDims.h",
    "NvOnnxParser.h",
]


def comments(text: str) -> dict[tuple[str, str], str]:
    """(class, member) -> documentation; member "" is the class itself."""
    found: dict[tuple[str, str], str] = {}
    current, doc = "", []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("//!"):
            doc.append(stripped[3:].strip())
            continue
        if (m := re.match(r"(?:class|struct)\s+(?:TRT_DEPRECATED\s+)?(\w+)(?!.*;)", stripped)) and not line[
            :1
        ].isspace():
            current = m.group(1)
            if doc:
                found.setdefault((current, ""), " ".join(doc))
        elif doc and (m := re.search(r"(\w+)\s*\(", stripped.replace("TRT_DEPRECATED", ""))):
            found.setdefault((current, m.group(1)), " ".join(doc))
        if stripped:
            doc = []
    return found


def readable(text: str) -> str:
    """Doxygen's marks as Python readers know them; names of parameters as Python spells them."""

    def parameter(match: re.Match) -> str:
        return f"\n:param {re.sub(r'(?<=[a-z0-9])([A-Z])', lambda m: '_' + m.group(1).lower(), match.group(1))}: "

    text = re.sub(r"\s*\\param(?:\[\w+\])?\s+(\w+)\s+", parameter, text)
    text = re.sub(r"\s*\\returns?\s+", "\n:returns: ", text)
    return re.sub(r"\\(see|note|brief|p|c)\s+", "", text).strip()


def main() -> None:
    root, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    docs: dict[tuple[str, str], str] = {}
    for header in HEADERS:
        for key, text in comments((root / "include" / header).read_text()).items():
            docs.setdefault(key, text)
    module = json.loads((root / "tools/api/python-10.16.json").read_text())["modules"][0]
    rows = {}
    for cls in module["classes"]:
        cpp = cls.get("cpp_type", cls["name"]).split("::")[-1]
        if text := docs.get((cpp, "")):
            rows[cls["name"]] = text
        for member in cls["methods"] + cls["attributes"]:
            name = member["name"]
            stem = NAMES.get((cls["name"], name), NAMES.get(("*", name), name))
            for candidate in (stem, camel(name), "get" + pascal(stem), "is" + pascal(stem), "get" + stem):
                if text := docs.get((cpp, candidate)):
                    rows[f"{cls['name']}.{name}"] = text
                    break
    lines = [
        "// Written by generate_docs.py from the headers.",
        '#include "bindings.h"',
        "",
        "#include <string_view>",
        "",
        "namespace tenon::python",
        "{",
        "",
        "namespace",
        "{",
        "struct Row",
        "{",
        "    std::string_view name;",
        "    char const* text;",
        "};",
        "constexpr Row kRows[]{",
    ]
    for name in sorted(rows):
        lines.append(f"    {{{json.dumps(name)}, {json.dumps(readable(rows[name]), ensure_ascii=False)}}},")
    lines += [
        "};",
        "} // namespace",
        "",
        "char const* docOf(char const* name) noexcept",
        "{",
        "    for (Row const& row : kRows)",
        "        if (row.name == name)",
        "            return row.text;",
        '    return "";',
        "}",
        "",
        "} // namespace tenon::python",
        "",
    ]
    text = "\n".join(lines)
    if not out.exists() or out.read_text() != text:
        out.write_text(text)


if __name__ == "__main__":
    main()
