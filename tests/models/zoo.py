"""The real models that tests and benchmarks run: file, profile, shapes to compare at, shape to time."""

import dataclasses
import importlib.util
import pathlib

import materialize

Shape = tuple[int, ...]
Shapes = dict[str, Shape]  # Input name to shape.


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    kind: str  # What an input holds: "image", "text", "bytes" or "page" (see references.py).
    shapes: tuple[Shapes, ...]  # Where the plan's outputs are compared with the reference's.
    timed: Shapes | None  # The benchmark's shape.
    profile: tuple[Shapes, Shapes, Shapes] | None = None  # min, opt, max; None for a static graph.
    vocabulary: int = 0
    package: str = ""  # Set when the network comes inside a Python package: "package/path in it".

    @property
    def path(self) -> pathlib.Path:
        """The ONNX file; graphs of this repository are filled with weights on first use."""
        if not self.package:
            return materialize.materialize(self.name)
        package, _, inside = self.package.partition("/")
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            raise FileNotFoundError(f"model '{self.name}': Python package '{package}' is not installed")
        return pathlib.Path(spec.origin).parent / inside


def image(name: str, size: int = 224, more: tuple[Shape, ...] = (), largest: int = 0) -> Model:
    """A network over `batch` x 3 x size x size, whose height and width are dynamic too when `largest` is set."""

    def one(shape: Shape) -> Shapes:
        return {"input": shape}

    low, high = (16, largest) if largest else (size, size)
    return Model(
        name,
        "image",
        tuple(one((n, 3, size, size)) for n in (1, 2, 5)) + tuple(one(s) for s in more),
        one((1, 3, size, size)),
        (one((1, 3, low, low)), one((1, 3, size, size)), one((8, 3, high, high))),
    )


def text(name: str, vocabulary: int, pairs: tuple[tuple[int, int], ...], dynamic: bool = True) -> Model:
    """A network over token numbers and an attention mask, both `batch` x `length`."""

    def one(shape: Shape) -> Shapes:
        return {"input_ids": shape, "attention_mask": shape}

    profile = (one((1, 1)), one((1, 128)), one((4, 256))) if dynamic else None
    return Model(name, "text", tuple(one(p) for p in pairs), one(pairs[0]), profile, vocabulary)


def ocr(name: str, file: str, kind: str, shapes: tuple[Shape, ...], timed: Shape, low: Shape, high: Shape) -> Model:
    """One of the three networks of rapidocr-onnxruntime, whose input is named `x`."""
    return Model(
        name,
        kind,
        tuple({"x": s} for s in shapes),
        {"x": timed},
        ({"x": low}, {"x": timed}, {"x": high}),
        package=f"rapidocr_onnxruntime/models/{file}",
    )


MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        image("resnet50"),
        image("mobilenet_v2"),
        image("vit_b_16"),
        image("convnext_tiny"),
        image("unet", more=((1, 3, 96, 160), (2, 3, 320, 256)), largest=512),
        image("shufflenet_v2"),
        image("deeplabv3_mobilenet", size=320),
        text("bert_base", 30522, ((1, 128), (2, 33), (4, 64))),
        text("gpt2", 50257, ((1, 128), (2, 33), (4, 17))),
        text("llama_small", 32000, ((1, 128), (2, 33), (1, 1))),
        Model(
            "rnn_lstm_gru",
            "image",
            tuple({"input": (n, steps, 80)} for n, steps in ((1, 100), (2, 33), (4, 17), (1, 1), (3, 250))),
            {"input": (1, 100, 80)},
            ({"input": (1, 1, 80)}, {"input": (1, 100, 80)}, {"input": (4, 300, 80)}),
        ),
        text("dynamo_bert4", 30522, ((2, 64),), dynamic=False),
        Model("dynamo_resnet18", "image", ({"input": (1, 3, 224, 224)},), {"input": (1, 3, 224, 224)}),
        ocr(
            "ocr_detector",
            "ch_PP-OCRv4_det_infer.onnx",
            "page",
            ((1, 3, 736, 1472), (1, 3, 736, 736), (1, 3, 1088, 736), (1, 3, 320, 544), (1, 3, 64, 64)),
            (1, 3, 736, 1472),
            (1, 3, 32, 32),
            (1, 3, 1600, 1600),
        ),
        ocr(
            "ocr_classifier",
            "ch_ppocr_mobile_v2.0_cls_infer.onnx",
            "image",
            ((5, 3, 48, 192), (1, 3, 48, 192), (6, 3, 48, 192), (2, 3, 48, 96), (1, 3, 48, 320)),
            (5, 3, 48, 192),
            (1, 3, 48, 48),
            (6, 3, 48, 320),
        ),
        ocr(
            "ocr_recognizer",
            "ch_PP-OCRv4_rec_infer.onnx",
            "image",
            ((5, 3, 48, 1000), (1, 3, 48, 48), (6, 3, 48, 320), (2, 3, 48, 555), (1, 3, 48, 1200)),
            (5, 3, 48, 1000),
            (1, 3, 48, 48),
            (6, 3, 48, 1200),
        ),
        Model(
            "magika",
            "bytes",
            tuple({"bytes": (n, 2048)} for n in (1, 2, 7)),
            None,
            ({"bytes": (1, 2048)}, {"bytes": (1, 2048)}, {"bytes": (8, 2048)}),
            257,
            "magika/models/standard_v3_3/model.onnx",
        ),
    )
}
TIMED = [name for name, model in MODELS.items() if model.timed]
