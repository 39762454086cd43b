"""RapidOCR on Tenon's plans reads what RapidOCR reads on ONNX Runtime, also beyond the plans' profiles."""

import pathlib
import sys

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from rapidocr_onnxruntime import RapidOCR

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "ocr"))

import fit
from networks import CLASSIFIER, DETECTOR, NETWORKS, RECOGNIZER
from picture import INK, annotate

LONG_LINE = "The quick brown fox jumps over the lazy dog while engines read plans, one row at a time"


def written(width: int, height: int, rows: list[tuple[int, int, str]], size: int) -> np.ndarray:
    """Black text on white, rows as (x, y, text), in OpenCV's order of channels."""
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    for x, y, text in rows:
        draw.text((x, y), text, fill="black", font=ImageFont.load_default(size))
    return np.ascontiguousarray(np.asarray(image)[:, :, ::-1])


def page() -> np.ndarray:
    import skimage.data

    return np.repeat(skimage.data.page()[:, :, None], 3, axis=2)


IMAGES = {
    "page": page,
    "line_1400x60": lambda: written(1400, 60, [(10, 8, LONG_LINE)], 32),
    "tall_700x1600": lambda: written(
        700, 1600, [(30, 30 + 64 * i, f"Line {i + 1}: open plans run everywhere") for i in range(24)], 30
    ),
}


@pytest.fixture(scope="module")
def tenon_reader(tmp_path_factory: pytest.TempPathFactory) -> RapidOCR:
    import tensorrt as trt
    from plan_file import build_plan
    from sessions import reader_on_tenon

    logger, folder = trt.Logger(trt.Logger.WARNING), tmp_path_factory.mktemp("plans")
    return reader_on_tenon({network.name: build_plan(network, folder, logger)[0] for network in NETWORKS}, logger)


@pytest.fixture(scope="module")
def ort_reader() -> RapidOCR:
    return RapidOCR()


@pytest.mark.parametrize("name", list(IMAGES))
def test_same_text_as_onnxruntime(name: str, tenon_reader: RapidOCR, ort_reader: RapidOCR) -> None:
    image = IMAGES[name]()
    want, _ = ort_reader(image)
    got, _ = tenon_reader(image)
    assert want, "the reference found no text: the comparison would prove nothing"
    assert [line[1] for line in got] == [line[1] for line in want]
    assert np.allclose([line[0] for line in got], [line[0] for line in want], atol=1.5)  # Corners, in pixels.
    assert np.allclose([float(line[2]) for line in got], [float(line[2]) for line in want], atol=5e-3)


def test_word_boxes_keep_working(tenon_reader: RapidOCR, ort_reader: RapidOCR) -> None:
    image = IMAGES["line_1400x60"]()
    want, _ = ort_reader(image, return_word_box=True)
    got, _ = tenon_reader(image, return_word_box=True)
    assert [line[4] for line in got] == [line[4] for line in want]


def test_recognizer_splits_a_batch_beyond_the_profile(tenon_reader: RapidOCR, ort_reader: RapidOCR) -> None:
    data = np.random.default_rng(5).standard_normal((8, 3, 48, 320), np.float32)
    want, got = ort_reader.text_rec.session(data)[0], tenon_reader.text_rec.session(data)[0]
    assert got.shape == want.shape
    assert np.max(np.abs(got - want)) <= 1e-3 * np.max(np.abs(want[0] - want[1]))


def test_recognizer_reads_a_line_wider_than_the_profile(tenon_reader: RapidOCR, ort_reader: RapidOCR) -> None:
    strip = written(4800, 48, [(20, 2, " ".join([LONG_LINE] * 3))], 36)
    want, got = ([reader.text_rec([strip])[0][0][0]] for reader in (ort_reader, tenon_reader))
    assert len(want[0]) > 100
    assert similar(got[0], want[0]) >= 0.9  # Shrunk to 4,096 columns: not the same input, so not the same bits.


def similar(left: str, right: str) -> float:
    import difflib

    return difflib.SequenceMatcher(None, left, right, autojunk=False).ratio()


def test_engine_memory_follows_the_shape(tenon_reader: RapidOCR) -> None:
    """The detector's memory comes from NumPy, for the shapes seen, and is far below what its profile would need."""
    engine = tenon_reader.text_det.infer.engine
    engine(np.random.default_rng(6).standard_normal((1, 3, 64, 64), np.float32))
    small = engine.memory
    engine(np.random.default_rng(7).standard_normal((1, 3, 1760, 736), np.float32))
    assert 0 < small <= engine.memory < 1 << 30


@pytest.mark.parametrize(
    "network, shape, calls, fitted",
    [
        (RECOGNIZER, (13, 3, 48, 320), [6, 6, 1], (48, 320)),
        (RECOGNIZER, (2, 3, 48, 5000), [2], (48, 4096)),
        (CLASSIFIER, (7, 3, 48, 192), [6, 1], (48, 192)),
        (DETECTOR, (1, 3, 32, 7008), [1], (32, 6016)),
        (DETECTOR, (1, 3, 736, 1472), [1], (736, 1472)),
    ],
)
def test_fit_stays_within_the_profile(network, shape, calls, fitted) -> None:
    seen = []

    def run(data: np.ndarray) -> np.ndarray:
        seen.append(data.shape)
        return data.mean(axis=(1, 2, 3))

    data = np.broadcast_to(np.arange(shape[0], dtype=np.float32)[:, None, None, None], shape)
    result = fit.run_within(network, run, data)
    assert [s[0] for s in seen] == calls
    assert {s[2:] for s in seen} == {fitted}
    assert np.allclose(result, np.arange(shape[0]))


def test_numbers_at_the_edge_of_the_page_are_whole(tmp_path: pathlib.Path) -> None:
    def inked(x: int, y: int, name: str) -> int:
        box = [(x, y), (x + 40, y), (x + 40, y + 20), (x, y + 20)]
        annotate(Image.new("RGB", (600, 600), "white"), [box] * 12, ["line"] * 12, tmp_path / name)
        return int((np.asarray(Image.open(tmp_path / name)) == INK).all(axis=2).sum())

    assert inked(0, 0, "corner.png") == inked(300, 300, "middle.png") > 0
