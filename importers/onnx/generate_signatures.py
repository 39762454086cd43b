"""Writes what the onnx package knows of each operator: since which opset, how many inputs, which attributes."""

import pathlib
import sys

from onnx import defs


def keeps_type(schema: defs.OpSchema) -> bool:
    return bool(schema.inputs and schema.outputs) and schema.inputs[0].type_str == schema.outputs[0].type_str


def main(target: pathlib.Path) -> None:
    rows = sorted(
        (schema.name, schema.since_version, schema.max_input, " ".join(sorted(schema.attributes)), keeps_type(schema))
        for schema in defs.get_all_schemas_with_history()
        if schema.domain == ""
    )
    text = "// Operators of ONNX, by name and first opset. Written by generate_signatures.py.\n#pragma once\n\n"
    text += "namespace tenon::onnx\n{\n\n"
    text += f"inline constexpr int64_t kNewestListedOpset{{{defs.onnx_opset_version()}}};\n\n"
    text += "inline constexpr Signature kSignatures[]{\n"
    text += "".join(
        f'    {{"{name}", {since}, {inputs}, "{names}", {str(keeps).lower()}}},\n'
        for name, since, inputs, names, keeps in rows
    )
    text += "};\n\n} // namespace tenon::onnx\n"
    target.write_text(text)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
