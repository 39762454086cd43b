"""The deployment that browsers talk to: takes a picture, asks the three models, answers boxes and text."""

import asyncio
import io
import pathlib
import queue
import time

import numpy as np
import skimage.data
from fit import run_within
from models import CLASSIFIER, DETECTOR, RECOGNIZER, Network
from PIL import Image, UnidentifiedImageError
from rapidocr_onnxruntime import RapidOCR
from ray import serve
from ray.serve.handle import DeploymentHandle
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from tenon.serving import PoolError
from tenon.serving.ray import Client

INDEX = pathlib.Path(__file__).parent / "index.html"
AT_ONCE = 2
LARGEST = 16 << 20  # Bytes of a picture.


class Remote:
    """Stands where RapidOCR keeps a session: called with one array, answers a list of arrays."""

    def __init__(self, network: Network, model: DeploymentHandle) -> None:
        self._network, self._client = network, Client(model)

    def __call__(self, data: np.ndarray) -> list[np.ndarray]:
        return [run_within(self._network, self._run, data)]

    def _run(self, data: np.ndarray) -> np.ndarray:
        (output,) = self._client.infer({"x": np.ascontiguousarray(data, np.float32)}).values()
        return output


def reader_on(detector: DeploymentHandle, classifier: DeploymentHandle, recognizer: DeploymentHandle) -> RapidOCR:
    """RapidOCR, complete with its character table, whose networks run elsewhere."""
    reader = RapidOCR()
    reader.text_det.infer = Remote(DETECTOR, detector)
    reader.text_cls.infer = Remote(CLASSIFIER, classifier)
    reader.text_rec.session = Remote(RECOGNIZER, recognizer)
    return reader


@serve.deployment(max_ongoing_requests=AT_ONCE, ray_actor_options={"num_cpus": 0.5})
class Pages:
    def __init__(self, detector: DeploymentHandle, classifier: DeploymentHandle, recognizer: DeploymentHandle) -> None:
        self._readers: queue.SimpleQueue[RapidOCR] = queue.SimpleQueue()
        for _ in range(AT_ONCE):
            self._readers.put(reader_on(detector, classifier, recognizer))

    async def __call__(self, request: Request) -> Response:
        if request.url.path == "/":
            return Response(INDEX.read_bytes(), media_type="text/html; charset=utf-8")
        if request.url.path == "/example.png":
            picture = io.BytesIO()
            Image.fromarray(skimage.data.page()).save(picture, "PNG")
            return Response(picture.getvalue(), media_type="image/png")
        if request.url.path != "/read" or request.method != "POST":
            return JSONResponse({"error": f"there is no {request.method} {request.url.path}"}, 404)
        body = await request.body()
        if len(body) > LARGEST:
            return JSONResponse({"error": f"the picture has {len(body)} bytes; {LARGEST} at most are taken"}, 413)
        try:
            return JSONResponse(await asyncio.to_thread(self._read, body))
        except UnidentifiedImageError:
            return JSONResponse({"error": "no picture that can be read: its format is none of those known here"}, 400)
        except (Image.DecompressionBombError, OSError) as error:
            return JSONResponse({"error": f"no picture that can be read: {error}"}, 400)
        except PoolError as error:
            return JSONResponse({"error": str(error)}, 503)

    def _read(self, body: bytes) -> dict:
        picture = Image.open(io.BytesIO(body)).convert("RGB")
        reader, begun = self._readers.get(), time.perf_counter()
        try:
            found, _ = reader(np.asarray(picture)[:, :, ::-1])  # As OpenCV has them: blue first.
        finally:
            self._readers.put(reader)
        lines = [{"box": corners, "text": text, "score": float(score)} for corners, text, score in found or []]
        took = 1e3 * (time.perf_counter() - begun)
        return {"width": picture.width, "height": picture.height, "lines": lines, "milliseconds": took}
