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

//! `addProducts`: one instruction of a warpgroup, 64 rows by all columns by 16 of the depth. `isTurnedB`: columns of
//! the right operand lie behind each other. Wants a constant BN, which is `columns`.
std::string warpgroupProductText(std::string const& stored, int columns, bool isTurnedB);

} // namespace tenon::cuda
