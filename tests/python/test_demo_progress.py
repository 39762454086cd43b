"""The demo shows phase, count and remaining time while it builds and reads, on a terminal only."""

import io
import pathlib
import re
import sys

import numpy as np
import pytest
import small
import tensorrt as trt

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "ocr"))
import progress  # noqa: E402

LINE = re.compile(r"\r(.{12})\[([#.]{30})\] +(\d+)% (.+?) (\d+)/(\d+)(?:  about (\d+\.\d) s left)?\x1b\[K")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(text: str) -> list[tuple[str, int, int, int, str | None]]:
    """Phase, percent, done, of, seconds left; the bar says what the number says."""
    found = []
    for _, bar, percent, phase, done, of, left in LINE.findall(text):
        assert abs(bar.count("#") - int(percent) * 30 / 100) <= 1
        found.append((phase, int(percent), int(done), int(of), left or None))
    return found


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["terminal", "file"])
def test_a_build(stream: io.StringIO) -> None:
    logger = small.Recorder()
    builder = trt.Builder(logger)
    config = small.config(builder)
    config.progress_monitor = progress.ProgressBar("detector", stream)
    assert builder.build_serialized_network(small.chain(builder), config) is not None
    text = stream.getvalue()
    if not stream.isatty():
        assert text == ""
        return
    lines = drawn(text)
    shares = [percent for _, percent, *_ in lines]
    assert shares == sorted(shares) and shares[-1] == 100 and len(set(shares)) > 3
    assert {"Optimizing", "Building kernels"} <= {phase for phase, *_ in lines}
    assert all(0 <= done <= of for _, _, done, of, _ in lines)
    assert all((left is None) == (share == 0) for _, share, _, _, left in lines if share != 1)
    assert re.search(r"\rdetector    \[#{30}\] built in \d+\.\d s\x1b\[K\n$", text)


def test_readings() -> None:
    pytest.importorskip("rapidocr_onnxruntime", reason="the demo's reader is not installed")
    import compare

    terminal = Terminal()

    def reader(image: np.ndarray) -> tuple[list, tuple[float, float, float]]:
        return [([[0, 0]], "text", 1.0)], (0.1, 0.2, 0.3)

    line = progress.Line("reading", terminal)
    readings = compare.read_in_turn({"one": reader, "two": reader}, np.zeros((2, 2)), 2, line.draw)
    line.end("read")
    assert [(phase, done, of) for phase, _, done, of, _ in drawn(terminal.getvalue())] == [
        (name, 2 * turn + place, 6) for turn in range(3) for place, name in ((1, "one"), (2, "two"))
    ]
    assert all(left is not None for *_, left in drawn(terminal.getvalue()))
    assert {name: len(reading.times["page"]) for name, reading in readings.items()} == {"one": 2, "two": 2}
