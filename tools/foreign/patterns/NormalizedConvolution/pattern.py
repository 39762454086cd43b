"""A pattern for `polygraphy plugin`: the activation behind a convolution becomes a stock plugin."""

import onnx_graphsurgeon as gs


def get_plugin_pattern() -> gs.GraphPattern:
    pattern = gs.GraphPattern()
    maps = pattern.add("convolution", "Conv", inputs=[pattern.variable() for _ in range(3)])
    pattern.set_output_tensors([pattern.add("activation", "Relu", inputs=[maps])])
    return pattern


def get_matching_subgraphs(graph: gs.Graph) -> list[dict]:
    found = []
    for match in get_plugin_pattern().match_all(graph):
        activation, channels = match.get("activation"), match.get("convolution").inputs[1].shape[0]
        fields = {"epsilon": 1e-5, "scales": [1.0] * channels, "bias": [0.0] * channels, "relu": 1}
        found.append(
            {
                "inputs": [activation.inputs[0].name],
                "outputs": [activation.outputs[0].name],
                "attributes": {**fields, "plugin_version": "3"},
            }
        )
    return found


def get_plugin_metadata() -> dict[str, str]:
    return {"name": "NormalizedConvolution", "op": "InstanceNormalization_TRT"}
