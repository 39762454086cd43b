"""Setters that Python reaches while other threads are at work without the interpreter's lock."""

import gc
import pathlib
import subprocess
import sys
import weakref

import numpy as np
import pytest
import small
import tensorrt as trt
import thread_stress


@pytest.fixture
def logger() -> small.Recorder:
    return small.Recorder()


@pytest.mark.parametrize("what", ["watchers", "makers"])
def test_B2_whatever_objects_hold_may_be_replaced_while_other_threads_use_them(what: str) -> None:
    program = pathlib.Path(thread_stress.__file__)
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", program, what, "3"],
        capture_output=True,
        text=True,
        timeout=small.PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_G11_a_build_leaves_the_monitor_of_its_config_where_it_is(logger: small.Recorder) -> None:
    builder = trt.Builder(logger)
    config, found = builder.create_builder_config(), []

    class Looking(thread_stress.Progress):
        def step_complete(self, name: str, step: int) -> bool:
            found.append(config.progress_monitor is self)
            config.progress_monitor = other
            return True

    other = thread_stress.Progress()
    config.progress_monitor = looking = Looking()
    assert builder.build_serialized_network(thread_stress.network_of(builder), config)
    assert found[0] and not any(found[1:]), "it has another monitor from the first step on"
    assert config.progress_monitor is other and looking is not other


def test_O2_an_allocator_that_is_set_while_an_engine_loads_lives_as_long_as_that(logger: small.Recorder) -> None:
    builder, runtime = trt.Builder(logger), trt.Runtime(logger)
    plan = bytes(builder.build_serialized_network(thread_stress.network_of(builder), builder.create_builder_config()))

    class Setting(trt.IStreamReader):
        at = 0

        def read(self, size: int) -> bytes:
            runtime.gpu_allocator = kept[0]
            part = plan[self.at : self.at + size]
            self.at += len(part)
            return part

    kept = [thread_stress.Memory()]
    seen = weakref.ref(kept[0])
    engine = runtime.deserialize_cuda_engine(Setting())
    runtime.gpu_allocator = None
    kept.clear()
    gc.collect()
    assert seen() is not None, "the engine has its memory from it"
    context = engine.create_execution_context()
    x, y = np.ones((64, 8), np.float32), np.zeros((64, 8), np.float32)
    assert context.execute_v2([x, y]) and np.allclose(y, np.tanh(1 / 8))
    del context, engine
    gc.collect()
    assert seen() is None
