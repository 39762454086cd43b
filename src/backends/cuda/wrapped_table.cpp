// WrappedTable: rows that come again, and what is left without them.
#include "backends/cuda/wrapped_table.h"
#include "backends/cuda/large_tiles_text.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
constexpr size_t kRank{3};

//! Bytes of a row; an error where extents are those of no table.
Result<int64_t> rowBytesOf(DType type, std::vector<int64_t> const& extents)
{
    bool const isTable = extents.size() == kRank && extents[0] == 1 && extents[1] > 0 && extents[2] > 0
        && isAddressable(extents) && bitsOf(type) == 16;
    return isTable ? Result<int64_t>{tenon::bytesOf(type, extents[2])}
                   : badArgument("a weight of {} and rank {} is no table of rows", nameOf(type), extents.size());
}

Result<std::shared_ptr<void>> copied(void const* data, int64_t rowBytes, int64_t rows, int64_t all)
{
    auto memory = TENON_TRY(KernelMemory::allocate(nullptr, static_cast<size_t>(all * rowBytes)));
    for (int64_t i = 0; i < all; ++i)
        std::copy_n(static_cast<char const*>(data) + i % rows * rowBytes, rowBytes,
            static_cast<char*>(memory.get()) + i * rowBytes);
    return memory;
}
} // namespace

int64_t wrappedRows() noexcept
{
    return LargeTile::kSlotRows - 1;
}

Result<PackedWeight> packTable(int32_t input, Constant const& table)
{
    int64_t const rowBytes = TENON_TRY(rowBytesOf(table.dtype, table.extents));
    int64_t const all = table.extents[1] + wrappedRows();
    auto const memory = TENON_TRY(copied(table.data, rowBytes, table.extents[1], all));
    auto data = std::make_shared<Constant>(Constant{table.dtype, table.extents, memory.get(), memory});
    return PackedWeight{input, std::string{kTablePacking}, std::move(data), static_cast<size_t>(all * rowBytes)};
}

Result<std::shared_ptr<Constant const>> unpackTable(
    DType type, std::vector<int64_t> extents, void const* data, size_t bytes)
{
    int64_t const rowBytes = TENON_TRY(rowBytesOf(type, extents));
    if (bytes < static_cast<size_t>(rowBytes * extents[1]))
        return badArgument("a table has {} bytes where {} are needed", bytes, rowBytes * extents[1]);
    auto const memory = TENON_TRY(copied(data, rowBytes, extents[1], extents[1]));
    return std::shared_ptr<Constant const>{
        std::make_shared<Constant>(Constant{type, std::move(extents), memory.get(), memory})};
}

Result<bool> isTablePacked(KernelSource const& source, size_t input)
{
    bool isPacked{false};
    for (size_t i = 0; i < source.weights.size(); ++i)
    {
        WeightArg const& weight = source.weights[i];
        if (weight.data == nullptr || weight.packing.empty())
            continue;
        if (i != input || weight.packing != kTablePacking)
            return badArgument("weight {} is packed as '{}', which its kernel does not read", i, weight.packing);
        int64_t const rowBytes = TENON_TRY(rowBytesOf(weight.dtype, weight.extents));
        int64_t const needed = (weight.extents[1] + wrappedRows()) * rowBytes;
        if (weight.bytes < static_cast<size_t>(needed))
            return badArgument("weight {} has {} bytes where {} are needed", i, weight.bytes, needed);
        isPacked = true;
    }
    return isPacked;
}

} // namespace tenon::cuda
