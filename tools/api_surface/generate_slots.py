"""Writes the slot numbers and pointer offsets that a test calls by, from the table of the binary layout alone."""

import argparse
import json
import os
import re


def name_of(slot):
    """The identifier of one slot: the call's name, or what a destructor's slot does."""
    if slot.startswith("~"):
        return "destroyInPlace" if slot == "~" else "destroyAndFree"
    return re.search(r"(\w+)\(", slot).group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", required=True, help="tools/api/abi-10.16.json")
    parser.add_argument("--out", required=True, help="the header to write")
    args = parser.parse_args()
    table = json.load(open(args.table, encoding="utf-8"))
    lines = [
        "// Written by tools/api_surface/generate_slots.py. Do not edit.",
        "#pragma once",
        "",
        "namespace slots",
        "{",
        "struct Slot",
        "{",
        "    char const* call; //!< Interface::call, the interface by its public name.",
        "    int number;",
        "};",
    ]
    calls = []
    for name, layout in table.items():
        if name == "symbols" or not re.fullmatch(r"nvinfer1::(apiv::V|I)\w+|nvonnxparser::I\w+", name):
            continue
        plain = name.rsplit("::", 1)[1]
        seen = {}
        for number, slot in enumerate(layout.get("slots", [])):
            call = name_of(slot)
            seen[call] = seen.get(call, 0) + 1
            suffix = "" if seen[call] == 1 else f"_{seen[call]}"
            lines.append(f"constexpr int k{plain}_{call}{suffix}{{{number}}};")
            if plain.startswith("V") and not slot.startswith("~"):
                calls.append(f'    {{"I{plain[1:]}::{call}", {number}}},')
        for field, _, offset in layout.get("fields", []):
            if field in ("mImpl", "mLayer"):
                lines.append(f"constexpr int k{plain}_{field}{{{offset}}};")
    lines += ["//! Every slot behind a public class.", "constexpr Slot kSlots[]{", *calls, "};"]
    lines += ["} // namespace slots", ""]
    os.makedirs(os.path.dirname(args.out), exist_ok=True)
    open(args.out, "w", encoding="utf-8").write("\n".join(lines))


if __name__ == "__main__":
    main()
