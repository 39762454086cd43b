"""The items that a cpp-*.json table becomes: small pieces of C++ of which each compiles when one thing is there."""

import re
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

VERSION_MACRO = re.compile(
    r"^(NV_TENSORRT_(MAJOR|MINOR|PATCH|BUILD|VERSION|SONAME_\w+|LWS_\w+|RELEASE_TYPE)|TRT_\w+_ENTERPRISE|"
    r"NV_ONNX_PARSER_\w+)$"
)
VERSIONED_NAME = re.compile(r"::v_\d+_\d+::")

FLAGS = (
    "const static virtual pure override final explicit template extern_c inline noexcept deprecated nodiscard".split()
)
TRAITS = (
    "is_abstract is_polymorphic is_aggregate is_default_constructible is_copy_constructible is_destructible "
    "has_virtual_destructor is_trivially_copyable"
).split()

INCLUDES = "climits cstdint cstddef type_traits utility vector".split()
#: An implicit conversion to the exact type: g++ lets static_cast add noexcept, this does not.
HELPER = "template <typename T> T as_exactly(T);\n"
GUARD = """// one item: -DCHECK_ONLY=n. Items to leave out: -DCHECK_SKIP_n
#ifdef CHECK_ONLY
#define CHECK_ITEM(n) (n == CHECK_ONLY)
#else
#define CHECK_ITEM(n) !defined(CHECK_SKIP_##n)
#endif
"""


@dataclass(frozen=True)
class Item:
    group: str  # The class, enumeration or kind of thing that it belongs to.
    kind: str
    label: str
    code: str  # Without its number: $LN stands for it.

    def text(self, number: int) -> str:
        """The code under a #line that makes the compiler name the item in errors."""
        return f'#line {number + 1} "item"\n' + self.code.replace("$LN", str(number + 1))


@dataclass(frozen=True)
class Strictness:
    versioned: bool = False  # Names such as nvinfer1::v_1_0::X, too.
    versions: bool = False  # Values of the version macros, too.
    loose: bool = False  # What compiles by conversions will do.


def expanded(api: Json) -> Json:
    """The table with lists of flags and traits as booleans."""
    functions = list(api["functions"])
    for each in api["classes"]:
        functions += each["methods"] + each["constructors"]
        if "traits" in each:
            each["traits"] = {trait: trait in each["traits"] for trait in TRAITS}
    for function in functions:
        function.update({flag: flag in function["flags"] for flag in FLAGS})
        function.setdefault("access", "public")
    return api


def qualified(name: str) -> str:
    return name if name.startswith("::") else "::" + name


def type_text(text: str) -> str:
    """The type as the table has it, with leading :: on this API's names."""
    return re.sub(r"(?<![\w:])(nvinfer1|nvonnxparser)::", r"::\1::", text)


def decayed(text: str) -> str:
    return text[:-2] + "*" if text.endswith("[]") else text


def parameter_types(function: Json) -> list[str]:
    return [type_text(each["type"]) for each in function["params"]]


def joined(types: list[str]) -> str:
    return ", ".join(types)


def values_of(types: list[str]) -> str:
    return ", ".join(f"std::declval<{decayed(each)}>()" for each in types)


def label_of(name: str, function: Json) -> str:
    return "{}({})".format(name, ", ".join(each["type"] for each in function["params"]))


def least_arguments(function: Json) -> int:
    return sum(1 for each in function["params"] if "default" not in each)


def pointer_type(owner: str, function: Json) -> str:
    result, arguments = type_text(function["return"]), joined(parameter_types(function))
    suffix = " noexcept" if function["noexcept"] else ""
    if function.get("static"):
        return f"{result} (*)({arguments}){suffix}"
    constness = " const" if function.get("const") else ""
    reference = " " + function["ref"] if function.get("ref") else ""
    return f"{result} ({owner}::*)({arguments}){constness}{reference}{suffix}"


def declaration(function: Json) -> str:
    """As a class that overrides it has it."""
    return "{} {}({}){}{}".format(
        type_text(function["return"]),
        function["name"],
        joined(parameter_types(function)),
        " const" if function["const"] else "",
        " noexcept" if function["noexcept"] else "",
    )


def call_text(owner: str, method: Json, arguments: list[str]) -> str:
    constness = " const" if method["const"] else ""
    target = f"{owner}::" if method["static"] else f"std::declval<{owner}{constness}&>()."
    return f"{target}{method['name']}({values_of(arguments)})"


def is_operator(method: Json) -> bool:
    return method["name"].startswith("operator")


def missing_unless(condition: str, what: str) -> str:
    return f'#if {condition}\n#line $LN "item"\nstatic_assert(false, "no {what}");\n#endif'


class CppChecks:
    """All items of a table, in its order: `items`."""

    def __init__(self, api: Json, strictness: Strictness) -> None:
        self.api = expanded(api)
        self.is_loose = strictness.loose
        self.strictness = strictness
        self.items: list[Item] = []
        self.by_name = {name: each for each in api["classes"] for name in each["names"]}
        self._headers()
        self._macros()
        self._constants()
        self._aliases()
        for each in api["enums"]:
            self._enumeration(each)
        self._functions()
        for each in api["classes"]:
            self._class(each)

    # ---- the file

    def preamble(self) -> str:
        meta = self.api["meta"]
        text = f"// made by gen_cpp_check.py from the {meta['api']} table {meta['version']}; do not edit\n"
        text += "".join(f"#include <{each}>\n" for each in INCLUDES)
        for header in self.api["headers"]:
            if not header["indirect_only"]:
                text += '#if __has_include("{0}")\n#include "{0}"\n#endif\n'.format(header["name"])
        return text + HELPER

    def source(self) -> str:
        lines, group = [], None
        for number, item in enumerate(self.items):
            if item.group != group:
                lines.append(f"// ---- {item.group}")
                group = item.group
            lines += [f"#if CHECK_ITEM({number})", item.text(number), "#endif"]
        return self.preamble() + GUARD + "\n".join(lines) + "\n"

    def _add(self, group: str, kind: str, label: str, code: str) -> None:
        """In the code @ stands for a name of the item's own."""
        self.items.append(Item(group, kind, label, code.replace("@", f"item_{len(self.items)}")))

    # ---- what stands outside of classes

    def _headers(self) -> None:
        for header in self.api["headers"]:
            name = header["name"]
            self._add("headers", "header", name, missing_unless(f'!__has_include("{name}")', "header"))

    def _macros(self) -> None:
        for macro in self.api["macros"]:
            if macro.get("include_guard"):
                continue
            name = macro["name"]
            code = missing_unless(f"!defined({name})", "macro").replace(f"#if !defined({name})", f"#ifndef {name}")
            has_value = "value" in macro and "params" not in macro
            if has_value and (self.strictness.versions or not VERSION_MACRO.match(name)):
                code += f'\n#ifdef {name}\n#line $LN "item"\nstatic_assert(({name}) == {macro["value"]});\n#endif'
            self._add("macros", "macro", name, code)

    def _constants(self) -> None:
        for constant in self.api["constants"]:
            name = constant["name"]
            is_checked = self.strictness.versions or "VERSION" not in name or "BIT" in name
            if isinstance(constant.get("value"), int) and is_checked:
                code = f"static_assert((long long)({qualified(name)}) == {constant['value']});"
            else:
                code = f"using @ = decltype({qualified(name)});"
            self._add("constants", "constant", name, code)

    def _aliases(self) -> None:
        for alias in self.api["aliases"]:
            name, target = alias["name"], alias["target"]
            exists = f"using @ = {qualified(name)};"
            is_same = f"static_assert(std::is_same_v<{qualified(name)}, {type_text(target)}>);"
            if target == "struct":
                self._add("aliases", "alias", name, exists)
            elif not VERSIONED_NAME.search(target):
                self._add("aliases", "alias", f"{name} = {target}", exists if self.is_loose else is_same)
            elif self.strictness.versioned:  # The plain name is checked with its class: here, that both are one type.
                self._add("versioned names", "alias", f"{name} = {target}", is_same)

    def _enumeration(self, enum: Json) -> None:
        group, name = enum["name"], qualified(enum["name"])
        exact = f" && std::is_same_v<std::underlying_type_t<{name}>, {enum['underlying']}>"
        self._add(group, "enum", "enum", f"static_assert(std::is_enum_v<{name}>{'' if self.is_loose else exact});")
        if enum["scoped"]:
            self._add(group, "enum", "scoped", f"static_assert(!std::is_convertible_v<{name}, int>);")
        for member in enum["members"]:
            value = f"{name}::{member['name']}"
            is_equal = f"static_assert(static_cast<long long>({value}) == {member['value']}LL);"
            self._add(
                group, "enumerator", member["name"], f"using @ = decltype({value});" if self.is_loose else is_equal
            )
        if "enum_max" in enum:
            namespace, relation = enum["name"].split("::")[0], ">=" if self.is_loose else "=="
            code = f"static_assert(::{namespace}::EnumMax<{name}>() {relation} {enum['enum_max']});"
            self._add(group, "enum_max", "EnumMax", code)

    def _functions(self) -> None:
        for function in self.api["functions"]:
            if function.get("template"):
                continue  # EnumMax is checked with every enumeration.
            pointer = pointer_type("", {**function, "static": True})
            name = function["name"]
            self._add("functions", "function", name, f"using @ = decltype(as_exactly<{pointer}>(&{qualified(name)}));")

    # ---- classes

    def _class(self, each: Json) -> None:
        name = qualified(each["plain_name"])
        if each["kind"] == "class_template":
            arguments = joined(["int"] * len(each["template_params"]))
            self._add(each["plain_name"], "class", "class template", f"using @ = {name}<{arguments}>*;")
            return
        self._nature(each, name)
        for constructor in each["constructors"]:
            if constructor.get("defined_as") != "delete" and constructor.get("kind") not in ("copy", "move"):
                self._constructor(each, name, constructor)
        self._members(each, name)
        self._using(each, name)
        for method in each["methods"]:
            if method.get("defined_as") != "delete" and method["access"] != "private":
                self._method(each, name, method)
        self._implementable(each, name)
        if each["traits"].get("is_trivially_copyable"):
            code = f"static_assert(std::is_trivially_copyable_v<{name}>);"
            self._add(each["plain_name"], "class", "trivially copyable", code)

    def _nature(self, each: Json, name: str) -> None:
        """What kind of class it is, its bases, and how its objects come and go."""
        group, traits = each["plain_name"], each["traits"]
        self._add(group, "class", "class", f"static_assert(std::is_class_v<{name}> && sizeof({name}) > 0);")
        if each.get("final"):
            self._add(group, "class", "final", f"static_assert(std::is_final_v<{name}>);")
        for base in each["bases"]:
            if base["access"] == "public":
                code = f"static_assert(std::is_convertible_v<{name}*, {type_text(base['name'])}*>);"
                self._add(group, "base", "base " + base["name"], code)
        for trait, kind, label in (
            ("is_aggregate", "class", "aggregate"),
            ("is_default_constructible", "constructor", "default constructible"),
            ("is_copy_constructible", "constructor", "copy constructible"),
        ):
            if traits[trait]:
                self._add(group, kind, label, f"static_assert(std::{trait}_v<{name}>);")
        if traits["is_destructible"]:
            is_virtual = traits["has_virtual_destructor"]
            more = f" && std::has_virtual_destructor_v<{name}>" if is_virtual else ""
            label = "destructible" + (", virtual" if is_virtual else "")
            self._add(group, "destructor", label, f"static_assert(std::is_destructible_v<{name}>{more});")

    def _constructor(self, each: Json, name: str, constructor: Json) -> None:
        """With all arguments, and with those that have no default; from outside, or from a derived class."""
        traits = each["traits"]
        for count in sorted({least_arguments(constructor), len(constructor["params"])}):
            shortened = {**constructor, "params": constructor["params"][:count]}
            label = label_of("constructor", shortened)
            types = [decayed(one) for one in parameter_types(shortened)]
            if constructor["access"] == "public" and not traits["is_abstract"]:
                if count > 0 or not traits["is_default_constructible"]:
                    code = f"static_assert(std::is_constructible_v<{joined([name, *types])}>);"
                    self._add(each["plain_name"], "constructor", label, code)
            elif not each.get("final"):
                given = [(one, f"a{i}") for i, one in enumerate(types)]
                parameters = joined([f"{one} {argument}" for one, argument in given])
                passed = joined([f"static_cast<{one}&&>({argument})" for one, argument in given])
                code = f"struct @ : {name} {{ @({parameters}) : {name}({passed}) {{}} }};"
                self._add(each["plain_name"], "constructor", "derivable: " + label, code)

    def _members(self, each: Json, name: str) -> None:
        group = each["plain_name"]
        for kind, members in (("field", each["fields"]), ("constant", each["constants"])):
            for member in members:
                code = f"using @ = decltype({name}::{member['name']});"
                if not self.is_loose:
                    code = self._field(name, member) if kind == "field" else self._constant(name, member)
                self._add(group, kind, member["name"], code)
        for alias in each["aliases"]:
            code = f"static_assert(std::is_same_v<{name}::{alias['name']}, {type_text(alias['target'])}>);"
            self._add(group, "alias", alias["name"], code)

    @staticmethod
    def _field(owner: str, field: Json) -> str:
        return f"static_assert(std::is_same_v<decltype({owner}::{field['name']}), {type_text(field['type'])}>);"

    @staticmethod
    def _constant(owner: str, constant: Json) -> str:
        name, value = f"{owner}::{constant['name']}", constant.get("value")
        of_type = re.sub(r" const$", "", type_text(constant["type"]))
        is_shown = isinstance(value, int) or (value and re.fullmatch(r"\w+", str(value)))
        equal = f" && {name} == {value}" if is_shown else ""
        return f"static_assert(std::is_same_v<std::remove_cv_t<decltype({name})>, {of_type}>{equal});"

    def _using(self, each: Json, name: str) -> None:
        """Methods of a base that a using-declaration brings in."""
        for using in each["using"]:
            base, method_name = using.rsplit("::", 1)
            spellings = (base, f"{each['namespace']}::{base}", f"nvinfer1::{base}")
            found = next((self.by_name[one] for one in spellings if one in self.by_name), None)
            for method in found["methods"] if found else []:
                if method["name"] == method_name and method["access"] == "public":
                    code = f"using @ = decltype(as_exactly<{pointer_type(name, method)}>(&{name}::{method_name}));"
                    self._add(each["plain_name"], "using", "using " + using, code)

    def _method(self, each: Json, name: str, method: Json) -> None:
        group = each["plain_name"]
        label = label_of(method["name"], method) + (" const" if method["const"] else "")
        if method["access"] == "public":
            self._public_method(group, name, method, label)
        elif method["virtual"] and not self.is_loose:
            pointer = pointer_type("@", method)
            code = f"struct @ : {name} {{ using t = decltype(as_exactly<{pointer}>(&@::{method['name']})); }};"
            self._add(group, "method", "protected " + label, code)
        can_be_overridden = method["virtual"] and not method.get("final") and not each.get("final")
        if can_be_overridden and not is_operator(method):
            code = f"struct @ : {name} {{ {declaration(method)} override; }};"
            self._add(group, "override", "override of " + label, code)

    def _public_method(self, group: str, name: str, method: Json, label: str) -> None:
        arguments = parameter_types(method)
        if self.is_loose and not is_operator(method):
            call, result = call_text(name, method, arguments), type_text(method["return"])
            code = f"static_assert(std::is_convertible_v<decltype({call}), {result}>);"
            self._add(group, "method", label, f"using @ = decltype({call});" if result == "void" else code)
        else:
            pointer = pointer_type(name, method)
            self._add(group, "method", label, f"using @ = decltype(as_exactly<{pointer}>(&{name}::{method['name']}));")
        least = least_arguments(method)
        if least < len(arguments):
            code = f"using @ = decltype({call_text(name, method, arguments[:least])});"
            self._add(group, "default argument", "default arguments of " + label, code)

    def _implementable(self, each: Json, name: str) -> None:
        """A class of the user's may define what is pure, and is none of these itself then."""
        pure = self._pure(each)
        if pure and not each.get("final"):
            methods = " ".join(declaration(method) + ";" for method in pure.values())
            code = f"struct @ : {name} {{ {methods} }}; static_assert(!std::is_abstract_v<@>);"
            self._add(each["plain_name"], "implementable", f"implementable with {len(pure)} methods", code)

    def _pure(self, each: Json) -> dict[tuple, Json]:
        """The methods that a user's class must define, by signature."""
        found: dict[tuple, Json] = {}
        for base in each["bases"]:
            if base["name"] in self.by_name:
                found.update(self._pure(self.by_name[base["name"]]))
        for method in each["methods"]:
            key = (method["name"], tuple(one["type"] for one in method["params"]), method["const"])
            if method["virtual"] and method["pure"]:
                found[key] = method
            else:
                found.pop(key, None)
        return found
