"""Checks a manifest (YAML, standard input) by the types that KServe's SDK has of KServe's published schema."""

import re
import sys
from typing import Any

import kserve
import kubernetes.client
import yaml

PLAIN = {"str": str, "int": int, "bool": bool, "float": float}


def check(value: Any, kind: str, where: str) -> Any:
    """Raises ValueError where a manifest is not what the type from KServe's OpenAPI schema says."""
    several = re.fullmatch(r"list\[(.*)\]|dict[(\[]str, (.*)[)\]]", kind)
    if kind == "object":
        return value
    if kind in PLAIN:
        if type(value) is not PLAIN[kind]:
            raise ValueError(f"{where} is {value!r}, but {kind} is needed")
        return value
    if several:
        of = several[1] or several[2]
        if not isinstance(value, list if several[1] else dict):
            raise ValueError(f"{where} is {value!r}, but {kind} is needed")
        if several[1]:
            return [check(each, of, f"{where}[{index}]") for index, each in enumerate(value)]
        return {key: check(each, of, f"{where}.{key}") for key, each in value.items()}
    if not hasattr(kserve, kind):
        return getattr(kubernetes.client, kind).model_validate(value)  # Which checks all of it.
    made = getattr(kserve, kind)
    if not isinstance(value, dict):
        raise ValueError(f"{where} is {value!r}, but {kind} is needed")
    fields = {key: field for field, key in made.attribute_map.items()}
    for key in value:
        if key not in fields:
            raise ValueError(f"{where} has '{key}', which {kind} does not")
    found = {fields[key]: check(each, made.openapi_types[fields[key]], f"{where}.{key}") for key, each in value.items()}
    return made(**found)  # Which says what is missing.


try:
    manifest = yaml.safe_load(sys.stdin)
    version = manifest["apiVersion"].rpartition("/")[2].capitalize()
    check(manifest, version + manifest["kind"], "manifest")
except ValueError as error:
    sys.exit(str(error))
