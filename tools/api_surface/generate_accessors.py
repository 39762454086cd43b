"""Writes the parts of src/api that follow from tables: the accessors of layer classes from the layers' field lists, and
a body that reports failure for every call that nobody has implemented yet."""

import argparse
import glob
import os
import re
from dataclasses import dataclass

from signatures import failure_of, read_interfaces

HEAD = """// Written by tools/api_surface/generate_accessors.py. Do not edit.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
"""
FOOT = "#pragma GCC diagnostic pop\n"


@dataclass
class Layer:
    """A layer struct as its header tells it."""

    header: str
    struct: str
    members: dict  # By the public property's name.
    inputs: dict  # Position of the tensor that can take a field's place (rule E7), by the same name.


def read_layers(folder):
    """Layer structs by kind, as the public classes name it."""
    layers = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.h"))):
        text = open(path, encoding="utf-8").read()
        for struct in re.findall(r"^TENON_LAYER\((\w+)\)", text, re.M):
            line = r"field\(\s*\d+,\s*\"(\w+)\",\s*&" + struct + r"::(\w+)\)(?:\s*\.orInput\((\d+)\))?"
            fields = re.findall(line, text)
            members = {prop: member for prop, member, _ in fields}
            inputs = {prop: int(position) for prop, _, position in fields if position}
            layers[re.sub(r"Layer$", "", struct)] = Layer(os.path.basename(path), struct, members, inputs)
    return layers


def strip_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def read_overrides(paths):
    """What is written by hand: {interface: {(call, arity)}} and the names of all classes.

    A class stands on missing::X, on an XAccessors, maybe with a template between, or, when it leaves no call out, on
    the slots apiv::VX themselves.
    """
    overrides, classes, bases_of = {}, {}, {}
    for path in paths:
        text = strip_comments(open(path, encoding="utf-8").read())
        for match in re.finditer(r"^class (\w+)(?: final)?\s*:([^{;]*)\{", text, re.M):
            body = text[match.end() : text.find("\n};", match.end())]
            calls = set()
            for call, params in re.findall(r"\b(\w+)\(([^(){};]*)\)\s*(?:const)?\s*noexcept\s*override", body, re.S):
                calls.add((call, len([part for part in params.split(",") if part.strip()])))
            classes[match.group(1)] = calls
            bases_of[match.group(1)] = match.group(2)
    for name, bases in bases_of.items():
        between = re.findall(r"(\w+)<\w+Accessors>", bases)
        for base in re.findall(r"(?:missing::|apiv::V)(\w+)", bases) + re.findall(r"(\w+)Accessors", bases):
            overrides.setdefault(base, set()).update(classes[name], *(classes.get(each, ()) for each in between))
    return overrides, set(classes)


def write_missing(interfaces):
    """A class per interface whose calls report that they are not implemented."""
    out = [
        '#pragma once\n#include "NvInfer.h"\n',
        HEAD,
        "namespace tenon::api::missing\n{\nusing namespace nvinfer1;\n\n",
    ]
    for interface in interfaces:
        out.append(f"class {interface.name[1:]} : public apiv::{interface.name}\n{{\n  public:\n")
        for slot in interface.slots:
            value = failure_of(slot.returns)
            if value is None:
                continue
            body = f'        notImplemented("{interface.public}::{slot.name}");\n'
            if value:
                body += f"        return {value};\n"
            out.append(slot.override(body))
        out.append("\n  protected:\n    virtual void notImplemented(char const* call) const noexcept = 0;\n};\n\n")
    out.append("} // namespace tenon::api::missing\n" + FOOT)
    return "".join(out)


def check_of_dims(kind, position, slot):
    """Lines that refuse dimensions that are none before anything is read from them."""
    # −1: an input gives them. A layer without any other input has them from the start.
    least = -1 if position is not None and position > 0 else 0
    failure = "return false;" if slot.returns == "bool" else "return;"
    call = f"I{kind}Layer::{slot.name}"
    return f'        if (!takesDims("{call}", {slot.names[0]}, {least}))\n            {failure}\n'


def accessor(kind, layer, slot):
    """The override of a plain getter or setter, or None when no field stands behind it."""
    match = re.fullmatch(r"(set|get|is)(\w+)", slot.name)
    if not match:
        return None
    verb, prop = match.groups()
    members = layer.members
    member = members.get(prop)
    if member is None and prop.endswith("Nd"):
        member = members.get(prop[:-2])
    position = layer.inputs.get(prop)
    if verb == "set" and slot.arity == 1:
        lines = [f"assign(mFields.{member}, {slot.names[0]});"]
        if prop == "PaddingNd" and member is None and "PrePadding" in members:
            lines = [f"assign(mFields.{members[each]}, {slot.names[0]});" for each in ("PrePadding", "PostPadding")]
        elif member is None:
            return None
        if position is not None:
            lines.append(f"dropInput({position});")
        body = "        edited();\n"
        body = "".join(f"        {line}\n" for line in lines) + body
        if slot.first_type == "Dims const&":
            body = check_of_dims(kind, position, slot) + body
        return body + ("        return true;\n" if slot.returns == "bool" else "")
    if verb != "set" and slot.arity == 0:
        if prop == "PaddingNd" and member is None and "PrePadding" in members:
            member = members["PrePadding"]
        if member is None:
            return None
        if slot.returns.endswith("&"):
            return f"        return mFields.{member};\n"
        value = f"valueOf<{slot.returns}>(mFields.{member})"
        if position is not None:
            unset = "Dims{-1, {}}" if slot.returns == "Dims" else f"static_cast<{slot.returns}>(-1)"
            value = f"hasInput({position}) ? {unset} : {value}"
        return f"        return {value};\n"
    return None


def write_layers(interfaces, layers, overrides, classes):
    """Implementation classes over the layer structs, and what remains without a body per interface."""
    by_name = {each.name: each for each in interfaces}
    done = {}
    out = ['#include "api/layer_headers.inc"\n', HEAD, "namespace tenon::api\n{\nusing namespace nvinfer1;\n\n"]
    kinds = [kind for kind in layers if f"V{kind}Layer" in by_name]
    for kind in kinds:
        interface = by_name[f"V{kind}Layer"]
        hand = overrides.get(kind, set())
        base = f"LayerOfKind<I{kind}Layer, missing::{kind}Layer, ::tenon::{layers[kind].struct}>"
        out.append(f"class {kind}Accessors : public {base}\n{{\n  public:\n    using LayerOfKind::LayerOfKind;\n\n")
        made = done.setdefault(interface.name, set())
        for slot in interface.slots:
            if (slot.name, slot.arity) in hand:
                continue
            body = accessor(kind, layers[kind], slot)
            if body is not None:
                made.add((slot.name, slot.arity))
                out.append(slot.override(body))
        out.append("};\n\n")
    out.append("} // namespace tenon::api\n" + FOOT)
    plain = [kind for kind in kinds if f"{kind}Layer" not in classes]
    return "".join(out), plain, done


def read_settings(path):
    """Members of the settings of a builder's configuration."""
    text = strip_comments(open(path, encoding="utf-8").read())
    body = re.search(r"struct BuilderSettings\n\{(.*?)\n\};", text, re.S).group(1)
    return set(re.findall(r"^    \w[^\n{;]*[\s*>](\w+)[{;]", body, re.M))


def config_accessor(members, slot):
    """The override of a plain getter or setter of the configuration, or None when no setting has its name."""
    match = re.fullmatch(r"(set|get)(\w+)", slot.name)
    member = match and match.group(2)[0].lower() + match.group(2)[1:]
    if member not in members:
        return None
    if match.group(1) == "get" and slot.arity == 0:
        return f"        return mSettings.{member};\n"
    if match.group(1) == "set" and slot.arity == 1:
        value = slot.names[0]
        failure = "return false;" if slot.returns == "bool" else "return;"
        body = f'        if (!takes("IBuilderConfig::{slot.name}", {value}))\n            {failure}\n'
        body += f"        mSettings.{member} = {value};\n"
        return body + ("        return true;\n" if slot.returns == "bool" else "")
    return None


def write_config(interfaces, members, overrides, done):
    """The class under the configuration that has its plain getters and setters."""
    interface = next(each for each in interfaces if each.name == "VBuilderConfig")
    hand = overrides.get("BuilderConfig", set())
    out = [HEAD, "namespace tenon::api\n{\nusing namespace nvinfer1;\n\n"]
    out.append("class BuilderConfigAccessors : public missing::BuilderConfig\n{\n  public:\n")
    made = done.setdefault(interface.name, set())
    for slot in interface.slots:
        if (slot.name, slot.arity) in hand:
            continue
        body = config_accessor(members, slot)
        if body is not None:
            made.add((slot.name, slot.arity))
            out.append(slot.override(body))
    out.append("\n  protected:\n    virtual Log const& log() const noexcept = 0;\n")
    out.append("    //! Enumerators must exist.\n    template <typename T>\n")
    out.append("    bool takes(char const* call, T value) const noexcept\n    {\n")
    out.append("        if constexpr (std::is_enum_v<T>)\n            return isKnown(log(), call, value);\n")
    out.append(
        "        return true;\n    }\n\n    BuilderSettings mSettings;\n};\n\n} // namespace tenon::api\n" + FOOT
    )
    return "".join(out)


def write_plain(plain):
    out = [HEAD, "namespace tenon::api\n{\n"]
    for kind in plain:
        out.append(f"class {kind}Layer final : public {kind}Accessors\n{{\n  public:\n")
        out.append(f"    using {kind}Accessors::{kind}Accessors;\n}};\n")
    out.append("} // namespace tenon::api\n" + FOOT)
    return "".join(out)


def refused_by_hand(folder, refitter):
    """Calls that have a body, which says that they (or a way to use them) are not implemented."""
    text = strip_comments(open(refitter, encoding="utf-8").read())
    found = [f"IParserRefitter::{call}" for call in re.findall(r'return refuse\("(\w+)"', text)]
    for path in sorted(glob.glob(os.path.join(folder, "**", "*.cpp"), recursive=True)):
        text = strip_comments(open(path, encoding="utf-8").read())
        found += re.findall(r'notImplemented\(\s*"([^"]+)"', text)
        found += re.findall(r'"(I\w+::\w+)",\s*"is not implemented"', text)
        found += re.findall(r'"([a-z]+[A-Z]\w+) is not implemented\b', text)
    return found


def read_declared(slots):
    """Names of the classes that the public headers beside the header of slots define."""
    found = set()
    for path in glob.glob(os.path.join(os.path.dirname(slots), "*.h")):
        text = strip_comments(open(path, encoding="utf-8").read())
        found.update(re.findall(r"^class (?:TRT_DEPRECATED |TENSORRTAPI )*(\w+)[^;{]*\{", text, re.M))
    return found


def write_list(interfaces, overrides, done, by_hand):
    """The calls that stay without a body, as initialisers of a list of strings. What no public class leads to, such as
    the slots of the layer for plugins of the first generation, cannot be called and is no gap."""
    lines = [f'"{call}",\n' for call in by_hand]
    for interface in interfaces:
        key = interface.name[1:]
        hand = overrides.get(key, set()) | overrides.get(re.sub(r"Layer$", "", key), set())
        hand |= done.get(interface.name, set())
        for slot in interface.slots:
            if (slot.name, slot.arity) not in hand:
                lines.append(f'"{interface.public}::{slot.name}",\n')
    return "".join(dict.fromkeys(lines))


def write_if_changed(path, text):
    if os.path.exists(path) and open(path, encoding="utf-8").read() == text:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w", encoding="utf-8").write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slots", required=True, help="the header of slots, include/NvInferImpl.h")
    parser.add_argument("--layers", required=True, help="folder of the layer structs, src/layers")
    parser.add_argument("--api", required=True, help="folder of what is written by hand, src/api")
    parser.add_argument("--beside", nargs="*", default=[], help="headers elsewhere with classes on slots")
    parser.add_argument("--refitter", required=True, help="the parser's refitter, importers/onnx/refitter.cpp")
    parser.add_argument("--out", required=True, help="folder for the results")
    args = parser.parse_args()
    interfaces = read_interfaces(args.slots)
    layers = read_layers(args.layers)
    by_hand = sorted(glob.glob(os.path.join(args.api, "**", "*.h"), recursive=True))
    by_hand += sorted(glob.glob(os.path.join(args.api, "**", "*.cpp"), recursive=True))
    overrides, classes = read_overrides([*by_hand, *args.beside])
    accessors, plain, done = write_layers(interfaces, layers, overrides, classes)
    write_if_changed(os.path.join(args.out, "not_implemented.h"), write_missing(interfaces))
    includes = "".join(f'#include "layers/{header}"\n' for header in sorted({each.header for each in layers.values()}))
    write_if_changed(os.path.join(args.out, "layer_headers.inc"), includes)
    write_if_changed(os.path.join(args.out, "layer_accessors.inc"), accessors)
    write_if_changed(os.path.join(args.out, "layer_classes.inc"), write_plain(plain))
    settings = read_settings(os.path.join(args.api, "build", "builder_settings.h"))
    config = write_config(interfaces, settings, overrides, done)
    write_if_changed(os.path.join(args.out, "builder_config_accessors.inc"), config)
    declared = read_declared(args.slots)
    callable_ones = [each for each in interfaces if each.public in declared]
    missing = write_list(callable_ones, overrides, done, refused_by_hand(args.api, args.refitter))
    write_if_changed(os.path.join(args.out, "not_implemented_list.inc"), missing)


if __name__ == "__main__":
    main()
