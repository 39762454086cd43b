// WrappedTable: a table of rows that a product's results have added, image by image, as large tiles fetch it: pieces
// begin at any of its rows, and go on with the first ones behind the last.
#pragma once

#include "backend/candidate.h"
#include "device/kernel.h"

#include <string_view>

namespace tenon::cuda
{

//! The name in plans of tables [1, rows, columns] behind which as many rows stand again as a piece may reach over.
inline constexpr std::string_view kTablePacking{"wrapped"};

//! Rows that stand behind a table.
int64_t wrappedRows() noexcept;
Result<PackedWeight> packTable(int32_t input, Constant const& table);
//! The table alone; an error where there are fewer bytes than its extents say.
Result<std::shared_ptr<Constant const>> unpackTable(
    DType type, std::vector<int64_t> extents, void const* data, size_t bytes);
//! Whether weight `input` of a step is packed so; an error where any weight is packed in another way, or has fewer
//! bytes than its extents say.
Result<bool> isTablePacked(KernelSource const& source, size_t input);

} // namespace tenon::cuda
