"""What KServe's published schema says of a ServingRuntime, v1alpha1, as far as the manifest goes.

The facts are those of the openAPIV3Schema in config/crd/full/serving.kserve.io_servingruntimes.yaml of kserve/kserve:
names, types and what must be there. A field that is not listed here is refused, as kubectl refuses unknown ones.
"""

import dataclasses
import re
from typing import Any


@dataclasses.dataclass(frozen=True)
class Map:
    """Any names, and values of one kind."""

    of: Any


QUANTITY = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?(\d+(\.\d*)?|\.\d+))?", re.ASCII)
PORT = (int, str)
# Fields by name; "!" marks what must be there, a list holds the kind of its elements.
PROBE = {"httpGet": {"path": str, "port!": PORT, "scheme": str}, "periodSeconds": int, "failureThreshold": int}
CONTAINER = {
    "name!": str,
    "image": str,
    "command": [str],
    "args": [str],
    "env": [
        {
            "name!": str,
            "value": str,
            "valueFrom": {"resourceFieldRef": {"resource!": str, "containerName": str, "divisor": QUANTITY}},
        }
    ],
    "ports": [{"containerPort!": int, "protocol": str, "name": str}],
    "readinessProbe": PROBE,
    "livenessProbe": PROBE,
    "securityContext": {
        "allowPrivilegeEscalation": bool,
        "runAsNonRoot": bool,
        "runAsUser": int,
        "readOnlyRootFilesystem": bool,
        "capabilities": {"add": [str], "drop": [str]},
    },
    "resources": {"requests": Map(QUANTITY), "limits": Map(QUANTITY)},
}
RUNTIME = {
    "apiVersion": str,
    "kind": str,
    "metadata": Map(object),
    "spec": {
        "annotations": Map(str),
        "labels": Map(str),
        "disabled": bool,
        "multiModel": bool,
        "supportedModelFormats": [{"name!": str, "version": str, "autoSelect": bool, "priority": int}],
        "protocolVersions": [str],
        "containers!": [CONTAINER],
    },
}


def misfits(value: Any, kind: Any, where: str = "manifest") -> list[str]:
    """Where a value is not what the schema says."""
    is_fit, parts = True, []  # Parts are what misfits() is to be asked next.
    if isinstance(kind, list):
        is_fit = type(value) is list
        parts = [(each, kind[0], f"{where}[{at}]") for at, each in enumerate(value)] if is_fit else []
    elif isinstance(kind, dict | Map):
        is_fit = type(value) is dict and all(type(name) is str for name in value)
        if is_fit and isinstance(kind, dict):
            return _misfits_of_fields(value, kind, where)
        parts = [(each, kind.of, f"{where}.{name}") for name, each in value.items()] if is_fit else []
    elif isinstance(kind, re.Pattern):
        is_fit = type(value) is int or (type(value) is str and kind.fullmatch(value) is not None)
    elif kind is not object:
        is_fit = type(value) in (kind if isinstance(kind, tuple) else (kind,))
    return [found for part in parts for found in misfits(*part)] if is_fit else [f"{where} is {value!r}"]


def _misfits_of_fields(value: dict[str, Any], kind: dict[str, Any], where: str) -> list[str]:
    kinds = {name.removesuffix("!"): each for name, each in kind.items()}
    needed = [name[:-1] for name in kind if name.endswith("!")]
    found = [f"{where} has no '{name}'" for name in needed if name not in value]
    for name, each in value.items():
        found += misfits(each, kinds[name], f"{where}.{name}") if name in kinds else [f"{where} knows no '{name}'"]
    return found
