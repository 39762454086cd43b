"""The example of a service: a browser shows the boxes and the text that RapidOCR finds on ONNX Runtime."""

import html
import http.client
import io
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import hosted
import numpy as np
import pytest
import skimage.data
from PIL import Image
from rapidocr_onnxruntime import RapidOCR

PROGRAM = pathlib.Path(__file__).parents[3] / "examples" / "serving" / "serve_pages.py"
PAGE = Image.fromarray(skimage.data.page())


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder, found = tmp_path_factory.mktemp("pages"), hosted.free_ports(1)[0]
    command = [sys.executable, PROGRAM, "--port", str(found), "--plans", folder]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    until = time.monotonic() + 2 * hosted.PATIENCE
    while f"http://127.0.0.1:{found}\n" not in (folder / "log").read_text():
        assert process.poll() is None and time.monotonic() < until, (folder / "log").read_text()
        time.sleep(0.2)
    yield found
    process.send_signal(signal.SIGTERM)
    process.wait(hosted.PATIENCE)


@pytest.fixture(scope="module")
def expected() -> list:
    found, _ = RapidOCR()(np.asarray(PAGE.convert("RGB"))[:, :, ::-1])
    assert len(found) > 3
    return found


def post(port: int, path: str, body: bytes) -> tuple[int, dict]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=hosted.PATIENCE)
    connection.request("POST", path, body)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def test_a_page_is_read_as_onnx_runtime_reads_it(port: int, expected: list) -> None:
    picture = io.BytesIO()
    PAGE.save(picture, "PNG")
    status, found = post(port, "/read", picture.getvalue())
    assert status == 200 and (found["width"], found["height"]) == PAGE.size
    assert [line["text"] for line in found["lines"]] == [text for _, text, _ in expected]
    for line, (corners, _, score) in zip(found["lines"], expected, strict=True):
        np.testing.assert_allclose(line["box"], corners, atol=2)
        assert abs(line["score"] - score) < 0.01


def test_what_is_no_picture_is_refused(port: int) -> None:
    status, found = post(port, "/read", b"no picture")
    assert status == 400 and found["error"].startswith("no picture that can be read: its format")
    assert post(port, "/write", b"")[0] == 404
    assert post(port, "/read", bytes((16 << 20) + 1))[0] == 413


def browsed(address: str, folder: pathlib.Path) -> str:
    """The document as a browser has it after its program has run."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed (Debian: apt install chromium)")
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}"]
    command += ["--window-size=1200,900", "--virtual-time-budget=60000", "--dump-dom", address]
    return subprocess.run(command, capture_output=True, text=True, timeout=2 * hosted.PATIENCE, check=True).stdout


def test_a_browser_shows_a_box_and_a_line_for_each(port: int, expected: list, tmp_path: pathlib.Path) -> None:
    document = browsed(f"http://127.0.0.1:{port}/#example", tmp_path)
    lines = [html.unescape(text) for text in re.findall(r"<li[^>]*>([^<]*)</li>", document)]
    assert lines == [text for _, text, _ in expected]
    assert f'viewBox="0 0 {PAGE.width} {PAGE.height}"' in document
    boxes = [np.fromstring(points.replace(",", " "), sep=" ") for points in re.findall(r'points="([^"]*)"', document)]
    for box, (corners, _, _) in zip(boxes, expected, strict=True):
        np.testing.assert_allclose(box.reshape(4, 2), corners, atol=2)
    assert f"{len(expected)} lines in " in document
