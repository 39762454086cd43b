// TapeRows: the rows of the tape machine, and how elements of tensors become elements of rows and back. Rows of
// integers have the narrowest type that gives the same results (tape_width.h), and truth values are as wide, up to 32
// bits.
#pragma once

#include "backends/cpu/simd_storage.h"
#include "backends/cpu/tape_run.h"

#include <limits>
#include <type_traits>

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

//! Rows of our own are whole vectors long; operands and the output may end inside of one.
template <typename From, typename Apply>
TENON_INLINE void map1(From const* a, float* to, int64_t n, Apply const& apply)
{
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        store(to + i, apply(load(a + i)));
    if (i < n)
        store(to + i, apply(load(a + i, firstLanes(n - i))), firstLanes(n - i));
}

//! to[i] = apply(from[i])
template <typename From, typename To, typename Convert>
TENON_INLINE void convert(From const* from, To* to, int64_t n, Convert const& apply)
{
    for (int64_t i = 0; i < n; ++i)
        to[i] = apply(from[i]);
}

//! The state of one lane: where each row is. W: integers; truth values are 0 or −1.
template <typename W>
struct TapeRows
{
    using Integer = W;
    using Truth = std::conditional_t<sizeof(W) == 1, int8_t, int32_t>;

    void* at[kMaxTapeRows];

    float* real(int32_t row) const
    {
        return static_cast<float*>(at[row]);
    }
    W* integer(int32_t row) const
    {
        return static_cast<W*>(at[row]);
    }
    Truth* truth(int32_t row) const
    {
        return static_cast<Truth*>(at[row]);
    }
};

//! Elements [offset + i · stride] of memory as elements [at, at + n) of a row.
template <typename Rows>
void readPiece(void const* data, DType type, int64_t offset, int64_t stride, void* row, int64_t at, int64_t n)
{
    auto const read = [&](auto const* from, auto* to, auto const& apply) {
        if (stride == 0)
        {
            auto const value = apply(from[offset]);
            for (int64_t i = 0; i < n; ++i)
                to[at + i] = value;
        }
        else if (stride == 1)
            for (int64_t i = 0; i < n; ++i)
                to[at + i] = apply(from[offset + i]);
        else
            for (int64_t i = 0; i < n; ++i)
                to[at + i] = apply(from[offset + i * stride]);
    };
    using W = typename Rows::Integer;
    using B = typename Rows::Truth;
    auto* const real = static_cast<float*>(row);
    auto* const integer = static_cast<W*>(row);
    auto const resized = [](auto x) { return static_cast<W>(x); };
    auto const readReal = [&](auto const* from) {
        if (stride == 1)
            map1(from + offset, real + at, n, [](F16 x) { return x; });
        else
            read(from, real, [](auto x) { return toFloat(x); });
    };
    switch (type)
    {
    case DType::kFLOAT: readReal(static_cast<float const*>(data)); break;
    case DType::kHALF: readReal(static_cast<Half const*>(data)); break;
    case DType::kBF16: readReal(static_cast<Bfloat const*>(data)); break;
    case DType::kINT8: read(static_cast<int8_t const*>(data), integer, resized); break;
    case DType::kUINT8: read(static_cast<uint8_t const*>(data), integer, resized); break;
    case DType::kINT32: read(static_cast<int32_t const*>(data), integer, resized); break;
    case DType::kINT64: read(static_cast<int64_t const*>(data), integer, resized); break;
    default:
        read(static_cast<uint8_t const*>(data), static_cast<B*>(row),
            [](uint8_t x) { return static_cast<B>(-static_cast<B>(x != 0)); });
        break;
    }
}

//! Elements [at, at + n) of the output from a row.
template <typename Rows>
void writeRow(void const* row, DType type, void* out, int64_t at, int64_t n)
{
    auto const* const real = static_cast<float const*>(row);
    auto const* const integer = static_cast<typename Rows::Integer const*>(row);
    auto const write = [&](auto* to) {
        using To = std::remove_pointer_t<decltype(to)>;
        convert(integer, to + at, n, [](auto x) { return static_cast<To>(x); });
    };
    switch (type)
    {
    case DType::kFLOAT: narrowRow(real, static_cast<float*>(out) + at, n); break;
    case DType::kHALF: narrowRow(real, static_cast<Half*>(out) + at, n); break;
    case DType::kBF16: narrowRow(real, static_cast<Bfloat*>(out) + at, n); break;
    case DType::kINT8: write(static_cast<int8_t*>(out)); break;
    case DType::kUINT8: write(static_cast<uint8_t*>(out)); break;
    case DType::kINT32: write(static_cast<int32_t*>(out)); break;
    case DType::kINT64: write(static_cast<int64_t*>(out)); break;
    default:
        convert(static_cast<typename Rows::Truth const*>(row), static_cast<uint8_t*>(out) + at, n,
            [](auto x) { return static_cast<uint8_t>(x & 1); });
        break;
    }
}

//! Fills a row with elements [position, position + n) of the output's order.
template <typename Rows>
void readStrided(TapeRun const& run, TapeOperand const& operand, void* row, int64_t position, int64_t n)
{
    int32_t const inner = run.axes - 1;
    int64_t index[kMaxTapeAxes];
    int64_t rest = position;
    int64_t base{0};
    for (int32_t axis = inner; axis >= 0; --axis)
    {
        index[axis] = rest % run.extents[axis];
        rest /= run.extents[axis];
        if (axis < inner)
            base += index[axis] * operand.strides[axis];
    }
    int64_t const stride = operand.strides[inner];
    int64_t column = index[inner];
    for (int64_t at = 0; at < n;)
    {
        int64_t const left = run.extents[inner] - column;
        int64_t const count = left < n - at ? left : n - at;
        readPiece<Rows>(operand.data, operand.type, base + column * stride, stride, row, at, count);
        at += count;
        column = 0;
        for (int32_t axis = inner - 1; axis >= 0; --axis)
        {
            base += operand.strides[axis];
            if (++index[axis] < run.extents[axis])
                break;
            base -= operand.strides[axis] * run.extents[axis];
            index[axis] = 0;
        }
    }
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
