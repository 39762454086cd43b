"""Answers of the wrong kind from classes that users write count as null, false or a failure, and are said (X2, R9)."""

import json

import numpy as np
import pytest
import small
import tensorrt as trt

#: Calls of the interfaces that users implement, with arguments; the answer that stands for a failure.
CALLS = {
    "IGpuAllocator": [
        ("allocate", "64, 16, 0", 0),
        ("reallocate", "64, 16, 32", 0),
        ("deallocate", "64", False),
        ("allocate_async", "64, 16, 0, 0", 0),
        ("deallocate_async", "64, 0", False),
    ],
    "IGpuAsyncAllocator": [
        ("allocate_async", "64, 16, 0, 0", 0),
        ("deallocate_async", "64, 0", False),
        ("reallocate", "64, 16, 32", 0),
    ],
    "IOutputAllocator": [
        ("reallocate_output", "'y', 0, 64, 16", 0),
        ("reallocate_output_async", "'y', 0, 64, 16, 0", 0),
        ("notify_shape", "'y', trt.Dims([2])", None),
    ],
    "IErrorRecorder": [
        ("num_errors", "", 0),
        ("get_error_code", "0", int(trt.ErrorCodeTRT.UNSPECIFIED_ERROR)),
        ("get_error_desc", "0", ""),
        ("has_overflowed", "", False),
        ("clear", "", None),
        ("report_error", "trt.ErrorCodeTRT.INTERNAL_ERROR, 'e'", False),
    ],
    "IProgressMonitor": [
        ("phase_start", "'a', None, 1", None),
        ("step_complete", "'a', 1", False),
        ("phase_finish", "'a'", None),
    ],
    "IProfiler": [("report_layer_time", "'l', 1.0", None)],
    "IDebugListener": [
        ("process_debug_tensor", "64, trt.TensorLocation.DEVICE, trt.float32, trt.Dims([2]), 't', 0", None)
    ],
    "IStreamReader": [("read", "memory, 4", -1)],
    "IStreamReaderV2": [("read", "memory, 4, 0", -1), ("seek", "1, trt.SeekPosition.SET", False)],
    "IStreamWriter": [("write", "memory, 4", -1)],
    "ILogger": [("log", "trt.ILogger.ERROR, 'm'", None)],
}

SCRIPT = """
import ctypes, json, os, sys, tempfile
import numpy as np
import tensorrt as trt

class Unprintable:
    def fails(self, *_):
        raise RuntimeError("not even that")
    __repr__ = __bool__ = __int__ = __index__ = __float__ = __len__ = fails


def raises(*_):
    raise LookupError("from the override")

WRONG = {"minus": -1, "65 bits": 1 << 64, "200 bits": -1 << 200, "bool": True, "float": 1.5, "text": "xxxxx",
    "list": [1], "object": object(), "unprintable": Unprintable(), "type": int, "array": np.ones(3), "none": None}
room = ctypes.create_string_buffer(64)
memory = ctypes.addressof(room)

def answer(base, name, wrong):
    call = raises if wrong == "raise" else lambda *_: WRONG[wrong]
    mine = type("Mine", (base,), {"__init__": lambda self: base.__init__(self), name: call})()
    with tempfile.TemporaryFile() as said:
        kept = os.dup(2)
        os.dup2(said.fileno(), 2)
        got = getattr(base, name)(mine, ARGUMENTS)
        sys.stderr.flush()
        os.dup2(kept, 2)
        said.seek(0)
        return [got, said.read().decode()]

print(json.dumps({wrong: answer(trt.BASE, "NAME", wrong) for wrong in [*WRONG, "raise"]}, default=int))
"""


@pytest.mark.parametrize(
    ("base", "name", "arguments", "failure"), [(base, *call) for base, calls in CALLS.items() for call in calls]
)
def test_X2_R9_no_answer_of_an_override_ends_the_process(base: str, name: str, arguments: str, failure: object) -> None:
    text = SCRIPT.replace("ARGUMENTS", arguments).replace("BASE", base).replace("NAME", name)
    done = small.script(text)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert results["raise"][0] == failure and "from the override" in results["raise"][1]
    for wrong, (got, said) in results.items():
        assert type(got) is type(failure), wrong
        if "allocate" not in name or failure is False:
            continue
        assert got == 0, wrong  # Nothing of these is an address.
        assert wrong in ("none", "raise", "unprintable") or f"{name} answered with" in said, wrong
    if type(failure) is bool:
        assert results["none"][0] is (name == "step_complete") and "not even that" in results["unprintable"][1]
    if type(failure) in (int, str) and "allocate" not in name:
        assert results["none"] == [failure, results["none"][1]] and results["none"][1] != ""
        assert results["object"] == [failure, results["object"][1]] and results["object"][1] != ""


def last(logger: small.Recorder) -> str:
    return logger.errors().split("\n")[-1]


def test_R9_a_run_goes_on_after_an_allocator_that_answers_nonsense() -> None:
    class Nonsense(trt.IOutputAllocator):
        def __init__(self) -> None:
            trt.IOutputAllocator.__init__(self)
            self.answers = [-1, 1 << 64, True, "x", 2.5]

        def reallocate_output(self, *_: object) -> object:
            return self.answers.pop(0) if self.answers else self.kept.ctypes.data

        def notify_shape(self, *_: object) -> None:
            pass

    logger, mine = small.Recorder(), Nonsense()
    context = small.engine(logger).create_execution_context()
    x = small.inputs()
    context.set_input_shape("x", x.shape)
    context.set_tensor_address("x", x)
    mine.kept = np.empty((3, 4), np.float32)
    assert context.set_output_allocator("y", mine)
    for number, said in enumerate(["-1", str(1 << 64), "True", "'x'", "2.5"], 1):
        assert not context.execute_async_v3(0) and logger.errors().count("gave no 48 bytes") == number
        assert f"output 'y' gave no 48 bytes: reallocate_output answered with {said}, which is no address" in last(
            logger
        )
    assert context.execute_async_v3(0)
    np.testing.assert_allclose(mine.kept, small.want(x), atol=1e-5)


class Answering(trt.IGpuAllocator):
    """Gives no memory, but what stands for it."""

    def __init__(self, answer: object) -> None:
        trt.IGpuAllocator.__init__(self)
        self.answer = answer

    def allocate(self, size: int, alignment: int, flags: int) -> object:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def deallocate(self, memory: int) -> bool:
        return True


@pytest.mark.parametrize(
    ("answer", "said"),
    [("mine", "allocate answered with 'mine', which is no address"), (None, "allocate answered with None")]
    + [(LookupError("all gone"), "LookupError: all gone"), ([1], "allocate answered with [1]")],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_R9_messages_name_what_an_allocator_answered(answer: object, said: str) -> None:
    logger = small.Recorder()
    runtime = trt.Runtime(logger)
    runtime.gpu_allocator = Answering(answer)
    engine = runtime.deserialize_cuda_engine(small.plan(logger, network=small.chain))
    context = None if engine is None else engine.create_execution_context()
    if context is not None:
        x, y = small.inputs(), np.empty((3, 4), np.float32)
        assert context.set_input_shape("x", x.shape)
        assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
        assert not context.execute_async_v3(0)
    assert "the allocator of the user gave none: " in last(logger) and said in last(logger)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_R9_the_recorder_hears_why_an_output_has_no_memory() -> None:
    """Of the asynchronous call, too; a reason is said once."""

    class Later(trt.IOutputAllocator):
        def __init__(self) -> None:
            trt.IOutputAllocator.__init__(self)
            self.answers = [RuntimeError("no room"), None, 0]

        def reallocate_output_async(self, *_: object) -> object:
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        def notify_shape(self, *_: object) -> None:
            raise AssertionError("there is no memory")

    class Errors(trt.IErrorRecorder):
        def __init__(self) -> None:
            trt.IErrorRecorder.__init__(self)
            self.told: list[tuple[trt.ErrorCodeTRT, str]] = []

        def report_error(self, code: trt.ErrorCodeTRT, desc: str) -> bool:
            self.told.append((code, desc))
            return True

    errors, mine, x = Errors(), Later(), small.inputs()
    context = small.engine(small.Recorder()).create_execution_context()
    context.error_recorder = errors
    assert context.set_input_shape("x", x.shape) and context.set_tensor_address("x", x)
    assert context.set_output_allocator("y", mine)
    for why in (": RuntimeError: no room", ": reallocate_output_async answered with None", ""):
        assert not context.execute_async_v3(0)
        code, text = errors.told.pop()
        assert code == trt.ErrorCodeTRT.FAILED_ALLOCATION and text.endswith(f"output 'y' gave no 48 bytes{why}")
    assert errors.told == []
