// Tables behind which their first rows stand again: what is packed, what is unpacked, and plans that lie about them.
#include "backends/cuda/cuda.h"
#include "backends/cuda/wrapped_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tenon::test
{

namespace
{
constexpr int64_t kTableRows{6};
constexpr int64_t kTableColumns{4};

std::shared_ptr<Constant const> tableOf()
{
    std::vector<uint16_t> numbers(kTableRows * kTableColumns);
    std::iota(numbers.begin(), numbers.end(), uint16_t{1});
    return makeConstant(DType::kHALF, {1, kTableRows, kTableColumns}, numbers.data());
}

KernelSource sourceOf(std::string_view packing, size_t bytes)
{
    KernelSource source;
    WeightArg weight;
    weight.data = "";
    weight.dtype = DType::kHALF;
    weight.extents = {1, kTableRows, kTableColumns};
    weight.packing = packing;
    weight.bytes = bytes;
    source.weights = {WeightArg{}, WeightArg{}, weight};
    return source;
}
} // namespace

TEST(WrappedTable, firstRowsStandBehindTheLast)
{
    auto const table = tableOf();
    auto const packed = cuda::packTable(2, *table);
    ASSERT_TRUE(packed);
    EXPECT_EQ(packed->packing, cuda::kTablePacking);
    EXPECT_EQ(packed->input, 2);
    int64_t const rows = kTableRows + cuda::wrappedRows();
    ASSERT_EQ(packed->bytes, static_cast<size_t>(rows * kTableColumns) * sizeof(uint16_t));
    auto const* const numbers = static_cast<uint16_t const*>(packed->data->data);
    for (int64_t i = 0; i < rows * kTableColumns; ++i)
        ASSERT_EQ(numbers[i], 1 + i % (kTableRows * kTableColumns)) << i;
    auto const plain =
        unpackCudaWeight(packed->packing, table->dtype, table->extents, packed->data->data, packed->bytes);
    ASSERT_TRUE(plain);
    EXPECT_EQ((*plain)->extents, table->extents);
    EXPECT_EQ(std::memcmp((*plain)->data, table->data, static_cast<size_t>(table->bytes())), 0);
}

TEST(WrappedTable, plansThatLieAreRefused)
{
    auto const whole = static_cast<size_t>((kTableRows + cuda::wrappedRows()) * kTableColumns) * sizeof(uint16_t);
    auto const isPacked = cuda::isTablePacked(sourceOf(cuda::kTablePacking, whole), 2);
    EXPECT_TRUE(isPacked && *isPacked);
    auto const isPlain = cuda::isTablePacked(sourceOf("", whole), 2);
    EXPECT_TRUE(isPlain && !*isPlain);
    EXPECT_FALSE(cuda::isTablePacked(sourceOf(cuda::kTablePacking, whole - 1), 2));
    EXPECT_FALSE(cuda::isTablePacked(sourceOf(cuda::kTablePacking, whole), 1));
    EXPECT_FALSE(cuda::isTablePacked(sourceOf("columns", whole), 2));
    auto const table = tableOf();
    auto const unpacked = [&](std::vector<int64_t> extents, size_t bytes) {
        return unpackCudaWeight(cuda::kTablePacking, DType::kHALF, std::move(extents), table->data, bytes);
    };
    EXPECT_FALSE(unpacked(table->extents, static_cast<size_t>(table->bytes()) - 1));
    EXPECT_FALSE(unpacked({kTableRows, kTableColumns}, static_cast<size_t>(table->bytes())));
    EXPECT_FALSE(unpacked({1, INT64_MAX, kTableColumns}, static_cast<size_t>(table->bytes())));
}

} // namespace tenon::test
