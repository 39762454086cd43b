"""A float network that a calibrator makes an int8 one of, beside the float network."""

import calibrators
import numpy as np
import plans
import references
import tensorrt as trt
from zoo import image

SHAPE = {"input": (1, 3, 224, 224)}


def test_resnet50_keeps_its_answers_in_int8(tmp_path) -> None:
    model = image("resnet50")
    builder = trt.Builder(plans.LOGGER)
    network = builder.create_network()
    parser = trt.OnnxParser(network, plans.LOGGER)
    assert parser.parse_from_file(str(model.path))
    answers = []
    for calibrator in (None, calibrators.Entropy([references.inputs(model, SHAPE, seed) for seed in range(1, 5)])):
        config = builder.create_builder_config()
        config.add_optimization_profile(plans.profile_of(builder, (SHAPE, SHAPE, SHAPE)))
        if calibrator is not None:
            config.set_flag(trt.BuilderFlag.INT8)
            config.int8_calibrator = calibrator
        path = tmp_path / "resnet50.plan"
        path.write_bytes(builder.build_serialized_network(network, config))
        (answer,) = plans.Session(path)(references.inputs(model, SHAPE, 0)).values()
        answers.append(answer[0].copy())
    whole, rounded = answers
    assert len(calibrator.tensors) == 50, "what its convolutions and its product read"
    assert np.abs(rounded - whole).max() <= 0.05 * (whole.max() - whole.min())
    assert not np.array_equal(rounded, whole)
    assert set(np.argsort(-rounded)[:3]) <= set(np.argsort(-whole)[:5])
