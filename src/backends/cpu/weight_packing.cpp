// WeightPacking: moving weights of few bits between the row-major and the packed form.
#include "backends/cpu/weight_packing.h"

#include "backends/cpu/weight_only.h"
#include "base/cancellation.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tenon::cpu
{

namespace
{
constexpr std::array<std::string_view, 4> kFewBitsNames{"int8x16", "int8x16t", "int4x16", "int4x16t"};
constexpr int64_t kNibblesPerWord{8};

uint32_t nibbleAt(uint8_t const* from, int64_t i)
{
    return from[i / 2] >> (i % 2 * 4) & 0xFU;
}

//! visit(k, column, position of the element row-major)
template <typename Visit>
void forEachWeight(std::vector<int64_t> const& extents, bool isTransposed, Visit const& visit)
{
    CancellationCounter counter;
    for (int64_t i = 0; i < extents[0]; ++i)
        for (int64_t j = 0; j < extents[1]; ++j)
        {
            counter.next();
            visit(isTransposed ? j : i, isTransposed ? i : j, i * extents[1] + j);
        }
}
} // namespace

std::optional<WeightPacking> WeightPacking::of(std::string_view name)
{
    auto const found = std::ranges::find(kFewBitsNames, name);
    if (found == kFewBitsNames.end())
        return std::nullopt;
    auto const index = found - kFewBitsNames.begin();
    return WeightPacking{index >= 2, index % 2 == 1};
}

std::string_view WeightPacking::name() const noexcept
{
    return kFewBitsNames[(isInt4 ? 2 : 0) + (isTransposed ? 1 : 0)];
}

int64_t WeightPacking::bytes(std::vector<int64_t> const& extents) const
{
    if (extents.size() == 2 && (extents[0] == 0 || extents[1] == 0))
        return 0; // However long the other axis is.
    if (extents.size() != 2 || tenon::bytesOf(DType::kFLOAT, Layout::kLinear, extents) < 0)
        return -1;
    int64_t const depth = extents[isTransposed ? 1 : 0];
    int64_t const columns = extents[isTransposed ? 0 : 1];
    return depth % kNibblesPerWord == 0 ? weightBytes(isInt4, depth, columns) : -1;
}

void WeightPacking::pack(std::vector<int64_t> const& extents, void const* plain, void* packed) const
{
    std::memset(packed, 0, static_cast<size_t>(bytes(extents)));
    int64_t const depth = extents[isTransposed ? 1 : 0];
    auto const* const from = static_cast<uint8_t const*>(plain);
    forEachWeight(extents, isTransposed, [&](int64_t k, int64_t column, int64_t at) {
        int64_t const panel = column / kPanel;
        if (!isInt4)
        {
            static_cast<uint8_t*>(packed)[(panel * depth + k) * kPanel + column % kPanel] = from[at];
            return;
        }
        int64_t const word = (panel * (depth / kNibblesPerWord) + k / kNibblesPerWord) * kPanel + column % kPanel;
        static_cast<uint32_t*>(packed)[word] |= nibbleAt(from, at) << (k % kNibblesPerWord * 4);
    });
}

void WeightPacking::unpack(std::vector<int64_t> const& extents, void const* packed, void* plain) const
{
    int64_t const depth = extents[isTransposed ? 1 : 0];
    auto* const to = static_cast<uint8_t*>(plain);
    std::memset(plain, 0, static_cast<size_t>(tenon::bytesOf(type(), volumeOf(extents))));
    forEachWeight(extents, isTransposed, [&](int64_t k, int64_t column, int64_t at) {
        int64_t const panel = column / kPanel;
        if (!isInt4)
        {
            to[at] = static_cast<uint8_t const*>(packed)[(panel * depth + k) * kPanel + column % kPanel];
            return;
        }
        int64_t const word = (panel * (depth / kNibblesPerWord) + k / kNibblesPerWord) * kPanel + column % kPanel;
        uint32_t const nibble = static_cast<uint32_t const*>(packed)[word] >> (k % kNibblesPerWord * 4) & 0xFU;
        to[at / 2] = static_cast<uint8_t>(to[at / 2] | nibble << (at % 2 * 4));
    });
}

Result<PackedWeight> packFewBits(int32_t input, Constant const& constant, WeightPacking const& packing)
{
    int64_t const bytes = packing.bytes(constant.extents);
    if (constant.dtype != packing.type() || bytes < 0)
        return errorOf(ErrorCode::kINTERNAL_ERROR, "weight {} cannot be packed as {}", input, packing.name());
    auto const size = static_cast<size_t>(bytes);
    std::shared_ptr<void> const memory = TENON_TRY(KernelMemory::allocate(nullptr, std::max<size_t>(size, 1)));
    packing.pack(constant.extents, constant.data, memory.get());
    auto data = std::make_shared<Constant>(Constant{constant.dtype, constant.extents, memory.get(), memory});
    return PackedWeight{input, std::string{packing.name()}, std::move(data), size};
}

Result<FewBitsOperand> FewBitsOperand::load(LayerKernel const& kernel, size_t input, WeightPacking const& packing)
{
    LoadedWeight const& weight = kernel.weight(input);
    int64_t const bytes = packing.bytes(weight.arg.extents);
    if (!weight.isConstant() || weight.arg.dtype != packing.type() || bytes < 0)
        return badArgument("operand {} is not a constant that can be packed as '{}'", input, packing.name());
    bool const isPacked = weight.packing == packing.name();
    if (!isPacked && !weight.packing.empty())
        return badArgument("weight {} is packed as '{}', not as '{}'", input, weight.packing, packing.name());
    int64_t const stored = isPacked ? bytes : tenon::bytesOf(weight.arg.dtype, volumeOf(weight.arg.extents));
    if (weight.arg.bytes < static_cast<size_t>(stored))
        return badArgument("weight {} has {} bytes where {} are needed", input, weight.arg.bytes, stored);
    FewBitsOperand operand;
    operand.mData = weight.arg.data;
    if (isPacked)
        return operand;
    operand.mOwned =
        TENON_TRY(KernelMemory::allocate(kernel.memory(), std::max<size_t>(static_cast<size_t>(bytes), 1)));
    packing.pack(weight.arg.extents, weight.arg.data, operand.mOwned.get());
    operand.mData = operand.mOwned.get();
    return operand;
}

} // namespace tenon::cpu
