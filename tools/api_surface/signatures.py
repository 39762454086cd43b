"""The calls behind the public classes, as the header of slots declares them."""

import re
from dataclasses import dataclass


@dataclass
class Slot:
    """One virtual call of an interface."""

    returns: str
    name: str
    params: str
    const: bool

    @property
    def arity(self):
        return len(self.names)

    @property
    def names(self):
        """Names of the parameters; an unnamed one is an empty string."""
        found = []
        for param in split_params(self.params):
            match = re.search(r"[\s*&](\w+)$", param)
            found.append(match.group(1) if match else "")
        return found

    @property
    def first_type(self):
        param = split_params(self.params)[0]
        return re.sub(r"\s*\w+$", "", param)

    def override(self, body):
        """The definition of an override with this body."""
        const = " const" if self.const else ""
        return f"    {self.returns} {self.name}({self.params}){const} noexcept override\n    {{\n{body}    }}\n"


@dataclass
class Interface:
    """One interface of slots and the public class in front of it."""

    name: str
    public: str
    slots: list


def split_params(text):
    return [part.strip() for part in text.split(",") if part.strip()]


def read_interfaces(path):
    """Every interface of the header, in its order."""
    text = open(path, encoding="utf-8").read()
    found = []
    head = re.compile(r"//! The calls behind (\w+),[^\n]*\nclass (V\w+) : public VRoot\n\{(.*?)\n\};", re.S)
    for public, name, body in head.findall(text):
        slots = []
        for declaration in re.findall(r"virtual\s+([^;{}]*?)\s*noexcept = 0;", body, re.S):
            flat = re.sub(r"\s+", " ", declaration)
            match = re.match(r"(.*?)\s*\b(\w+)\(\s*(.*?)\s*\)( const)?$", flat)
            returns, call, params, const = match.groups()
            slots.append(Slot(returns, call, params, const is not None))
        public = public if public.startswith("I") else "I" + public[1:]
        found.append(Interface(name, public, slots))
    return found


def failure_of(returns):
    """What a call that does nothing answers; None when no value can stand for failure."""
    if returns == "void":
        return ""
    if returns.endswith("&"):
        return None
    if returns.endswith("*"):
        return "nullptr"
    if returns == "bool":
        return "false"
    if returns == "Dims":
        return "Dims{-1, {}}"
    if returns in ("int32_t", "int64_t"):
        return "-1"
    if returns in ("size_t", "uint32_t", "float", "double"):
        return "0"
    return f"{returns}{{}}"
