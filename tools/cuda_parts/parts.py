"""The table of parts. Those of CONFORMANCE run where none is named."""

import argparse
import os

from cuda_parts.commands import demo, kernel_times, overhead, quantized, table
from cuda_parts.exclusions import filter_of
from cuda_parts.gtests import GtestPart
from cuda_parts.jobs import Missing, Part
from cuda_parts.place import Place
from cuda_parts.pytests import PytestPart

CONFORMANCE = (
    "driver", "contract", "kernels", "networks", "plugins", "api", "control", "nodes", "models", "python", "soak"
)  # fmt: skip
BY_NAME = ("memcheck", "racecheck", "overhead", "table", "quantized", "demo", "benchmark", "libraries")
GROUPS = {"host": ("api", "control"), "sanitize": ("memcheck", "racecheck"), "all": (*CONFORMANCE, *BY_NAME)}
LIMITS = {
    "driver": 600,
    "contract": 120,
    "kernels": 900,
    "networks": 600,
    "plugins": 300,
    "api": 600,
    "control": 300,
    "nodes": 900,
    "models": 1200,
    "python": 600,
    "soak": 300,
    "memcheck": 3600,
    "racecheck": 3600,
    "overhead": 60,
    "table": 3600,
    "quantized": 1800,
    "demo": 600,
    "benchmark": 300,
    "libraries": 300,
}
# Of many kinds, each with kernels of its own to compile: a minute and more where others take seconds.
LONG = "CpuConvolution.*:CpuDeconvolution.*:CpuAttention.*"
ON_CUDA = {"TENON_DEVICE": "cuda", "TENON_TEST_DEVICE": "cuda"}
KERNELS = {"TENON_TEST_BACKEND": "cuda"}


def chosen(wanted: str | None) -> list[str]:
    """Names of parts, groups resolved, in the table's order; raises ValueError for one that there is not."""
    names = set(wanted.split(",")) if wanted else set(CONFORMANCE)
    for group in names & set(GROUPS):
        names = names - {group} | set(GROUPS[group])
    if unknown := names - set(LIMITS):
        raise ValueError(f"no such part: {', '.join(sorted(unknown))}; parts: {', '.join([*LIMITS, *GROUPS])}")
    return [name for name in LIMITS if name in names]


class Lacking:
    """A part that cannot even be described here."""

    is_alone = False
    limit = 0.0

    def __init__(self, name: str, why: str):
        self.name, self._why = name, why

    def jobs(self):
        raise Missing(self._why)


def part(name: str, place: Place, options: argparse.Namespace, limit: float) -> Part:
    cores = os.cpu_count() or 1
    if name == "driver":  # Of the fake driver, on any machine.
        extra = {"TENON_CACHE_DIR": str(place.build / "test_cache")}
        return GtestPart(name, place, "test_cuda", limit=limit, extra=extra)
    if name == "contract":
        return GtestPart(name, place, "test_contract", filter_of("test_contract", "*/cuda"), limit=limit)
    if name == "kernels":
        only = filter_of("test_backends", options.cases)
        return GtestPart(name, place, "test_backends", only, limit=limit, extra=KERNELS, processes=3 * cores, long=LONG)
    if name == "networks":
        only = filter_of("test_cuda_networks", "*Networks*")
        return GtestPart(name, place, "test_cuda_networks", only, limit=limit, processes=cores)
    if name == "plugins":
        only = filter_of("test_plugins", "CircPad/Contract.J7_*:V3.L10_*:Cuda*:Quick.*:OtherParameters.*")
        return GtestPart(name, place, "test_plugins", only, limit=limit, extra=ON_CUDA, processes=min(4, cores))
    if name in GROUPS["host"]:  # The public API's own tests, with the GPU's memory and stream.
        program = f"test_{name}"
        return GtestPart(name, place, program, filter_of(program), limit=limit, extra=ON_CUDA, processes=cores)
    if name == "nodes":
        return PytestPart(name, place, ("tests/onnx/test_node_tests.py",), limit=limit, modules=("onnx",))
    if name == "models":
        files = ("tests/models/test_gpu_models.py",)
        return PytestPart(name, place, files, limit=limit, modules=("onnx", "onnxruntime"))
    if name == "python":
        files = ("tests/python/test_gpu_plugins.py", "tests/python/test_gpu_examples.py")
        return PytestPart(name, place, files, limit=limit, modules=())
    if name == "soak":
        extra = ON_CUDA | {"TENON_SOAK_RUNS": str(options.soak_runs)}
        return GtestPart(name, place, "test_soak", "Contexts.*", limit=limit, extra=extra, is_alone=True)
    if name in GROUPS["sanitize"]:
        sanitizer = place.sanitizer()
        if sanitizer is None:
            return Lacking(name, "there is no compute-sanitizer")
        prefix = (sanitizer, "--tool", name, "--error-exitcode", "77")
        only = filter_of("test_backends", options.cases)
        return GtestPart(
            name,
            place,
            "test_backends",
            only,
            limit=limit,
            extra=KERNELS,
            processes=4 * cores,
            prefix=prefix,
            long=LONG,
        )
    if name == "overhead":
        return overhead(place, limit)
    if name == "table":
        return table(place, limit, options.table.split())
    if name == "quantized":
        return quantized(place, limit, options.quantized.split())
    if name == "demo":
        return demo(place, limit)
    if name == "benchmark":
        return kernel_times(name, "*Benchmark*:-CudaLibraryBenchmark.*", "kernels", place, limit)
    return kernel_times(name, "CudaLibraryBenchmark.*", "libraries", place, limit)
