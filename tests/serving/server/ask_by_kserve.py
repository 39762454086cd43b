"""Asks a server by KServe's own clients, and prints an output of each: ask_by_kserve.py PORT GRPC_PORT"""

import asyncio
import json
import sys

import numpy as np
from kserve import InferenceGRPCClient, InferenceRESTClient, InferInput, InferRequest, RESTConfig


def request() -> InferRequest:
    tensor = InferInput("x", [1, 8], "FP32")
    tensor.set_data_from_numpy(np.ones((1, 8), np.float32))
    return InferRequest("small", [tensor])


async def main(port: str, grpc_port: str) -> None:
    rest = InferenceRESTClient(RESTConfig(protocol="v2"))
    at = f"http://127.0.0.1:{port}"
    assert await rest.is_server_ready(at) and await rest.is_model_ready(at, "small")
    calls = InferenceGRPCClient(f"127.0.0.1:{grpc_port}")
    assert await calls.is_server_ready() and await calls.is_model_ready("small")
    for answer in (await rest.infer(at, request(), model_name="small"), await calls.infer(request())):
        print(json.dumps(answer.outputs[0].as_numpy().tolist()))


asyncio.run(main(*sys.argv[1:]))
