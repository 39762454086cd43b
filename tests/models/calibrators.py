"""Calibrators over feeds in memory."""

import numpy as np
import tensorrt as trt


class Feeds:
    """Gives each feed once; `tensors` holds the lines of the cache that comes of it."""

    def __init__(self, feeds: list[dict[str, np.ndarray]]) -> None:
        super().__init__()
        self._feeds = list(feeds)
        self._now: list[np.ndarray] = []
        self.tensors: list[str] = []

    def get_batch_size(self) -> int:
        return 1

    def get_batch(self, names: list[str]) -> list[int] | None:
        if not self._feeds:
            return None
        feed = self._feeds.pop()
        self._now = [np.ascontiguousarray(feed[name]) for name in names]  # Addresses keep nothing alive.
        return [array.ctypes.data for array in self._now]

    def read_calibration_cache(self) -> None:
        return None

    def write_calibration_cache(self, cache: bytes) -> None:
        self.tensors = bytes(cache).decode().splitlines()[1:]


class Entropy(Feeds, trt.IInt8EntropyCalibrator2):
    """Ranges that keep the most of the values' distribution."""


class MinMax(Feeds, trt.IInt8MinMaxCalibrator):
    """Ranges that hold every value."""
