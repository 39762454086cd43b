"""What the demo prints, and the same as JSON."""

import json
import pathlib

from compare import STAGES, Reading


def print_text(theirs: Reading, ours: Reading) -> None:
    rows = max(len(theirs.lines), len(ours.lines))
    width = max([len(line) for line in theirs.lines] + [12])
    print(f"\n{'':4}{'ONNX Runtime':{width}}  Tenon")
    for row in range(rows):
        left = theirs.lines[row] if row < len(theirs.lines) else ""
        right = ours.lines[row] if row < len(ours.lines) else ""
        print(f"{row + 1:3} {left:{width}}  {right}{'' if left == right else '   <- differs'}")


def print_latency(theirs: Reading, ours: Reading) -> None:
    print(f"\n{'milliseconds':14}{'ONNX Runtime':>14}{'Tenon':>10}{'ratio':>8}")
    for stage in STAGES:
        left, right = theirs.milliseconds(stage), ours.milliseconds(stage)
        print(f"{stage:14}{left:14.1f}{right:10.1f}{right / left if left else 0:8.2f}")
    print("(median; each row includes RapidOCR's own work before and after the network)")


def print_plans(plans: list[dict]) -> None:
    print(f"\n{'plan':14}{'ONNX MB':>9}{'plan MB':>9}{'built s':>9}{'memory MB':>11}")
    for plan in plans:
        print(
            f"{plan['name']:14}{plan['onnx_bytes'] / 1e6:9.1f}{plan['plan_bytes'] / 1e6:9.1f}"
            f"{plan['build_seconds']:9.1f}{plan['memory_bytes'] / 1e6:11.1f}"
        )
    for plan in plans:
        print(f"{plan['name']}: " + "; ".join(plan["fusions"]))


def save(path: pathlib.Path, image: str, theirs: Reading, ours: Reading, plans: list[dict]) -> None:
    def side(reading: Reading) -> dict:
        return {
            "lines": reading.lines,
            "scores": [float(score) for score in reading.scores],
            "boxes": reading.boxes,
            "milliseconds": {stage: reading.milliseconds(stage) for stage in STAGES},
        }

    path.write_text(
        json.dumps({"image": image, "onnxruntime": side(theirs), "tenon": side(ours), "plans": plans}, indent=2) + "\n"
    )
