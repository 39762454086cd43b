"""What Python objects hand out to native code, when several threads ask one object at the same time."""

import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import tensorrt as trt
from scaled_plugin import ScaledDynamic, ScaledDynamicCreator, ScaledV3, ScaledV3Creator

LOGGER = trt.Logger(trt.Logger.ERROR)
THREADS = 3
STORED = 1 << 19  # Numbers: native code reads them long enough for another thread to ask.
ROUNDS = 12


def in_threads(work: Callable[[int], object]) -> list:
    """What `work` returns in each of some threads."""
    results: list = [None] * THREADS

    def run(index: int) -> None:
        results[index] = work(index)

    threads = [threading.Thread(target=run, args=[index]) for index in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


class Prepared:
    """What the threads store, other numbers each time; made before, as nobody is to wait for it."""

    numbers: dict[int, list[np.ndarray]] = {}

    @classmethod
    def fill(cls) -> np.ndarray:
        """The first numbers of each that the thread will take."""
        heads = np.random.default_rng().random(ROUNDS, np.float32)
        cls.numbers[threading.get_ident()] = [np.repeat(head, STORED) for head in heads]
        return heads

    @classmethod
    def take(cls) -> np.ndarray:
        mine = cls.numbers.get(threading.get_ident())
        return mine.pop(0) if mine else np.ones(1, np.float32)


class SharedRuntime(trt.IPluginV3OneRuntime):
    """One for all plugins."""

    def __init__(self) -> None:
        trt.IPluginV3OneRuntime.__init__(self)

    def on_shape_change(self, inputs, outputs):
        pass

    def get_fields_to_serialize(self):
        return trt.PluginFieldCollection([trt.PluginField("factor", Prepared.take(), trt.PluginFieldType.FLOAT32)])


class SharingV3(ScaledV3):
    runtime: trt.IPluginV3OneRuntime

    def get_capability_interface(self, type):
        return self.runtime if type == trt.PluginCapabilityType.RUNTIME else self


class SharingV3Creator(ScaledV3Creator):
    make = SharingV3


class SharedDynamic(ScaledDynamic):
    def serialize(self):
        return Prepared.take().tobytes()


class SharedDynamicCreator(ScaledDynamicCreator):
    """Gives out the same plugin for every plan."""

    plugin: ScaledDynamic

    def deserialize_plugin(self, name, data):
        return self.plugin


@pytest.fixture
def creators() -> Iterator[None]:
    SharingV3.runtime = SharedRuntime()
    SharedDynamicCreator.plugin = SharedDynamic()
    registry = trt.get_plugin_registry()
    both = [SharingV3Creator(), SharedDynamicCreator()]
    assert all(registry.register_creator(creator, "") for creator in both)
    yield
    for creator in both:
        registry.deregister_creator(creator)


@pytest.mark.parametrize("plugin", [SharingV3, SharedDynamic])
def test_what_a_shared_object_stores_is_whole_in_every_thread(creators: None, plugin: type) -> None:
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (3,))
    given = plugin()
    if plugin is SharingV3:
        network.mark_output(network.add_plugin_v3([x], [], given).get_output(0))
    else:
        network.mark_output(network.add_plugin_v2([x], given).get_output(0))
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    assert plan is not None
    runtime = trt.Runtime(LOGGER)
    engines = [runtime.deserialize_cuda_engine(plan) for _ in range(THREADS)]

    together = threading.Barrier(THREADS)

    def saved(index: int) -> list[int]:
        """How many of the numbers that it stored are in each plan."""
        heads = Prepared.fill()
        together.wait()
        plans = [bytes(engines[index].serialize()) for _ in heads]
        return [blob.count(head.tobytes()) for blob, head in zip(plans, heads, strict=True)]

    for counts in in_threads(saved):
        assert all(count > 0 and count % STORED == 0 for count in counts), counts


def test_creators_say_their_names_in_every_thread() -> None:
    creator = ScaledV3Creator()
    creator.plugin_version = "7" * (40 << 20)  # Long enough to be read while another thread asks; too long for a name.
    builders = [trt.Builder(LOGGER) for _ in range(THREADS)]
    together = threading.Barrier(THREADS)

    def refused(index: int) -> list[bool]:
        together.wait()
        registry = builders[index].get_plugin_registry()
        return [registry.register_creator(creator, "") for _ in range(4)]

    assert in_threads(refused) == [[False] * 4] * THREADS


def test_the_fields_of_a_call_stay_as_they_were() -> None:
    trt.init_libnvinfer_plugins(LOGGER, "")
    creator = trt.get_plugin_registry().get_creator("InstanceNormalization_TRT", "1", "")
    number, kind = np.ones(1, np.float32), trt.PluginFieldType.FLOAT32
    wanted = [trt.PluginField(name, number, kind) for name in ("epsilon", "scales", "bias")]
    orders = [trt.PluginFieldCollection(wanted), trt.PluginFieldCollection(wanted[::-1])]
    fields = trt.PluginFieldCollection(orders[0])
    isOver = threading.Event()

    def change() -> None:
        while not isOver.is_set():
            for order in orders:
                fields[:] = order

    changing = threading.Thread(target=change)
    changing.start()
    made = [creator.create_plugin("layer", fields) for _ in range(5000)]
    isOver.set()
    changing.join()
    assert None not in made
