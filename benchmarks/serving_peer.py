"""tenon serve with ONNX Runtime in each lane: serving_peer.py MODEL.onnx THREADS, then options of tenon serve.

All else is the same: protocol, queue, batches. The plan tells names, types and profiles.
"""

import functools
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime
import tenon.serving.pool
from tenon.serving import __main__ as program
from tenon.serving.lane import Lane
from tenon.serving.ports import Profile


@functools.cache
def session(model: str, threads: int) -> onnxruntime.InferenceSession:
    """One for all lanes: weights are in memory once, as with an engine."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


class Peer(Lane):
    model, threads = "", 0

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._session = session(self.model, self.threads)

    def run(self, profile: Profile, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        names = list(self._outputs)
        return dict(zip(names, self._session.run(names, dict(inputs)), strict=True))


if __name__ == "__main__":
    Peer.model, Peer.threads = sys.argv[1], int(sys.argv[2])
    del sys.argv[1:3]
    tenon.serving.pool.Lane = Peer
    sys.exit(program.main())
