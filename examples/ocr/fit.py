"""Cuts or shrinks input that exceeds a plan's profile."""

from collections.abc import Callable

import cv2
import numpy as np
from networks import Network

Run = Callable[[np.ndarray], np.ndarray]


def run_within(network: Network, run: Run, data: np.ndarray) -> np.ndarray:
    """`run` on images (batch x 3 x height x width) of any count and size, a profile's worth at a time.

    RapidOCR maps the detector's map and the recognizer's columns back by their own size, so a result for smaller
    images needs no enlarging.
    """
    data = shrunk(data, network.largest[2:])
    step = network.largest[0]
    parts = [run(data[start : start + step]) for start in range(0, len(data), step)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def shrunk(data: np.ndarray, limit: tuple[int, int]) -> np.ndarray:
    """The images, resized where they are higher or wider than the limit."""
    height, width = (min(have, most) for have, most in zip(data.shape[2:], limit, strict=True))
    if (height, width) == data.shape[2:]:
        return data
    resized = [cv2.resize(image.transpose(1, 2, 0), (width, height), interpolation=cv2.INTER_AREA) for image in data]
    return np.ascontiguousarray(np.stack(resized).transpose(0, 3, 1, 2))
