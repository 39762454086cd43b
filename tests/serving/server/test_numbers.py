"""What of JSON a tensor takes: values of its own kind, as Triton's server has it, and nothing that NumPy makes fit."""

import numpy as np
import pytest
from tenon.serving import BadRequest
from tenon.serving.server import wire

WORDS = {
    "true or false": [("INT32", [1, True]), ("INT32", [False, True]), ("FP32", [0.5, False]), ("UINT8", [[0], [True]])],
    "whole numbers": [("BOOL", [True, 1]), ("BOOL", [0, 1])],
    "numbers with a point": [("INT64", [1, 2.0]), ("INT8", [0.5, 1]), ("BOOL", [0.0, True])],
    "null": [("FP32", [1.0, None]), ("INT32", [None, None])],
    "texts": [("FP32", ["1", "2"]), ("INT32", "12"), ("BOOL", ["true", True])],
    "objects": [("FP32", {"0": 1, "1": 2}), ("INT32", [1, {}])],
    "lists beside values": [("FP32", [1.0, [2.0]]), ("INT32", [[1], 2])],
    "null and texts": [("FP32", [None, "2"])],
}


@pytest.mark.parametrize("words, datatype, data", [(words, *each) for words, all in WORDS.items() for each in all])
def test_values_of_another_kind_are_refused_by_name(words: str, datatype: str, data: object) -> None:
    with pytest.raises(BadRequest, match=f"^input 'x' has .*{words}, which {datatype} does not take$"):
        wire.from_numbers("x", datatype, [2], data, {"x": datatype})


@pytest.mark.parametrize(
    "datatype, data, found",
    [
        ("INT32", [[1], [-2]], np.int32([[1], [-2]])),
        ("UINT8", [[0, 255]], np.uint8([[0, 255]])),
        ("INT64", [[[2**63 - 1]]], np.int64([[[2**63 - 1]]])),
        ("FP32", [[1, 2.5], [0, -1]], np.float32([[1, 2.5], [0, -1]])),
        ("FP32", [2**64 - 1], np.float32([2**64 - 1])),
        ("BOOL", [[True], [False]], np.array([[True], [False]])),
        ("FP32", 1.5, np.float32(1.5)),
        ("INT32", [], np.empty(0, np.int32)),
        ("INT32", [[], []], np.empty((2, 0), np.int32)),
    ],
)
def test_values_of_the_own_kind_are_taken_nested_or_not(datatype: str, data: list, found: np.ndarray) -> None:
    for given in (data, np.ravel(data).tolist()) if isinstance(data, list) else (data,):
        value = wire.from_numbers("x", datatype, list(found.shape), given, {"x": datatype})
        assert value.dtype == found.dtype
        np.testing.assert_array_equal(value, found)


@pytest.mark.parametrize(
    "datatype, value",
    [("UINT8", 256), ("UINT8", -1), ("INT8", 128), ("INT32", 2**31), ("INT64", 2**63), ("FP32", 1e39), ("FP32", -1e39)],
)
def test_numbers_that_a_type_does_not_have_are_refused(datatype: str, value: float) -> None:
    with pytest.raises(BadRequest, match=f"^input 'x' is no list of {datatype}: "):
        wire.from_numbers("x", datatype, [2], [value, 0], {"x": datatype})


@pytest.mark.parametrize("depth", [65, 1000])
def test_lists_in_lists_without_end_are_refused(depth: int) -> None:
    data: list = [1.0]
    for _ in range(depth):
        data = [data]
    with pytest.raises(BadRequest, match="is no list of FP32"):
        wire.from_numbers("x", "FP32", [1], data, {"x": "FP32"})
