"""A folder of models, and Triton's extensions: by Triton's own clients, over both protocols."""

import asyncio
import contextlib
import json
import os
import pathlib
import uuid
from collections.abc import AsyncIterator, Callable, Iterator

import grpc
import hosted
import numpy as np
import onnx
import pytest
import tritonclient.grpc as triton_grpc
import tritonclient.grpc.aio as grpc_aio
import tritonclient.http as triton_http
import tritonclient.http.aio as http_aio
import tritonclient.utils.shared_memory as shared
from tritonclient.utils import InferenceServerException

X = np.random.default_rng(5).standard_normal((3, 8), np.float32)
Y = X @ hosted.WEIGHTS


def onnx_model(path: pathlib.Path) -> None:
    """y = x · weights · 3."""
    tensors = [("x", ["n", 8]), ("y", ["n", 4])]
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in tensors)
    weights = onnx.numpy_helper.from_array(3 * hosted.WEIGHTS, "w")
    graph = onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [weights])
    opset = onnx.helper.make_opsetid("", 17)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8), path)


def folder(root: pathlib.Path) -> pathlib.Path:
    """small has versions 1, 2 and 10; both, of which 1 and 2 are served; read is ONNX; bad is damaged."""
    for name, version, scale in (("small", 1, 1), ("small", 2, 2), ("small", 10, 10), ("both", 1, 1), ("both", 2, 2)):
        place = root / name / str(version)
        place.mkdir(parents=True)
        hosted.plan(place / "model.plan", scale=scale)
    (root / "both" / "config.toml").write_text('versions = "all"\ncontexts = 0\nmax_batch = 8\n')
    (root / "read" / "1").mkdir(parents=True)
    onnx_model(root / "read" / "1" / "model.onnx")
    (root / "read" / "config.toml").write_text("[[profiles]]\nx = [[1, 8], [4, 8], [16, 8]]\n")
    (root / "bad" / "1").mkdir(parents=True)
    (root / "bad" / "1" / "model.plan").write_bytes(b"damaged")
    return root


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return folder(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def server(models: pathlib.Path) -> Iterator[hosted.Running]:
    with hosted.Running(models, "--allow-control", name=None) as found:
        yield found


@pytest.fixture(params=["http", "grpc"])
def client(request: pytest.FixtureRequest, server: hosted.Running) -> Iterator[object]:
    module, port = (triton_http, server.port) if request.param == "http" else (triton_grpc, server.grpc_port)
    with module.InferenceServerClient(f"127.0.0.1:{port}") as found:
        found.module = module
        yield found


def of(client: object, call: str, *arguments: object, **more: object) -> object:
    """A call's answer as JSON, by either client."""
    if client.module is triton_grpc:
        more["as_json"] = True
    return getattr(client, call)(*arguments, **more)


def ask(client: object, model: str, version: str = "") -> np.ndarray:
    tensor = client.module.InferInput("x", list(X.shape), "FP32")
    tensor.set_data_from_numpy(X)
    return client.infer(model, [tensor], model_version=version).as_numpy("y")


def index(client: object) -> dict[tuple[str, str], dict[str, str]]:
    found = of(client, "get_model_repository_index")
    found = found["models"] if isinstance(found, dict) else found
    return {(each["name"], each.get("version", "")): each for each in found}


def test_versions_are_served_as_the_folder_says(client: object) -> None:
    for model, version, scale in (("small", "", 10), ("small", "10", 10), ("both", "", 2), ("both", "1", 1)):
        np.testing.assert_allclose(ask(client, model, version), scale * Y, rtol=1e-4, atol=1e-4)
        assert client.is_model_ready(model, version)
    np.testing.assert_allclose(ask(client, "read"), 3 * Y, rtol=1e-4, atol=1e-4)
    with pytest.raises(InferenceServerException, match="small, version 2,"):
        ask(client, "small", "2")
    assert of(client, "get_model_metadata", "both")["versions"] == ["1", "2"]


def test_the_index_names_all_models_and_why_one_is_not_served(client: object) -> None:
    found = index(client)
    assert {"small", "both", "read", "bad"} == {name for name, _ in found}
    assert found["both", "2"]["state"] == "READY" and found["small", "10"]["state"] == "READY"
    assert found["bad", ""]["state"] == "UNAVAILABLE" and "model.plan" in found["bad", ""]["reason"]


def test_models_are_loaded_and_unloaded(client: object, models: pathlib.Path) -> None:
    client.unload_model("small")
    assert index(client)["small", ""]["reason"] == "unloaded"
    with pytest.raises(InferenceServerException, match="small"):
        ask(client, "small")
    client.load_model("small")
    np.testing.assert_allclose(ask(client, "small"), 10 * Y, rtol=1e-4, atol=1e-4)
    with pytest.raises(InferenceServerException, match=r"\[model 'bad'\] .*model.plan"):
        client.load_model("bad")
    for call in (client.load_model, client.unload_model):
        with pytest.raises(InferenceServerException, match="nobody"):
            call("nobody")
    with pytest.raises(InferenceServerException, match="'config' is not implemented"):
        client.load_model("small", config="{}")


def test_a_load_takes_what_is_new_and_keeps_the_old_where_that_is_damaged(
    client: object, models: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    name = f"later-{client.module.__name__.rpartition('.')[2]}"
    place = models / name / "1"
    place.mkdir(parents=True)
    hosted.plan(place / "model.plan")
    assert index(client)[name, ""]["reason"] == "not loaded"
    client.load_model(name)
    np.testing.assert_allclose(ask(client, name), Y, rtol=1e-4, atol=1e-4)
    (models / name / "2").mkdir()
    (models / name / "2" / "model.plan").write_bytes(b"damaged")
    with pytest.raises(InferenceServerException, match=f"model '{name}'"):
        client.load_model(name)
    np.testing.assert_allclose(ask(client, name), Y, rtol=1e-4, atol=1e-4)
    assert "damaged" in index(client)[name, "1"]["reason"] or "model.plan" in index(client)[name, "1"]["reason"]
    hosted.plan(models / name / "2" / "model.plan", scale=2)
    client.load_model(name)
    np.testing.assert_allclose(ask(client, name), 2 * Y, rtol=1e-4, atol=1e-4)
    client.unload_model(name)


def test_configuration_and_statistics(client: object) -> None:
    config = of(client, "get_model_config", "both")
    config = config.get("config", config)
    assert config["backend"] == "tenon" and config["input"][0]["data_type"] == "TYPE_FP32"
    assert [int(extent) for extent in config["output"][0]["dims"]] == [-1, 4]

    def answered() -> int:
        found = of(client, "get_inference_statistics", "both", "1")["model_stats"]
        assert len(found) == 1
        return int(found[0]["inference_stats"].get("success", {}).get("count", 0))

    before = answered()
    ask(client, "both", "1")
    assert answered() == before + 1
    assert len(of(client, "get_inference_statistics")["model_stats"]) >= 4


def test_what_is_not_there_is_refused_by_its_name(client: object) -> None:
    for call, arguments, message in (
        ("get_trace_settings", (), "trace settings: not implemented"),
        ("update_trace_settings", (None, {"trace_level": "OFF"}), "trace settings: not implemented"),
        ("get_log_settings", (), "log settings: not implemented"),
        ("update_log_settings", ({"log_info": True},), "log settings: not implemented"),
        ("get_cuda_shared_memory_status", (), "CUDA shared memory: not implemented"),
        ("register_cuda_shared_memory", ("a", b"aGFuZGxl", 0, 64), "CUDA shared memory: not implemented"),
        ("unregister_cuda_shared_memory", (), "CUDA shared memory: not implemented"),
    ):
        with pytest.raises(InferenceServerException, match=message) as refused:
            getattr(client, call)(*arguments)
        assert refused.value.status() in ("501", str(grpc.StatusCode.UNIMPLEMENTED))


def test_calls_that_do_not_wait_and_streams(server: hosted.Running) -> None:
    with triton_http.InferenceServerClient(f"127.0.0.1:{server.port}", concurrency=4) as client:
        tensor = triton_http.InferInput("x", list(X.shape), "FP32")
        tensor.set_data_from_numpy(X)
        for asked in [client.async_infer("both", [tensor]) for _ in range(4)]:
            np.testing.assert_allclose(asked.get_result().as_numpy("y"), 2 * Y, rtol=1e-4, atol=1e-4)
    answers: list[tuple] = []
    with triton_grpc.InferenceServerClient(f"127.0.0.1:{server.grpc_port}") as client:
        tensor = triton_grpc.InferInput("x", list(X.shape), "FP32")
        tensor.set_data_from_numpy(X)
        client.start_stream(lambda result, error: answers.append((result, error)))
        for model in ("both", "nobody", "small"):
            client.async_stream_infer(model, [tensor])
        client.stop_stream()
    assert [error is None for _, error in answers] == [True, False, True] and "nobody" in str(answers[1][1])
    np.testing.assert_allclose(answers[2][0].as_numpy("y"), 10 * Y, rtol=1e-4, atol=1e-4)
    for answer in (answers[0][0], answers[2][0]):  # Some clients read on until they are told so.
        assert answer.get_response().parameters["triton_final_response"].bool_param


def test_tritons_clients_for_asyncio_get_what_the_engine_gives(server: hosted.Running) -> None:
    def tensor(kind: object) -> object:
        found = kind.InferInput("x", list(X.shape), "FP32")
        found.set_data_from_numpy(X)
        return found

    async def asked() -> list[object]:
        async with http_aio.InferenceServerClient(f"127.0.0.1:{server.port}") as client:
            found = [client.infer("both", [tensor(triton_http)]) for _ in range(20)]
            unpacked = client.infer("both", [tensor(triton_http)], response_compression_algorithm="gzip")
            answers = await asyncio.gather(*found, unpacked)
            with pytest.raises(InferenceServerException, match="compressed requests are not implemented"):
                await client.infer("both", [tensor(triton_http)], request_compression_algorithm="gzip")
        async with grpc_aio.InferenceServerClient(f"127.0.0.1:{server.grpc_port}") as client:
            found = [client.infer("both", [tensor(triton_grpc)], compression_algorithm="gzip") for _ in range(20)]
            answers += await asyncio.gather(*found)

            async def requests() -> AsyncIterator[dict[str, object]]:
                for number in range(5):
                    yield {"model_name": "both", "inputs": [tensor(triton_grpc)], "request_id": str(number)}

            streamed = [each async for each in client.stream_infer(requests())]
        assert [(answer.get_response().id, error) for answer, error in streamed] == [(str(n), None) for n in range(5)]
        return [*answers, *(answer for answer, _ in streamed)]

    answers = asyncio.run(asked())
    assert len(answers) == 46
    for answer in answers:
        np.testing.assert_allclose(answer.as_numpy("y"), 2 * Y, rtol=1e-4, atol=1e-4)


@pytest.fixture
def memory() -> Iterator[Callable[[int], tuple[str, object]]]:
    """Makes shared memory as a client does: its key, and Triton's handle."""
    made = []

    def make(size: int) -> tuple[str, object]:
        key = f"/tenon-{uuid.uuid4().hex}"
        made.append(shared.create_shared_memory_region(key[1:], key, size))
        return key, made[-1]

    yield make
    for each in made:
        shared.destroy_shared_memory_region(each)


def test_tensors_go_through_shared_memory(client: object, memory: Callable) -> None:
    client.unregister_system_shared_memory()
    key, handle = memory(X.nbytes + 16 + Y.nbytes)
    shared.set_shared_memory_region(handle, [X])
    client.register_system_shared_memory("ours", key, X.nbytes + 16 + Y.nbytes)
    status = of(client, "get_system_shared_memory_status")
    status = list(status["regions"].values()) if isinstance(status, dict) else status
    assert [(each["name"], each["key"]) for each in status] == [("ours", key)]
    tensor = client.module.InferInput("x", list(X.shape), "FP32")
    tensor.set_shared_memory("ours", X.nbytes)
    wanted = client.module.InferRequestedOutput("y")
    wanted.set_shared_memory("ours", Y.nbytes, X.nbytes + 16)
    for outputs in ([wanted], None):
        result = client.infer("both", [tensor], outputs=outputs, model_version="1")
        if outputs is None:
            found = result.as_numpy("y")
        else:
            told = result.get_output("y")
            assert list(told["shape"] if isinstance(told, dict) else told.shape) == [3, 4]
            found = shared.get_contents_as_numpy(handle, np.float32, [3, 4], X.nbytes + 16)
        np.testing.assert_allclose(found, Y, rtol=1e-4, atol=1e-4)
    client.unregister_system_shared_memory("ours")
    with pytest.raises(InferenceServerException, match="there is no shared memory region 'ours'"):
        client.infer("both", [tensor])


def test_shared_memory_that_lies_is_refused(client: object, memory: Callable) -> None:
    client.unregister_system_shared_memory()
    key, _ = memory(4096)
    for bad, size, offset, message in (
        ("/../etc/passwd", 10, 0, "names no shared memory"),
        ("/", 10, 0, "names no shared memory"),
        ("/tenon-there-is-none", 10, 0, "No such file"),
        (key, 2 << 30, 0, "has 4096"),
        (key, 4096, 1, "asks for 4096 bytes from 1 on"),
        (key, 0, 0, "asks for 0 bytes"),
    ):
        with pytest.raises(InferenceServerException, match=message):
            client.register_system_shared_memory("ours", bad, size, offset)
    client.register_system_shared_memory("ours", key, 4096)
    with pytest.raises(InferenceServerException, match="registered already"):
        client.register_system_shared_memory("ours", key, 4096)

    def asked(rows: int, size: int, offset: int = 0, room: int = 64) -> object:
        tensor = client.module.InferInput("x", [rows, 8], "FP32")
        tensor.set_shared_memory("ours", size, offset)
        wanted = client.module.InferRequestedOutput("y")
        wanted.set_shared_memory("ours", room)
        return client.infer("both", [tensor], outputs=[wanted])

    for arguments, message in (
        ((1, 64), "input 'x' has 64 bytes, but FP32 of shape .* takes 32"),
        ((1, 32, 4095), "takes 32 bytes from 4095 on"),
        ((1 << 26, 2 << 30), "at most .* is taken"),
        ((8, 256, 0, 8), "output 'y' has 128 bytes, but its shared memory has 8"),
        ((8, 256, 0, 1 << 40), "takes 1099511627776 bytes"),
    ):
        with pytest.raises(InferenceServerException, match=rf"\[model 'both'\] .*{message}"):
            asked(*arguments)
    os.truncate(f"/dev/shm{key}", 0)  # A server that had mapped it would end here.
    with pytest.raises(InferenceServerException, match="has been cut off"):
        asked(1, 32)
    assert ask(client, "both").shape == (3, 4)
    os.truncate(f"/dev/shm{key}", 4096)
    assert asked(1, 32) is not None


def test_control_and_shared_memory_need_leave(tmp_path: pathlib.Path) -> None:
    plan = hosted.plan(tmp_path / "small.plan")
    with hosted.Running(plan, "--host", "0.0.0.0") as server:
        for module, port in ((triton_http, server.port), (triton_grpc, server.grpc_port)):
            with module.InferenceServerClient(f"127.0.0.1:{port}") as client:
                for call in (client.load_model, client.unload_model):
                    with pytest.raises(InferenceServerException, match="--allow-control") as refused:
                        call("small")
                    assert refused.value.status() in ("403", str(grpc.StatusCode.PERMISSION_DENIED))
                with pytest.raises(InferenceServerException, match="--allow-shared-memory"):
                    client.register_system_shared_memory("ours", "/ours", 64)


def test_a_stream_needs_the_token(tmp_path: pathlib.Path) -> None:
    (tmp_path / "token").write_text("sesame")
    with hosted.Running(hosted.plan(tmp_path / "small.plan"), "--token-file", str(tmp_path / "token")) as server:
        for headers, is_let_in in (({"authorization": "Bearer sesame"}, True), ({}, False)):
            answers: list[tuple] = []
            with triton_grpc.InferenceServerClient(f"127.0.0.1:{server.grpc_port}") as client:
                tensor = triton_grpc.InferInput("x", list(X.shape), "FP32")
                tensor.set_data_from_numpy(X)
                client.start_stream(lambda result, error, to=answers: to.append((result, error)), headers=headers)
                with contextlib.suppress(
                    InferenceServerException
                ):  # The refusal may be here before the request is sent.
                    client.async_stream_infer("small", [tensor])
                client.stop_stream()
            assert [error is None for _, error in answers] == [is_let_in]


CONFIGURATIONS = {
    "max_batch = ": "config.toml",
    "x = " + "[" * 100_000: "config.toml: maximum recursion depth",
    "max_batches = 4": "'max_batches' is no key",
    'max_batch = "4"': "'max_batch' is no whole number",
    "queue = 2.0": "'queue' is no whole number",
    "max_wait_ms = true": "'max_wait_ms' is no number",
    "max_wait_ms = 1e300": "max_wait is ",
    "max_answer_mb = inf": "config.toml: cannot convert",
    "contexts = 1000000000000": "contexts is 1000000000000, but at most 1024 are",
    "max_batch = 4\n[padding.z]\nvalue = 0": "padding names 'z', which is no input",
    "padding = 3": "'padding' is no table",
    "[padding]\nx = 3": "'padding' is no table",
    "[padding.z]\nvalue = 0": "padding names 'z', which is no input",
    "[padding.x]\nvalue = 0\nstep = 0": "the step of a padding is 0",
    "[padding.x]\nvalue = 0\nstep = 1.5": "the step of a padding is 1.5",
    "[padding.x]\nvalue = '0'": "the value of a padding is '0'",
    "[padding.x]\nvalue = 1e39": "the padding of input 'x' is 1e+39, which ",
    "versions = [3]": "there is no version 3; there are [1]",
    'versions = "newest"': 'must be "latest", "all" or a list',
    "[[profiles]]\nx = [[1, 8]]": "the profile of 'x' is no list of three shapes",
    "[[profiles]]\nx = [['1'], [1], [1]]": "the profile of 'x' is no list of three shapes",
    "contexts = -1": "contexts is -1",
}


def test_a_configuration_that_is_wrong_says_where(tmp_path: pathlib.Path) -> None:
    plan = hosted.plan(tmp_path / "model.plan").read_bytes()
    for number, config in enumerate(["queue = 9", *CONFIGURATIONS]):
        (tmp_path / f"m{number}" / "1").mkdir(parents=True)
        (tmp_path / f"m{number}" / "1" / "model.plan").write_bytes(plan)
        (tmp_path / f"m{number}" / "config.toml").write_text(config)
    with hosted.Running(tmp_path, name=None) as server:
        found = json.loads(server.ask("POST", "/v2/repository/index")[1])
        found.sort(key=lambda each: int(each["name"][1:]))
        assert [each["state"] == "READY" for each in found] == [True] + [False] * len(CONFIGURATIONS)
        for each, message in zip(found[1:], CONFIGURATIONS.values(), strict=True):
            assert each["reason"].startswith(f"[model '{each['name']}'] ") and message in each["reason"]


def test_a_folder_without_a_model_does_not_start(tmp_path: pathlib.Path) -> None:
    with pytest.raises(AssertionError, match="has no model that can be served"):
        with hosted.Running(tmp_path, name=None):
            pass


def test_json_of_the_routes_is_checked(server: hosted.Running) -> None:
    for path in ("repository/index", "systemsharedmemory/region/a/register"):
        for body in (b"{", b"[]"):
            assert server.ask("POST", f"/v2/{path}", body)[0] == 400
    assert server.ask("POST", "/v2/systemsharedmemory/region/a/register", b'{"key": 3, "byte_size": 1}')[0] == 400
    assert server.ask("POST", "/v2/systemsharedmemory/region/a/register", b" " * 99_999)[0] == 413
    status, body, _ = server.ask("POST", "/v2/repository/index", b'{"ready": true}')
    assert status == 200 and all(each["state"] == "READY" for each in json.loads(body))
