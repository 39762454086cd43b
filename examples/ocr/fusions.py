"""What the builder merged: from an engine inspector's JSON to a few lines that a person reads."""

import collections
import json


def layers_of(inspected: str) -> list[dict]:
    """The inspector's layers, keys in lower case; with LAYER_NAMES_ONLY a layer is its name alone."""
    layers = json.loads(inspected)["Layers"]
    detailed = [layer if isinstance(layer, dict) else {"name": layer} for layer in layers]
    return [{key.lower(): value for key, value in layer.items()} for layer in detailed]


def merged_parts(layer: dict) -> int:
    """How many layers of the network one step stands for; their names are joined by ' + '."""
    return layer["name"].count(" + ") + 1


def summary(inspected: str, nodes: int, most: int = 4) -> list[str]:
    """One line on the whole, then the kinds of step that took up most other layers."""
    layers = layers_of(inspected)
    lines = [f"{nodes} ONNX nodes run as {len(layers)} steps"]
    gain, count = collections.Counter(), collections.Counter()
    for layer in layers:
        if merged_parts(layer) > 1:
            kind = layer.get("layertype") or layer.get("layer") or "step"
            gain[kind] += merged_parts(layer) - 1
            count[kind] += 1
    for kind, removed in gain.most_common(most):
        lines.append(f"{count[kind]} x {kind} took up {removed} other layers")
    return lines
