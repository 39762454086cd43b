"""Asks a server all that KServe's own clients can, and prints an output of each: ask_by_kserve.py PORT GRPC_PORT"""

import asyncio
import json
import sys
from collections.abc import Awaitable

import grpc
import httpx
import numpy as np
from kserve import InferenceGRPCClient, InferenceRESTClient, InferInput, InferRequest, RESTConfig


def request(model: str = "small", extent: int = 8) -> InferRequest:
    tensor = InferInput("x", [1, extent], "FP32")
    tensor.set_data_from_numpy(np.ones((1, extent), np.float32))
    return InferRequest(model, [tensor])


async def refusal(call: Awaitable[object]) -> str:
    """The status and the words of what it raises."""
    try:
        return f"nothing but {await call}"
    except httpx.HTTPStatusError as error:
        return f"{error.response.status_code} {error}"
    except grpc.RpcError as error:
        return f"{error.code().name} {error.details()}"


async def main(port: str, grpc_port: str) -> None:
    rest = InferenceRESTClient(RESTConfig(protocol="v2"))
    at = f"http://127.0.0.1:{port}"
    calls = InferenceGRPCClient(f"127.0.0.1:{grpc_port}")
    assert await rest.is_server_ready(at) and await rest.is_server_live(at) and await rest.is_model_ready(at, "small")
    assert await calls.is_server_ready() and await calls.is_server_live() and await calls.is_model_ready("small")
    assert not await rest.is_model_ready(at, "nobody")
    shape = "[model 'small'] input 'x' has shape [1, 7], but extent 1 is 8"
    for call, start, words in (
        (rest.infer(at, request("nobody"), model_name="nobody"), "404 ", "nobody"),
        (rest.infer(at, request(extent=7), model_name="small"), "400 ", shape),
        (calls.is_model_ready("nobody"), "NOT_FOUND ", "nobody"),
        (calls.infer(request("nobody")), "NOT_FOUND ", "nobody"),
        (calls.infer(request(extent=7)), "INVALID_ARGUMENT ", shape),
    ):
        found = await refusal(call)
        assert found.startswith(start) and words in found, (start, words, found)
    for answer in (await rest.infer(at, request(), model_name="small"), await calls.infer(request())):
        print(json.dumps(answer.outputs[0].as_numpy().tolist()))


asyncio.run(main(*sys.argv[1:]))
