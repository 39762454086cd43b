"""A few node tests on the fake driver of this build, so that their way to a GPU stays open where there is none."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("TENON_BUILD", HERE.parents[1] / "build")).resolve()
FAKE = BUILD / "fake_cuda"

# Kernels of every kind, steps of the host between copies, tensors of shapes, outputs whose extents the run finds out,
# empty tensors, elements of a byte, and one case that fails on purpose. A new kernel costs seconds here.
CASES = (
    "test_node[test_abs]", "test_node[test_add_uint8]", "test_node[test_adagrad]",
    "test_node[test_cast_FLOAT_to_FLOAT16]",
    "test_node[test_concat_2d_axis_1]", "test_node[test_cos]", "test_node[test_cumsum_1d]", "test_node[test_gather_1]",
    "test_node[test_gemm_all_attributes]", "test_node[test_layer_normalization_2d_axis1]", "test_node[test_matmul_3d]",
    "test_node[test_nonzero_example]", "test_node[test_reduce_max_empty_set_bool]", "test_node[test_softmax_axis_1]",
    "test_node[test_top_k]", "test_node[test_transpose_all_permutations_1]",
    "test_node_with_operands_of_the_run[test_range_int32_type_negative_delta]",
    "test_node_with_operands_of_the_run[test_reshape_extended_dims]",
)  # fmt: skip


@pytest.mark.skipif(not (FAKE / "libcuda.so.1").exists(), reason="a build without the fake driver")
def test_node_tests_run_on_a_gpu() -> None:
    environment = os.environ | {
        "TENON_DEVICE": "cuda",
        "TENON_TACTICS": "estimate",
        "TENON_SPIN": "0",
        "TENON_CACHE_DIR": str(BUILD / "test_cache"),
        "LD_LIBRARY_PATH": f"{FAKE}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":"),
    }
    environment = {key: value for key, value in environment.items() if not key.startswith("PYTEST_")}
    file = HERE / "test_node_tests.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "--durations=5"]
    done = subprocess.run(
        [*command, *(f"{file}::{case}" for case in CASES)],
        capture_output=True, text=True, env=environment, timeout=1200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert re.search(rf"^{len(CASES)} passed", done.stdout, re.MULTILINE), done.stdout
