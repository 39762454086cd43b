"""Algorithm selectors in Python: what they are shown, that builds do as they say, and what may go wrong."""

from collections.abc import Callable

import numpy as np
import pytest
import tensorrt as trt

LOGGER = trt.Logger(trt.Logger.ERROR)


class Selector(trt.IAlgorithmSelector):
    """Does for each layer what it was made with, and keeps all that it is shown."""

    def __init__(self, choose: Callable[[trt.IAlgorithmContext, list[trt.IAlgorithm]], object]) -> None:
        super().__init__()
        self.choose = choose
        self.shown: list[tuple[trt.IAlgorithmContext, list[trt.IAlgorithm]]] = []
        self.told: list[tuple[trt.IAlgorithmContext, trt.IAlgorithm]] = []

    def select_algorithms(self, context: trt.IAlgorithmContext, choices: list[trt.IAlgorithm]) -> object:
        self.shown.append((context, choices))
        return self.choose(context, choices)

    def report_algorithms(self, contexts: list[trt.IAlgorithmContext], choices: list[trt.IAlgorithm]) -> None:
        self.told = list(zip(contexts, choices, strict=True))


def built(selector: trt.IAlgorithmSelector) -> trt.IHostMemory | None:
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (-1, 3, 8, 8))
    kernel = np.random.default_rng(3).standard_normal((4, 3, 3, 3)).astype(np.float32)
    layer = network.add_convolution_nd(x, 4, (3, 3), kernel)
    layer.name = "conv"
    network.mark_output(layer.get_output(0))
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    profile.set_shape("x", (1, 3, 8, 8), (2, 3, 8, 8), (5, 3, 8, 8))
    config.add_optimization_profile(profile)
    config.algorithm_selector = selector
    assert config.algorithm_selector is selector
    return builder.build_serialized_network(network, config)


def of_conv(selector: Selector) -> tuple[trt.IAlgorithmContext, list[trt.IAlgorithm]]:
    return next((context, choices) for context, choices in selector.shown if "conv" in context.name)


def test_what_a_selector_is_shown_can_be_kept() -> None:
    selector = Selector(lambda context, choices: [-1])
    assert built(selector) is not None
    context, choices = of_conv(selector)
    assert [tuple(shape) for shape in context.get_shape(0)] == [(1, 3, 8, 8), (2, 3, 8, 8), (5, 3, 8, 8)]
    assert (context.num_inputs, context.num_outputs) == (1, 1), "the kernel is no input"
    ports = context.num_inputs + context.num_outputs
    for choice in choices:
        info = choice.get_algorithm_io_info(0)
        assert info.dtype is trt.float32 and info.tensor_format in trt.TensorFormat.__members__.values()
        assert len(info.strides) == 4 and info.components_per_element >= 1 and info.vectorized_dim in (-1, 1)
        assert choice.workspace_size >= 0 and isinstance(choice.timing_msec, float)
        with pytest.raises(IndexError, match=f"tensor {ports} of {ports}"):
            choice.get_algorithm_io_info(ports)
    with pytest.raises(IndexError):
        context.get_shape(-1)


def test_the_build_takes_what_is_selected() -> None:
    first = Selector(lambda context, choices: [-1])
    assert built(first) is not None
    offered = of_conv(first)[1]
    assert len(offered) > 1
    for wanted in range(len(offered)):
        selector = Selector(lambda context, choices, wanted=wanted: [min(wanted, len(choices) - 1)])
        assert built(selector) is not None
        taken = next(choice for context, choice in selector.told if "conv" in context.name)
        expected = offered[wanted].algorithm_variant
        assert taken.algorithm_variant.implementation == expected.implementation
        assert taken.algorithm_variant.tactic == expected.tactic


@pytest.mark.parametrize("answer", [[99], [0] * 99, [-2]])
def test_selections_that_do_not_exist_fail_the_build(answer: list[int], capfd: pytest.CaptureFixture[str]) -> None:
    assert built(Selector(lambda context, choices: answer)) is None
    assert "the algorithm selector selects" in capfd.readouterr().err


def test_an_answer_of_nothing_leaves_the_choice_to_the_builder(capfd: pytest.CaptureFixture[str]) -> None:
    plain = bytes(built(Selector(lambda context, choices: [-1])))
    assert bytes(built(Selector(lambda context, choices: None))) == plain
    assert bytes(built(Selector(lambda context, choices: []))) == plain
    assert bytes(built(Selector(lambda context, choices: "all"))) == plain
    assert "of the wrong type" in capfd.readouterr().err


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_exception_leaves_the_choice_to_the_builder() -> None:
    """Rule X2: an exception never crosses native frames."""

    def fail(context: trt.IAlgorithmContext, choices: list[trt.IAlgorithm]) -> list[int]:
        raise RuntimeError("no idea")

    assert bytes(built(Selector(fail))) == bytes(built(Selector(lambda context, choices: [-1])))


def test_the_base_class_selects_nothing() -> None:
    selector = Selector(lambda context, choices: [-1])
    assert built(selector) is not None
    context, choices = of_conv(selector)
    for call in ("select_algorithms", "report_algorithms"):
        with pytest.raises(RuntimeError, match="a class that derives"):
            getattr(trt.IAlgorithmSelector(), call)([context] if call == "report_algorithms" else context, choices)
