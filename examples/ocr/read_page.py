#!/usr/bin/env python3
"""Reads a scanned page with RapidOCR twice, on ONNX Runtime and on Tenon, and compares text and time.

The three networks become plans with dynamic profiles, are saved, reloaded, and put in the place of RapidOCR's
three sessions. Without --image the page that scikit-image ships is read.
"""

import argparse
import pathlib
import sys

import onnx
import report
import tensorrt as trt
from compare import read_in_turn
from fusions import summary
from networks import NETWORKS
from picture import annotate
from PIL import Image, UnidentifiedImageError
from plan_file import build_plan
from progress import Line
from rapidocr_onnxruntime import RapidOCR
from sessions import reader_on_tenon, sessions_of

OUT = pathlib.Path(__file__).resolve().parents[2] / "build" / "demo"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--image", type=pathlib.Path, help="picture of a page (default: scikit-image's)")
    parser.add_argument("--out", type=pathlib.Path, default=OUT, help="folder for plans, report and picture")
    parser.add_argument("--rounds", type=int, default=7, help="timed readings per engine (default: %(default)s)")
    return parser.parse_args()


def load_page(path: pathlib.Path | None) -> tuple[Image.Image, str]:
    if path is None:
        import skimage.data

        return Image.fromarray(skimage.data.page()), "scikit-image's page"
    try:
        page = Image.open(path)
        page.load()
    except (OSError, UnidentifiedImageError) as error:
        sys.exit(f"{path} is no picture that can be read: {error}")
    return page, str(path)


def build_plans(folder: pathlib.Path, logger: trt.Logger) -> tuple[dict[str, pathlib.Path], list[dict]]:
    paths, facts = {}, []
    for network in NETWORKS:
        path, seconds = build_plan(network, folder, logger)
        paths[network.name] = path
        facts.append(
            {
                "name": network.name,
                "onnx_bytes": network.path.stat().st_size,
                "plan_bytes": path.stat().st_size,
                "build_seconds": seconds,
            }
        )
    return paths, facts


def describe(facts: list[dict], reader: RapidOCR) -> None:
    """Adds to each plan's facts what is known only after it ran: its memory and its steps."""
    for fact, session in zip(facts, sessions_of(reader), strict=True):
        nodes = len(onnx.load(session.network.path, load_external_data=False).graph.node)
        fact["memory_bytes"] = session.engine.memory
        fact["fusions"] = summary(session.engine.layers(), nodes)


def main() -> int:
    options = arguments()
    page, title = load_page(options.image)
    logger = trt.Logger(trt.Logger.WARNING)
    print(f"Building the plans of {len(NETWORKS)} networks for {title}, {page.width} x {page.height}", flush=True)
    plans, facts = build_plans(options.out, logger)
    tenon = reader_on_tenon(plans, logger)
    print(f"Reading it {options.rounds + 1} times with each engine, the first time to warm up", flush=True)
    line = Line("reading")
    readings = read_in_turn({"onnxruntime": RapidOCR(), "tenon": tenon}, page, options.rounds, line.draw)
    line.end("read")
    theirs, ours = readings["onnxruntime"], readings["tenon"]
    describe(facts, tenon)

    report.print_text(theirs, ours)
    report.print_latency(theirs, ours)
    report.print_plans(facts)
    picture, details = options.out / "page.png", options.out / "report.json"
    annotate(page, ours.boxes, ours.lines, picture)
    report.save(details, title, theirs, ours, facts)
    print(f"\nplans    {options.out}\nreport   {details}\npicture  {picture}")
    same = theirs.lines == ours.lines
    if not theirs.lines and not ours.lines:
        print("\nNeither engine found any text.")
    else:
        print("\nBoth engines read the same text." if same else "\nThe two engines read different text.")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
