#!/usr/bin/env python3
"""A decoder of llama_small's extents on one GPU beside PyTorch: device time of a prompt and of a token, float16.

The graph of decode.py, its caches in float16 in memory of the device: one token against a cache, and a whole prompt
without one. PyTorch: the same layers (`scaled_dot_product_attention` with shared keys), eager in a CUDA graph and
`torch.compile(mode="reduce-overhead")`. Tenon's logits are compared with ONNX Runtime's in float32 on the CPU.

    cuda_decode.py [--engines tenon,torch] (PYTHONPATH=BUILD/python)
"""

import argparse
import os
import pathlib
import time

os.environ["TENON_DEVICE"] = os.environ.get("TENON_DEVICE") or "cuda"  # Before `decode` says the CPU.

import cuda_models  # noqa: E402
import decode  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import torch  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
CASES = {"one token": (1, decode.CACHE), "prompt": (128, 0)}


class Tenon:
    """An engine for one pair of extents; caches in float16."""

    def __init__(self, path: pathlib.Path, new: int, past: int) -> None:
        import tensorrt as trt

        logger = trt.Logger(trt.Logger.WARNING)
        builder = trt.Builder(logger)
        network = builder.create_network()
        parser = trt.OnnxParser(network, logger)
        assert parser.parse_from_file(str(path)), parser.get_error(0)
        tensors = [network.get_input(i) for i in range(network.num_inputs)]
        tensors += [network.get_output(i) for i in range(network.num_outputs)]
        for tensor in tensors:
            if tensor.dtype == trt.float32:
                tensor.dtype = trt.float16
        config = builder.create_builder_config()
        config.set_flag(trt.BuilderFlag.FP16)
        profile = builder.create_optimization_profile()
        for name, shape in decode.shapes(new, past).items():
            profile.set_shape(name, shape, shape, shape)
        config.add_optimization_profile(profile)
        started = time.time()
        plan = builder.build_serialized_network(network, config)
        self.build_s = time.time() - started
        self.engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
        self.context = self.engine.create_execution_context()
        self.stream = torch.cuda.Stream()
        self.tensors: dict[str, torch.Tensor] = {}
        feed = decode.inputs(new, past)
        for name, value in feed.items():
            self.context.set_input_shape(name, value.shape)
        for i in range(self.engine.num_io_tensors):
            name = self.engine.get_tensor_name(i)
            kind = torch.int64 if self.engine.get_tensor_dtype(name) == trt.int64 else torch.float16
            if name in feed:
                # Of masks the lowest of the type, as their -1e9 would be infinite.
                self.tensors[name] = torch.from_numpy(feed[name]).clamp(min=-65504).to(kind).cuda()
            else:
                self.tensors[name] = torch.empty(tuple(self.context.get_tensor_shape(name)), dtype=kind, device="cuda")
            # An empty cache has no address of its own.
            address = self.tensors[name].data_ptr() or next(iter(self.tensors.values())).data_ptr()
            self.context.set_tensor_address(name, address)
        torch.cuda.synchronize()

    def __call__(self) -> None:
        assert self.context.execute_async_v3(self.stream.cuda_stream)


class Layer(torch.nn.Module):
    """As decode.Decoder.layer."""

    def __init__(self) -> None:
        super().__init__()
        d = decode
        linear = lambda depth, columns: torch.nn.Linear(depth, columns, bias=False)  # noqa: E731
        self.norms = torch.nn.ModuleList(torch.nn.RMSNorm(d.WIDTH, eps=1e-6) for _ in range(2))
        self.q, self.k, self.v = (linear(d.WIDTH, n * d.SIZE) for n in (d.HEADS, d.KEYS, d.KEYS))
        self.out, self.gate, self.up = (linear(d.WIDTH, n) for n in (d.WIDTH, d.INNER, d.INNER))
        self.down = linear(d.INNER, d.WIDTH)

    def forward(self, x, cosine, sine, mask, keys, values):  # noqa: ANN001, ANN201
        def heads(of, count):  # noqa: ANN001, ANN202
            return of.view(1, -1, count, decode.SIZE).transpose(1, 2)

        def rotated(of):  # noqa: ANN001, ANN202
            first, second = of.chunk(2, -1)
            return of * cosine + torch.cat([-second, first], -1) * sine

        normal = self.norms[0](x)
        keys = torch.cat([keys, rotated(heads(self.k(normal), decode.KEYS))], 2)
        values = torch.cat([values, heads(self.v(normal), decode.KEYS)], 2)
        queries = rotated(heads(self.q(normal), decode.HEADS))
        joined = torch.nn.functional.scaled_dot_product_attention(queries, keys, values, mask, enable_gqa=True)
        x = x + self.out(joined.transpose(1, 2).reshape(1, -1, decode.WIDTH))
        normal = self.norms[1](x)
        return x + self.down(torch.nn.functional.silu(self.gate(normal)) * self.up(normal)), keys, values


class Decoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(decode.WORDS, decode.WIDTH)
        self.layers = torch.nn.ModuleList(Layer() for _ in range(decode.LAYERS))
        self.norm = torch.nn.RMSNorm(decode.WIDTH, eps=1e-6)
        self.head = torch.nn.Linear(decode.WIDTH, decode.WORDS, bias=False)
        angles = torch.outer(
            torch.arange(2 * decode.CACHE), 10000.0 ** (-torch.arange(0, decode.SIZE, 2) / decode.SIZE)
        )
        self.register_buffer("angles", torch.cat([angles, angles], 1))

    def forward(self, words, positions, mask, *cache):  # noqa: ANN001, ANN002, ANN201
        angles = self.angles[positions[0]]
        cosine, sine = angles.cos(), angles.sin()
        x, kept = self.words(words), []
        for i, layer in enumerate(self.layers):
            x, keys, values = layer(x, cosine, sine, mask, cache[2 * i], cache[2 * i + 1])
            kept += [keys, values]
        return self.head(self.norm(x)), kept


def by_torch(new: int, past: int) -> dict[str, float]:
    torch.manual_seed(1)
    model = Decoder().half().eval().cuda()
    feed = [torch.from_numpy(value) for value in decode.inputs(new, past).values()]
    given = [each.cuda() if each.dtype == torch.int64 else each.clamp(min=-65504).half().cuda() for each in feed]
    times = {}
    with torch.no_grad():
        eager = cuda_models.captured(lambda: model(*given))
        times["eager"] = cuda_models.device_time(eager.replay)
        compiled = torch.compile(model, mode="reduce-overhead")
        for _ in range(3):
            compiled(*given)
        times["compiled"] = cuda_models.device_time(lambda: compiled(*given))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engines", default="tenon,torch")
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / "build" / "plans" / "decoder.onnx")
    options = parser.parse_args()
    options.model.parent.mkdir(parents=True, exist_ok=True)
    if not options.model.exists():
        onnx.save(decode.Decoder().model(), options.model)
    for label, (new, past) in CASES.items():
        said = []
        if "tenon" in options.engines:
            ours = Tenon(options.model, new, past)
            with torch.cuda.stream(ours.stream):
                said.append(f"Tenon {cuda_models.device_time(ours):.4f} ms (built in {ours.build_s:.1f} s)")
            import onnxruntime

            session = onnxruntime.InferenceSession(str(options.model), providers=["CPUExecutionProvider"])
            wanted = session.run(["output"], decode.inputs(new, past))[0]
            apart = np.linalg.norm(ours.tensors["output"].float().cpu().numpy() - wanted) / np.linalg.norm(wanted)
            said.append(f"differs from ONNX Runtime by {apart:.1e}")
        if "torch" in options.engines:
            said += [f"{name} {ms:.4f} ms" for name, ms in by_torch(new, past).items()]
        print(f"{label} ({new} new, {past} before): {', '.join(said)}", flush=True)


if __name__ == "__main__":
    main()
