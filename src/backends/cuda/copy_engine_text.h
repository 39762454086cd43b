// CopyEngineText: barriers in shared memory, the copy engine (TMA) and the products of warpgroups (wgmma) of Hopper, as
// text for kernels whose operands the engine puts into shared memory.
#pragma once

#include <string>
#include <string_view>

namespace tenon::cuda
{

//! `initBarrier`, `expectBytes`, `arrive`, `waitBarrier`, `fetch`, `operandAt`; without a GPU `elementAt` and
//! `numberAt`, which read what the fake driver writes into a map: the address, columns, rows, and bytes from row to
//! row. Wants `Stored`.
std::string_view copyEngineText() noexcept;

//! `addProducts`: one instruction of a warpgroup, 64 rows by all columns by 32 bytes of the depth. `stored`: the type
//! of both operands, "Half", "Bfloat", "Fp8" or "signed char", whose sums are int. `isTurnedB`: columns of the right
//! operand lie behind each other, as those of bytes do. `isOfRegisters`: the left one is in registers, as products of a
//! warp have it. Wants a constant BN, which is `columns`.
std::string warpgroupProductText(std::string const& stored, int columns, bool isTurnedB, bool isOfRegisters = false);

} // namespace tenon::cuda
