"""The calls of cuda.bindings.nvrtc: programs are taken; compiling one says that there is no GPU for it."""

import ctypes
from collections.abc import Sequence
from enum import IntEnum

REASON = "a kernel of CUDA cannot be compiled: this machine's device is its CPU, for which plugins compute on the host"


class nvrtcResult(IntEnum):
    NVRTC_SUCCESS = 0
    NVRTC_ERROR_OUT_OF_MEMORY = 1
    NVRTC_ERROR_PROGRAM_CREATION_FAILURE = 2
    NVRTC_ERROR_INVALID_INPUT = 3
    NVRTC_ERROR_INVALID_PROGRAM = 4
    NVRTC_ERROR_INVALID_OPTION = 5
    NVRTC_ERROR_COMPILATION = 6
    NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7
    NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION = 8
    NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION = 9
    NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10
    NVRTC_ERROR_INTERNAL_ERROR = 11


class nvrtcProgram:
    """A program by its source, until it is destroyed."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.log = b""
        self.is_alive = True

    def __int__(self) -> int:
        return id(self)


def _known(prog: object) -> bool:
    return isinstance(prog, nvrtcProgram) and prog.is_alive


def nvrtcVersion() -> tuple[nvrtcResult, int, int]:
    return nvrtcResult.NVRTC_SUCCESS, 12, 9


def nvrtcGetNumSupportedArchs() -> tuple[nvrtcResult, int]:
    return nvrtcResult.NVRTC_SUCCESS, 0


def nvrtcGetSupportedArchs() -> tuple[nvrtcResult, list[int]]:
    return nvrtcResult.NVRTC_SUCCESS, []


def nvrtcGetErrorString(result: nvrtcResult) -> tuple[nvrtcResult, bytes]:
    name = nvrtcResult(result).name
    text = f"{name}: {REASON}" if result == nvrtcResult.NVRTC_ERROR_COMPILATION else name
    return nvrtcResult.NVRTC_SUCCESS, text.encode()


def nvrtcCreateProgram(
    src: bytes,
    name: bytes | None,
    numHeaders: int,
    headers: Sequence[bytes] | None,
    includeNames: Sequence[bytes] | None,
) -> tuple[nvrtcResult, nvrtcProgram | None]:
    if not isinstance(src, bytes) or len(headers or ()) != numHeaders or len(includeNames or ()) != numHeaders:
        return nvrtcResult.NVRTC_ERROR_INVALID_INPUT, None
    return nvrtcResult.NVRTC_SUCCESS, nvrtcProgram((name or b"default_program").decode())


def nvrtcDestroyProgram(prog: nvrtcProgram) -> tuple[nvrtcResult]:
    if not _known(prog):
        return (nvrtcResult.NVRTC_ERROR_INVALID_PROGRAM,)
    prog.is_alive = False
    return (nvrtcResult.NVRTC_SUCCESS,)


def nvrtcCompileProgram(prog: nvrtcProgram, numOptions: int, options: Sequence[bytes] | None) -> tuple[nvrtcResult]:
    if not _known(prog):
        return (nvrtcResult.NVRTC_ERROR_INVALID_PROGRAM,)
    if len(options or ()) != numOptions:
        return (nvrtcResult.NVRTC_ERROR_INVALID_INPUT,)
    prog.log = f"{prog.name}: {REASON}\n".encode()
    return (nvrtcResult.NVRTC_ERROR_COMPILATION,)


def nvrtcGetProgramLogSize(prog: nvrtcProgram) -> tuple[nvrtcResult, int]:
    if not _known(prog):
        return nvrtcResult.NVRTC_ERROR_INVALID_PROGRAM, 0
    return nvrtcResult.NVRTC_SUCCESS, len(prog.log) + 1


def nvrtcGetProgramLog(prog: nvrtcProgram, log: bytearray | bytes) -> tuple[nvrtcResult]:
    """Into a bytearray, or into bytes of the size asked for."""
    if not _known(prog):
        return (nvrtcResult.NVRTC_ERROR_INVALID_PROGRAM,)
    if len(log) < len(prog.log) + 1:
        return (nvrtcResult.NVRTC_ERROR_INVALID_INPUT,)
    _write(log, prog.log + b"\0")
    return (nvrtcResult.NVRTC_SUCCESS,)


def _write(to: bytearray | bytes, what: bytes) -> None:
    """cuda-python writes into bytes as well: they are memory that the caller has made for it."""
    if isinstance(to, bytes):
        ctypes.memmove(to, what, len(what))
    else:
        memoryview(to)[: len(what)] = what


def _nothing_compiled(prog: nvrtcProgram) -> tuple[nvrtcResult, int]:
    return (nvrtcResult.NVRTC_ERROR_INVALID_PROGRAM, 0)


nvrtcGetPTXSize = nvrtcGetCUBINSize = _nothing_compiled


def nvrtcGetPTX(prog: nvrtcProgram, ptx: bytearray | bytes) -> tuple[nvrtcResult]:
    return (nvrtcResult.NVRTC_ERROR_INVALID_PROGRAM,)


nvrtcGetCUBIN = nvrtcGetPTX


def nvrtcAddNameExpression(prog: nvrtcProgram, name_expression: bytes) -> tuple[nvrtcResult]:
    return (nvrtcResult.NVRTC_SUCCESS if _known(prog) else nvrtcResult.NVRTC_ERROR_INVALID_PROGRAM,)


def nvrtcGetLoweredName(prog: nvrtcProgram, name_expression: bytes) -> tuple[nvrtcResult, None]:
    return nvrtcResult.NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION, None


__all__ = [name for name in globals() if name.startswith("nvrtc")]
