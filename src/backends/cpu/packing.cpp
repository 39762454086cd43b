// Packing: moving elements between the row-major and the packed form.
#include "backends/cpu/packing.h"

#include "backends/cpu/cpu.h"
#include "backends/cpu/gemm.h"
#include "backends/cpu/int8_packing.h"
#include "backends/cpu/weight_packing.h"
#include "base/cancellation.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace tenon::cpu
{

namespace
{
constexpr std::string_view kConvolutionPrefix{"convolution16/"};
constexpr std::string_view kRecurrencePrefix{"recurrence16/"};

//! Position in panels of 16 columns.
int64_t panelPosition(int64_t depth, int64_t k, int64_t column)
{
    return (column / kPanel * depth + k) * kPanel + column % kPanel;
}

//! Bytes of so many elements of a real type.
size_t packedBytes(DType type, int64_t elements)
{
    return static_cast<size_t>(tenon::bytesOf(type, elements));
}

//! copy(pointer of the elements' own width, the same): they are only moved.
template <typename Copy>
void copyElements(DType type, void const* from, void* to, Copy const& copy)
{
    if (bitsOf(type) == 16)
        copy(static_cast<uint16_t const*>(from), static_cast<uint16_t*>(to));
    else
        copy(static_cast<uint32_t const*>(from), static_cast<uint32_t*>(to));
}

//! Fresh memory comes page by page, which may take long where the system has to make room for large ones.
void clear(uint8_t* memory, size_t bytes)
{
    constexpr size_t kPart{size_t{4} << 20};
    for (size_t at = 0; at < bytes; at += kPart)
    {
        cancellationPoint();
        std::memset(memory + at, 0, std::min(kPart, bytes - at));
    }
}
} // namespace

std::vector<int64_t> asImage(std::vector<int64_t> extents)
{
    if (extents.size() == 3)
        extents.insert(extents.begin() + 2, 1);
    return extents;
}

std::vector<int64_t> asMatrix(std::vector<int64_t> extents)
{
    while (extents.size() > 2 && extents.front() == 1)
        extents.erase(extents.begin());
    return extents;
}

std::string Packing::name() const
{
    switch (kind)
    {
    case Kind::kColumns: return "columns16";
    case Kind::kColumnsTransposed: return "columns16t";
    case Kind::kConvolution: return fmt::format("{}{}", kConvolutionPrefix, groups);
    case Kind::kDeconvolution: return "deconvolution16";
    case Kind::kRecurrence: return fmt::format("{}{}", kRecurrencePrefix, groups);
    default: return "depthwise";
    }
}

Result<Packing> packingOf(std::string_view name)
{
    for (Packing::Kind const kind : {Packing::Kind::kColumns, Packing::Kind::kColumnsTransposed,
             Packing::Kind::kDeconvolution, Packing::Kind::kDepthwise})
        if (Packing{kind}.name() == name)
            return Packing{kind};
    for (auto const& [kind, prefix] : {std::pair{Packing::Kind::kConvolution, kConvolutionPrefix},
             std::pair{Packing::Kind::kRecurrence, kRecurrencePrefix}})
    {
        if (name.substr(0, prefix.size()) != prefix)
            continue;
        std::string_view const digits = name.substr(prefix.size());
        Packing packing{kind};
        auto const [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), packing.groups);
        if (problem == std::errc{} && end == digits.data() + digits.size() && packing.groups >= 1)
            return packing;
    }
    return badArgument("unknown packing '{}' of a weight", name);
}

int64_t Packing::size(std::vector<int64_t> const& given) const
{
    if (std::ranges::find(given, 0) != given.end())
        return 0; // However long the other axes are.
    if (tenon::bytesOf(DType::kFLOAT, Layout::kLinear, given) < 0)
        return -1;
    if (kind == Kind::kRecurrence)
    {
        bool const fits = given.size() == 3 && given[1] % groups == 0;
        return fits ? given[0] * groups * packedSize(given[2], given[1] / groups) : -1;
    }
    bool const isMatrix = kind == Kind::kColumns || kind == Kind::kColumnsTransposed;
    std::vector<int64_t> const extents = isMatrix ? asMatrix(given) : asImage(given);
    if (extents.size() != (isMatrix ? 2U : 4U))
        return -1;
    switch (kind)
    {
    case Kind::kColumns: return packedSize(extents[0], extents[1]);
    case Kind::kColumnsTransposed: return packedSize(extents[1], extents[0]);
    case Kind::kConvolution:
        if (extents[0] % groups != 0)
            return -1;
        return groups * packedSize(extents[1] * extents[2] * extents[3], extents[0] / groups);
    case Kind::kDeconvolution: return extents[2] * packedSize(extents[0], extents[3] * extents[1]);
    default: return extents[1] == 1 ? volumeOf(extents) : -1;
    }
}

template <typename Visit>
void Packing::forEachRecurrent(std::vector<int64_t> const& e, Visit const& visit) const
{
    int64_t const hidden = e[1] / groups;
    int64_t const panels = panelsOf(hidden) * groups;
    CancellationCounter counter;
    for (int64_t direction = 0; direction < e[0]; ++direction)
        for (int64_t row = 0; row < e[1]; ++row)
            for (int64_t k = 0; k < e[2]; ++k)
            {
                counter.next();
                int64_t const unit = row % hidden;
                int64_t const panel = direction * panels + unit / kPanel * groups + row / hidden;
                visit((panel * e[2] + k) * kPanel + unit % kPanel);
            }
}

//! visit(position of the element in the packed form), elements in row-major order.
template <typename Visit>
void Packing::forEach(std::vector<int64_t> const& given, Visit const& visit) const
{
    if (std::ranges::find(given, 0) != given.end())
        return; // No elements, however long a plan says that the other axes are.
    if (kind == Kind::kColumns || kind == Kind::kColumnsTransposed)
    {
        std::vector<int64_t> const e = asMatrix(given);
        bool const isTransposed = kind == Kind::kColumnsTransposed;
        CancellationCounter counter;
        for (int64_t i = 0; i < e[0]; ++i)
            for (int64_t j = 0; j < e[1]; ++j)
            {
                counter.next();
                visit(isTransposed ? panelPosition(e[1], j, i) : panelPosition(e[0], i, j));
            }
        return;
    }
    if (kind == Kind::kRecurrence)
        return forEachRecurrent(given, visit);
    std::vector<int64_t> const e = asImage(given);
    int64_t const maps = e[0] / groups;
    int64_t const depth = e[1] * e[2] * e[3];
    for (int64_t i = 0; i < e[0]; ++i)
    {
        cancellationPoint();
        for (int64_t j = 0; j < e[1]; ++j)
            for (int64_t y = 0; y < e[2]; ++y)
                for (int64_t x = 0; x < e[3]; ++x)
                {
                    int64_t const tap = y * e[3] + x;
                    if (kind == Kind::kDepthwise)
                        visit(tap * e[0] + i);
                    else if (kind == Kind::kDeconvolution)
                        visit(y * packedSize(e[0], e[3] * e[1]) + panelPosition(e[0], i, x * e[1] + j));
                    else
                        visit(i / maps * packedSize(depth, maps) + panelPosition(depth, tap * e[1] + j, i % maps));
                }
    }
}

void Packing::pack(DType type, std::vector<int64_t> const& extents, void const* plain, void* packed) const
{
    clear(static_cast<uint8_t*>(packed), packedBytes(type, size(extents)));
    copyElements(type, plain, packed,
        [&](auto const* from, auto* to) { forEach(extents, [&](int64_t position) { to[position] = *from++; }); });
}

void Packing::unpack(DType type, std::vector<int64_t> const& extents, void const* packed, void* plain) const
{
    copyElements(type, packed, plain,
        [&](auto const* from, auto* to) { forEach(extents, [&](int64_t position) { *to++ = from[position]; }); });
}

Result<PackedWeight> packWeight(int32_t input, Constant const& constant, Packing const& packing)
{
    int64_t const size = packing.size(constant.extents);
    if (!kRealTypes.has(constant.dtype) || size < 0)
        return errorOf(ErrorCode::kINTERNAL_ERROR, "weight {} cannot be packed as {}", input, packing.name());
    size_t const bytes = packedBytes(constant.dtype, size);
    std::shared_ptr<void> const memory = TENON_TRY(KernelMemory::allocate(nullptr, std::max<size_t>(bytes, 1)));
    packing.pack(constant.dtype, constant.extents, constant.data, memory.get());
    auto data = std::make_shared<Constant>(Constant{constant.dtype, constant.extents, memory.get(), memory});
    return PackedWeight{input, packing.name(), std::move(data), bytes};
}

Result<PackedOperand> PackedOperand::load(LayerKernel const& kernel, size_t input, Packing const& packing)
{
    LoadedWeight const& weight = kernel.weight(input);
    DType const type = weight.arg.dtype;
    int64_t const size = packing.size(weight.arg.extents);
    if (!weight.isConstant() || !kRealTypes.has(type) || size < 0)
        return badArgument("operand {} is not a constant that can be packed as '{}'", input, packing.name());
    size_t const bytes = packedBytes(type, size);
    PackedOperand operand;
    if (weight.packing == packing.name())
    {
        if (weight.arg.bytes < bytes)
            return badArgument("weight {} has {} bytes where {} are needed", input, weight.arg.bytes, bytes);
        operand.mData = weight.arg.data;
        return operand;
    }
    Bytes plain;
    void const* from = weight.arg.data;
    size_t const plainBytes = packedBytes(type, volumeOf(weight.arg.extents));
    if (!weight.packing.empty())
    {
        Packing const stored = TENON_TRY(packingOf(weight.packing));
        int64_t const storedSize = stored.size(weight.arg.extents);
        if (storedSize < 0 || weight.arg.bytes < packedBytes(type, storedSize))
            return badArgument("weight {} does not have the size of packing '{}'", input, weight.packing);
        plain.resize(plainBytes);
        stored.unpack(type, weight.arg.extents, from, plain.data());
        from = plain.data();
    }
    else if (weight.arg.bytes < plainBytes)
        return badArgument("weight {} has {} bytes where {} are needed", input, weight.arg.bytes, plainBytes);
    operand.mOwned = TENON_TRY(KernelMemory::allocate(kernel.memory(), std::max<size_t>(bytes, 1)));
    packing.pack(type, weight.arg.extents, from, operand.mOwned.get());
    operand.mData = operand.mOwned.get();
    return operand;
}

} // namespace tenon::cpu

namespace tenon
{

Result<std::shared_ptr<Constant const>> unpackCpuWeight(
    std::string_view packing, DType type, std::vector<int64_t> extents, void const* data, size_t bytes)
{
    if (cpu::Int8Packing::isName(packing))
        return unpackInt8Weight(packing, type, std::move(extents), data, bytes);
    if (std::optional<cpu::WeightPacking> const fewBits = cpu::WeightPacking::of(packing))
    {
        int64_t const needed = fewBits->bytes(extents);
        if (type != fewBits->type() || needed < 0 || bytes < static_cast<size_t>(needed))
            return badArgument("a weight of {} bytes does not have the size of packing '{}'", bytes, packing);
        std::shared_ptr<Constant const> plain = makeConstant(type, std::move(extents), nullptr);
        fewBits->unpack(plain->extents, data, const_cast<void*>(plain->data)); // Fresh memory of our own.
        return plain;
    }
    cpu::Packing const stored = TENON_TRY(cpu::packingOf(packing));
    int64_t const size = stored.size(extents);
    if (!cpu::kRealTypes.has(type) || size < 0 || bytes < cpu::packedBytes(type, size))
        return badArgument("a weight of {} bytes does not have the size of packing '{}'", bytes, packing);
    std::shared_ptr<Constant const> plain = makeConstant(type, std::move(extents), nullptr);
    stored.unpack(type, plain->extents, data, const_cast<void*>(plain->data)); // Fresh memory of our own.
    return plain;
}

} // namespace tenon
