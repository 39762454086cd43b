"""Deployments of Ray Serve answer what the engine answers, however the plan came, and whoever dies meanwhile."""

import concurrent.futures
import os
import pathlib
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from typing import Self

import cluster
import hosted
import numpy as np
import pytest
import ray
import tensorrt as trt
import tritonclient.http as triton_http
from ray import serve
from tenon.serving import BadRequest, DeadlineExceeded, Pool
from tenon.serving.fitting import threads
from tenon.serving.ray import Client, deployment
from tenon.serving.ray.loading import Loaded

X = np.random.default_rng(5).standard_normal((3, 8), np.float32)
Y = X @ hosted.WEIGHTS
ONE_CPU = {"num_cpus": 1}


PORT = hosted.free_ports(1)[0]


@pytest.fixture(scope="module", autouse=True)
def node() -> Iterator[None]:
    with cluster.serving(6, PORT):
        yield


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return hosted.plan(tmp_path_factory.mktemp("plans") / "small.plan")


def in_working_directory(plan: pathlib.Path) -> tuple[object, dict]:
    """As a URL of Ray's runtime environment, which brings a folder."""
    archive = shutil.make_archive(str(plan.parent / "models"), "zip", plan.parent, plan.name)
    return plan.name, {"runtime_env": {"working_dir": f"file://{archive}"}}


@pytest.mark.parametrize(
    "given",
    [
        lambda plan: (str(plan), {}),
        lambda plan: (plan, {}),
        lambda plan: (plan.read_bytes(), {}),
        lambda plan: (ray.put(plan.read_bytes()), {}),
        in_working_directory,
    ],
    ids=["path", "pathlib", "bytes", "object", "url"],
)
def test_a_plan_comes_in_any_way(small: pathlib.Path, given: Callable[[pathlib.Path], tuple[object, dict]]) -> None:
    plan, more = given(small)
    made = deployment(plan, name="small", ray_actor_options=ONE_CPU | more)
    client = Client(serve.run(made, name="ways", route_prefix=None))
    np.testing.assert_allclose(client.infer({"x": X})["y"], Y, rtol=1e-4, atol=1e-5)
    assert client.repeated == 0
    serve.delete("ways")


def test_replicas_of_a_node_have_a_plan_once(small: pathlib.Path) -> None:
    made = deployment({"first": small, "second": small.read_bytes()}, num_replicas=3, ray_actor_options=ONE_CPU)
    handle = serve.run(made, name="shared", route_prefix=None)
    replicas = cluster.processes("ServeReplica:shared")
    assert len(replicas) == 3
    mapped = [cluster.plans_in(each) for each in replicas]
    assert len(mapped[0]) == 2 and mapped.count(mapped[0]) == 3
    for model in ("first", "second"):
        np.testing.assert_allclose(Client(handle, model).infer({"x": X})["y"], Y, rtol=1e-4, atol=1e-5)
    with pytest.raises(BadRequest, match="there is no model 'third'; the models are 'first', 'second'"):
        Client(handle, "third").infer({"x": X})
    serve.delete("shared")


@ray.remote
class Actor:
    def threads(self, plan: pathlib.Path) -> tuple[int, int]:
        """Of its engine's runs, and of its pools."""
        return Loaded("small", plan, False, lambda _: {}).runtime.max_threads, threads()


@pytest.mark.parametrize("cpus, count", [(0.5, 1), (1, 1), (3, 3)])
def test_an_engine_has_as_many_threads_as_its_actor_has_cpus(small: pathlib.Path, cpus: float, count: int) -> None:
    assert ray.get(Actor.options(num_cpus=cpus).remote().threads.remote(small)) == (count, count)


def test_replicas_have_the_niceness_that_the_deployment_says(small: pathlib.Path) -> None:
    """As the page has it for machines that do other work as well; Ray adds it to that of its own processes."""
    runtime = {"runtime_env": {"env_vars": {"RAY_worker_niceness": "5"}}}
    serve.run(deployment(small, ray_actor_options=ONE_CPU | runtime), name="nice", route_prefix=None)
    (replica,) = cluster.processes("ServeReplica:nice")
    assert os.getpriority(os.PRIO_PROCESS, replica) == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 5)
    serve.delete("nice")


def test_requests_share_runs_and_mistakes_come_back(small: pathlib.Path) -> None:
    made = deployment(small, max_batch=16, max_wait=1.0, ray_actor_options=ONE_CPU)
    handle = serve.run(made, name="batched", route_prefix=None)
    client = Client(handle)
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        rows = [X[index % 3][None] for index in range(16)]
        answers = list(threads.map(lambda row: client.infer({"x": row})["y"], rows))
    for row, answer in zip(rows, answers, strict=True):
        np.testing.assert_allclose(answer, row @ hosted.WEIGHTS, rtol=1e-4, atol=1e-5)
    assert time.monotonic() - begun < 8  # One run, not sixteen that wait for company.
    with pytest.raises(BadRequest, match=r"input 'x' has shape \[3, 7\]"):
        client.infer({"x": np.ascontiguousarray(X[:, :7])})
    with pytest.raises(DeadlineExceeded):
        client.infer({"x": X}, timeout=0.2)
    serve.delete("batched")


def test_threads_that_ask_at_once_are_counted_together(small: pathlib.Path) -> None:
    """By Serve's autoscaler, which hears of a handle from its router: one that threads use makes one for each.

    What the others have under way it did not see then, and no replica was added, however many asked.
    """
    handle = serve.run(deployment(small, ray_actor_options=ONE_CPU), name="counted", route_prefix=None)
    create, routers = handle._create_router, []

    def slowly(**options: object) -> object:
        time.sleep(0.5)  # All threads are here before the first has made its router.
        routers.append(create(**options))
        return routers[-1]

    handle._create_router = slowly
    client = Client(handle)
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        for found in threads.map(lambda _: client.infer({"x": X})["y"], range(8)):
            np.testing.assert_allclose(found, Y, rtol=1e-4, atol=1e-5)
    assert len(routers) == 1
    serve.delete("counted")


def test_tritons_client_asks_through_rays_proxy(small: pathlib.Path) -> None:
    serve.run(deployment({"small": small}, ray_actor_options=ONE_CPU), name="http", route_prefix="/")
    with triton_http.InferenceServerClient(f"127.0.0.1:{PORT}") as client:
        assert client.is_server_ready() and client.is_model_ready("small") and not client.is_model_ready("other")
        assert client.get_model_metadata("small")["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 8]}]
        for is_binary in (True, False):
            tensor = triton_http.InferInput("x", list(X.shape), "FP32")
            tensor.set_data_from_numpy(X, binary_data=is_binary)
            wanted = triton_http.InferRequestedOutput("y", binary_data=is_binary)
            found = client.infer("small", [tensor], outputs=[wanted], request_id="7")
            np.testing.assert_allclose(found.as_numpy("y"), Y, rtol=1e-4, atol=1e-5)
            assert found.get_response()["id"] == "7"
        tensor = triton_http.InferInput("x", [1, 9], "FP32")
        tensor.set_data_from_numpy(np.zeros((1, 9), np.float32))
        with pytest.raises(triton_http.InferenceServerException, match=r"\[model 'small'\] input 'x'"):
            client.infer("small", [tensor])
    serve.delete("http")


@pytest.mark.parametrize("plan, why", [("nowhere.plan", "cannot be read"), (b"damaged", "a plan")])
def test_a_plan_that_cannot_be_loaded_ends_the_deployment_with_the_reason(plan: object, why: str) -> None:
    with pytest.raises(RuntimeError):
        serve.run(deployment(plan, name="bad"), name="bad", route_prefix=None)
    about = serve.status().applications["bad"].deployments["bad"].message
    assert "[model '" in about and why in about
    serve.delete("bad")


class Asking:
    """Callers who ask without a pause, each for a picture after the other, until they are told that it is enough."""

    def __init__(self, client: Client, pictures: np.ndarray, expected: list[np.ndarray], callers: int) -> None:
        self._client, self._pictures, self._expected = client, pictures, expected
        self._is_over = False
        self.answered, self.wrong = [0] * callers, 0
        self._threads = concurrent.futures.ThreadPoolExecutor(callers)

    def __enter__(self) -> Self:
        self._callers = [self._threads.submit(self._ask, number) for number in range(len(self.answered))]
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        self._is_over = True
        self._threads.shutdown()
        if kind is None:
            for caller in self._callers:
                caller.result()

    def _ask(self, number: int) -> None:
        while not self._is_over:
            picture = (number + self.answered[number]) % len(self._pictures)
            found = self._client.infer({"x": self._pictures[picture]}, timeout=hosted.PATIENCE)["y"]
            self.wrong += not np.array_equal(found, self._expected[picture])
            self.answered[number] += 1

    def about(self) -> str:
        lost = [str(caller.exception()) for caller in self._callers if caller.done()]
        return f"answered {self.answered}, {self._client.repeated} asked again, callers who gave up: {lost}"


def test_no_request_is_lost_when_replicas_are_killed(tmp_path: pathlib.Path, record_property: Callable) -> None:
    """Under load, of an autoscaled deployment, one after another; the answers are those of the engine, to the bit."""
    plan = cluster.heavy_plan(tmp_path / "heavy.plan")
    scaling = {"min_replicas": 2, "max_replicas": 3, "target_ongoing_requests": 2}
    scaling |= {"upscale_delay_s": 0.5, "metrics_interval_s": 0.2, "look_back_period_s": 1.0}
    made = deployment(plan, autoscaling_config=scaling, health_check_period_s=1, ray_actor_options=ONE_CPU)
    client = Client(serve.run(made, name="killed", route_prefix=None), attempts=10)
    pictures = np.random.default_rng(7).standard_normal((8, 1, *cluster.SHAPE), np.float32)
    engine = trt.Runtime(trt.Logger(trt.Logger.ERROR)).deserialize_cuda_engine(plan.read_bytes())
    with Pool(engine) as pool:
        expected = [pool.infer({"x": picture})["y"] for picture in pictures]
    killed: set[int] = set()

    def about() -> str:
        found = {each: bool(cluster.plans_in(each)) for each in cluster.processes("ServeReplica:killed")}
        return f"replicas, and whether they have the plan: {found}; {asking.about()}; {serve.status().applications}"

    def alive() -> list[int]:
        return [each for each in cluster.processes("ServeReplica:killed") if each not in killed]

    def those_that_serve(count: int) -> list[int]:
        found = [each for each in alive() if cluster.plans_in(each)]
        return found if len(found) >= count else []

    def all_have_answers() -> bool:
        return all(now > before for now, before in zip(asking.answered, earlier, strict=True))

    with Asking(client, pictures, expected, callers=8) as asking:
        for number, count in enumerate((3, 2, 2)):  # Scaled up before the first dies.
            begun = time.monotonic()
            replica = cluster.until(f"{count} replicas", lambda least=count: those_that_serve(least), about)[0]
            os.kill(replica, signal.SIGKILL)
            killed.add(replica)
            earlier = list(asking.answered)
            cluster.until(f"an answer for all behind the end of replica {number + 1}", all_have_answers, about)
            record_property(f"seconds for replica {number + 1}", round(time.monotonic() - begun, 1))
    record_property("answered", sum(asking.answered))
    record_property("asked again", client.repeated)
    assert len(killed) == 3 and not asking.wrong, (killed, asking.wrong)
    assert sum(asking.answered) > 100 and client.repeated > 0, asking.about()
    serve.delete("killed")
