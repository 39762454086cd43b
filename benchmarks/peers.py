"""The engines that Tenon is measured against: ONNX Runtime and OpenVINO, each set to float32 and a thread count."""

import os
import pathlib
import time

import numpy as np

os.environ["TENON_DEVICE"] = os.environ.get("TENON_DEVICE") or "cpu"  # Theirs, also where there is a GPU.

Feed = dict[str, np.ndarray]


class OnnxRuntime:
    """ONNX Runtime's CPU provider, all threads within one operator."""

    label = "onnxruntime"

    def __init__(self, path: pathlib.Path, feed: Feed, threads: int) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._feed = feed

    def run(self) -> list[np.ndarray]:
        return self._session.run(None, self._feed)

    @staticmethod
    def version() -> str:
        import onnxruntime

        return onnxruntime.__version__


class OpenVino:
    """OpenVINO's CPU plugin in latency mode, its model reshaped to the shape at hand."""

    label = "openvino"

    def __init__(self, path: pathlib.Path, feed: Feed, threads: int) -> None:
        import openvino

        core = openvino.Core()
        model = core.read_model(path)
        model.reshape({name: list(data.shape) for name, data in feed.items()})
        settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
        self._compiled = core.compile_model(model, "CPU", settings)
        used = int(self._compiled.get_property("INFERENCE_NUM_THREADS"))
        if used != threads:
            raise RuntimeError(f"OpenVINO was asked for {threads} threads and took {used}")
        self._request = self._compiled.create_infer_request()
        self._request.set_tensors({name: openvino.Tensor(data) for name, data in feed.items()})

    def run(self) -> list[np.ndarray]:
        self._request.infer()
        return [self._request.get_output_tensor(i).data for i in range(len(self._compiled.outputs))]

    @staticmethod
    def version() -> str:
        import openvino

        return openvino.__version__


PEERS = (OnnxRuntime, OpenVino)


def timed_runs(engine, count: int) -> float:
    """Seconds per run of `count` consecutive runs."""
    start = time.perf_counter()
    for _ in range(count):
        engine.run()
    return (time.perf_counter() - start) / count
