// Int8Packing: moving bytes between the row-major and the packed form.
#include "backends/cpu/int8_packing.h"

#include "base/cancellation.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <emmintrin.h>
#include <optional>

namespace tenon::cpu
{

namespace
{
constexpr std::string_view kTapsPrefix{"int8/taps/"};

//! The matrices that extents are packed as.
struct Matrices
{
    Int8Matrix form;
    int64_t count{0};
};

//! None where the extents do not fit the packing.
std::optional<Matrices> matricesOf(Int8Packing const& packing, std::vector<int64_t> const& given)
{
    using Kind = Int8Packing::Kind;
    if (tenon::bytesOf(DType::kFLOAT, Layout::kLinear, given) < 0)
        return std::nullopt;
    if (packing.kind == Kind::kColumns || packing.kind == Kind::kColumnsTransposed)
    {
        if (given.size() < 2)
            return std::nullopt;
        bool const isTransposed = packing.kind == Kind::kColumnsTransposed;
        int64_t const last = given[given.size() - 1];
        int64_t const other = given[given.size() - 2];
        int64_t const count = volumeOf({given.begin(), given.end() - 2});
        return Matrices{{1, isTransposed ? last : other, isTransposed ? other : last}, count};
    }
    std::vector<int64_t> const e = asImage(given);
    if (e.size() != 4 || e[0] % packing.groups != 0)
        return std::nullopt;
    if (packing.kind == Kind::kLines)
        return Matrices{{e[2], e[3] * e[1], e[0]}, 1};
    return Matrices{{e[2] * e[3], e[1], e[0] / packing.groups}, packing.groups};
}

//! visit(position in the packed form), elements in row-major order.
template <typename Visit>
void forEachElement(Int8Packing const& packing, std::vector<int64_t> const& given, Visit const& visit)
{
    using Kind = Int8Packing::Kind;
    std::optional<Matrices> const matrices = matricesOf(packing, given);
    if (!matrices || std::ranges::find(given, 0) != given.end())
        return; // No elements, however long a plan says that the other axes are.
    auto const [m, count] = *matrices;
    if (packing.kind == Kind::kColumns || packing.kind == Kind::kColumnsTransposed)
    {
        bool const isTransposed = packing.kind == Kind::kColumnsTransposed;
        for (int64_t i = 0; i < count; ++i)
            for (int64_t row = 0; row < (isTransposed ? m.columns : m.length); ++row)
            {
                cancellationPoint();
                for (int64_t column = 0; column < (isTransposed ? m.length : m.columns); ++column)
                    visit(i * m.bytes()
                        + (isTransposed ? quadPosition(m, 0, column, row) : quadPosition(m, 0, row, column)));
            }
        return;
    }
    std::vector<int64_t> const e = asImage(given);
    for (int64_t i = 0; i < e[0]; ++i)
    {
        cancellationPoint();
        int64_t const base = i / m.columns * m.bytes();
        for (int64_t c = 0; c < e[1]; ++c)
            for (int64_t y = 0; y < e[2]; ++y)
                for (int64_t x = 0; x < e[3]; ++x)
                    visit(base
                        + (packing.kind == Kind::kLines ? quadPosition(m, y, x * e[1] + c, i % m.columns)
                                                        : quadPosition(m, y * e[3] + x, c, i % m.columns)));
    }
}
} // namespace

bool Int8Packing::isName(std::string_view name) noexcept
{
    return name.substr(0, 5) == "int8/";
}

std::string Int8Packing::name() const
{
    switch (kind)
    {
    case Kind::kColumns: return "int8/columns";
    case Kind::kColumnsTransposed: return "int8/columnst";
    case Kind::kTaps: return fmt::format("{}{}", kTapsPrefix, groups);
    default: return "int8/lines";
    }
}

Result<Int8Packing> Int8Packing::ofName(std::string_view name)
{
    for (Kind const kind : {Kind::kColumns, Kind::kColumnsTransposed, Kind::kLines})
        if (Int8Packing{kind}.name() == name)
            return Int8Packing{kind};
    if (name.substr(0, kTapsPrefix.size()) == kTapsPrefix)
    {
        std::string_view const digits = name.substr(kTapsPrefix.size());
        Int8Packing packing{Kind::kTaps};
        auto const [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), packing.groups);
        if (problem == std::errc{} && end == digits.data() + digits.size() && packing.groups >= 1)
            return packing;
    }
    return badArgument("unknown packing '{}' of a weight", name);
}

int64_t Int8Packing::size(std::vector<int64_t> const& extents) const
{
    if (std::ranges::find(extents, 0) != extents.end())
        return 0; // However long the other axes are.
    std::optional<Matrices> const matrices = matricesOf(*this, extents);
    return matrices ? matrices->count * matrices->form.bytes() : -1;
}

void Int8Packing::pack(std::vector<int64_t> const& extents, int8_t const* plain, int8_t* packed) const
{
    std::memset(packed, 0, static_cast<size_t>(size(extents)));
    forEachElement(*this, extents, [&](int64_t position) { packed[position] = *plain++; });
}

void Int8Packing::unpack(std::vector<int64_t> const& extents, int8_t const* packed, int8_t* plain) const
{
    forEachElement(*this, extents, [&](int64_t position) { *plain++ = packed[position]; });
}

Result<PackedWeight> packInt8Weight(int32_t input, Constant const& constant, Int8Packing const& packing)
{
    int64_t const size = packing.size(constant.extents);
    if (constant.dtype != DType::kINT8 || size < 0)
        return errorOf(ErrorCode::kINTERNAL_ERROR, "weight {} cannot be packed as {}", input, packing.name());
    auto const bytes = static_cast<size_t>(size);
    std::shared_ptr<void> const memory = TENON_TRY(KernelMemory::allocate(nullptr, std::max<size_t>(bytes, 1)));
    packing.pack(constant.extents, static_cast<int8_t const*>(constant.data), static_cast<int8_t*>(memory.get()));
    auto data = std::make_shared<Constant>(Constant{constant.dtype, constant.extents, memory.get(), memory});
    return PackedWeight{input, packing.name(), std::move(data), bytes};
}

namespace
{
//! The sums of the four bytes of each 32 bits.
__m128i sumsOfQuads(__m128i bytes)
{
    __m128i const even = _mm_srai_epi16(_mm_slli_epi16(bytes, 8), 8);
    return _mm_madd_epi16(_mm_add_epi16(even, _mm_srai_epi16(bytes, 8)), _mm_set1_epi16(1));
}

__m128i sixteenBytes(int8_t const* from)
{
    return _mm_loadu_si128(reinterpret_cast<__m128i const*>(from));
}

//! Four rows of a whole panel, `stride` elements apart, as quads.
void joinFours(int8_t const* from, int64_t stride, int8_t* to)
{
    __m128i const a = sixteenBytes(from);
    __m128i const b = sixteenBytes(from + stride);
    __m128i const c = sixteenBytes(from + 2 * stride);
    __m128i const d = sixteenBytes(from + 3 * stride);
    __m128i const lowPairs[2]{_mm_unpacklo_epi8(a, b), _mm_unpacklo_epi8(c, d)};
    __m128i const highPairs[2]{_mm_unpackhi_epi8(a, b), _mm_unpackhi_epi8(c, d)};
    auto* const quads = reinterpret_cast<__m128i*>(to);
    _mm_storeu_si128(quads, _mm_unpacklo_epi16(lowPairs[0], lowPairs[1]));
    _mm_storeu_si128(quads + 1, _mm_unpackhi_epi16(lowPairs[0], lowPairs[1]));
    _mm_storeu_si128(quads + 2, _mm_unpacklo_epi16(highPairs[0], highPairs[1]));
    _mm_storeu_si128(quads + 3, _mm_unpackhi_epi16(highPairs[0], highPairs[1]));
}
} // namespace

void setShifts(Int8Matrix const& matrix, int64_t firstPanel, int64_t lastPanel, int8_t const* packed, int32_t* shifts)
{
    constexpr int64_t kParts{4}; //!< Of a panel's columns, one per vector.
    int64_t const quads = matrix.segments * quadsOf(matrix.length);
    for (int64_t panel = firstPanel; panel < lastPanel; ++panel)
    {
        __m128i sums[kParts]{};
        int8_t const* from = packed + panel * quads * kPanel * kQuad;
        for (int64_t q = 0; q < quads; ++q)
            for (__m128i& sum : sums)
            {
                sum = _mm_add_epi32(sum, sumsOfQuads(sixteenBytes(from)));
                from += kPanel * kQuad / kParts;
            }
        auto* const to = reinterpret_cast<__m128i*>(shifts + panel * kPanel);
        for (int64_t i = 0; i < kParts; ++i)
            _mm_storeu_si128(to + i, _mm_sub_epi32(_mm_setzero_si128(), _mm_slli_epi32(sums[i], 7)));
    }
}

std::vector<int32_t> shiftsOf(Int8Matrix const& matrix, int64_t count, int8_t const* packed)
{
    int64_t const panels = panelsOf(matrix.columns);
    std::vector<int32_t> shifts(static_cast<size_t>(count * panels * kPanel));
    for (int64_t i = 0; i < count; ++i)
        setShifts(matrix, 0, panels, packed + i * matrix.bytes(), shifts.data() + i * panels * kPanel);
    return shifts;
}

void packInt8Panels(int8_t const* from, bool isTransposed, Int8Matrix const& matrix, int64_t firstPanel,
    int64_t lastPanel, int8_t* packed)
{
    int64_t const quads = quadsOf(matrix.length);
    int64_t const whole = matrix.length / kQuad; // Quads without padding.
    std::memset(packed + firstPanel * quads * kPanel * kQuad, 0,
        static_cast<size_t>((lastPanel - firstPanel) * quads * kPanel * kQuad));
    for (int64_t panel = firstPanel; panel < lastPanel; ++panel)
    {
        int64_t const first = panel * kPanel;
        int64_t const last = std::min(first + kPanel, matrix.columns);
        int64_t done{0}; // Rows that are packed.
        if (isTransposed)
        {
            for (int64_t column = first; column < last; ++column)
                for (int64_t q = 0; q < whole; ++q)
                    std::memcpy(packed + quadPosition(matrix, 0, q * kQuad, column),
                        from + column * matrix.length + q * kQuad, kQuad);
            done = whole * kQuad;
        }
        else if (last - first == kPanel)
        {
            for (int64_t q = 0; q < whole; ++q)
                joinFours(from + q * kQuad * matrix.columns + first, matrix.columns,
                    packed + quadPosition(matrix, 0, q * kQuad, first));
            done = whole * kQuad;
        }
        int64_t const rowStride = isTransposed ? 1 : matrix.columns;
        int64_t const columnStride = isTransposed ? matrix.length : 1;
        for (int64_t k = done; k < matrix.length; ++k)
            for (int64_t column = first; column < last; ++column)
                packed[quadPosition(matrix, 0, k, column)] = from[k * rowStride + column * columnStride];
    }
}

Result<Int8Operand> Int8Operand::load(LayerKernel const& kernel, size_t input, Int8Packing const& packing)
{
    LoadedWeight const& weight = kernel.weight(input);
    int64_t const size = packing.size(weight.arg.extents);
    if (!weight.isConstant() || weight.arg.dtype != DType::kINT8 || size < 0)
        return badArgument("operand {} is not a constant that can be packed as '{}'", input, packing.name());
    Int8Operand operand;
    if (weight.packing == packing.name())
    {
        if (weight.arg.bytes < static_cast<size_t>(size))
            return badArgument("weight {} has {} bytes where {} are needed", input, weight.arg.bytes, size);
        operand.mData = static_cast<int8_t const*>(weight.arg.data);
        return operand;
    }
    std::shared_ptr<Constant const> unpacked;
    auto const* plain = static_cast<int8_t const*>(weight.arg.data);
    if (!weight.packing.empty())
    {
        unpacked = TENON_TRY(
            unpackInt8Weight(weight.packing, weight.arg.dtype, weight.arg.extents, weight.arg.data, weight.arg.bytes));
        plain = static_cast<int8_t const*>(unpacked->data);
    }
    else if (weight.arg.bytes < static_cast<size_t>(volumeOf(weight.arg.extents)))
        return badArgument(
            "weight {} has {} bytes where {} are needed", input, weight.arg.bytes, volumeOf(weight.arg.extents));
    operand.mOwned = TENON_TRY(KernelMemory::allocate(kernel.memory(), std::max<size_t>(static_cast<size_t>(size), 1)));
    packing.pack(weight.arg.extents, plain, static_cast<int8_t*>(operand.mOwned.get()));
    operand.mData = static_cast<int8_t const*>(operand.mOwned.get());
    return operand;
}

Result<std::vector<float>> int8Factors(LayerKernel const& kernel, double inputScale, int64_t channels)
{
    LoadedWeight const& scales = kernel.weight(QuantizedOperands::kScales);
    int64_t const count = scales.isConstant() ? volumeOf(scales.arg.extents) : 0;
    if (scales.arg.dtype != DType::kFLOAT || !scales.packing.empty() || (count != 1 && count != channels)
        || scales.arg.bytes < static_cast<size_t>(count) * sizeof(float))
        return badArgument("the scales of the kernel are not {} constants", channels);
    auto const* const from = static_cast<float const*>(scales.arg.data);
    std::vector<float> factors(static_cast<size_t>(channels));
    for (size_t i = 0; i < factors.size(); ++i)
        factors[i] = static_cast<float>(inputScale * static_cast<double>(from[count == 1 ? 0 : i]));
    return factors;
}

} // namespace tenon::cpu

namespace tenon
{

Result<std::shared_ptr<Constant const>> unpackInt8Weight(
    std::string_view packing, DType type, std::vector<int64_t> extents, void const* data, size_t bytes)
{
    cpu::Int8Packing const stored = TENON_TRY(cpu::Int8Packing::ofName(packing));
    int64_t const size = stored.size(extents);
    if (type != DType::kINT8 || size < 0 || bytes < static_cast<size_t>(size))
        return badArgument("a weight of {} bytes does not have the size of packing '{}'", bytes, packing);
    std::shared_ptr<Constant const> plain = makeConstant(type, std::move(extents), nullptr);
    stored.unpack(plain->extents, static_cast<int8_t const*>(data),
        static_cast<int8_t*>(const_cast<void*>(plain->data))); // Fresh memory of our own.
    return plain;
}

} // namespace tenon
