// Int8Gemm: rows of int8 numbers times packed panels of 16 columns, summed in int32; then scales, bias and epilogue in
// float, stored as int8 or float32. As in Gemm, rows may be windows of a channels-last image.
#pragma once

#include "backends/cpu/gemm.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace tenon::cpu
{

//! So many neighbours of a row are multiplied and added up by one instruction.
inline constexpr int64_t kQuad{4};

inline constexpr int64_t quadsOf(int64_t length) noexcept
{
    return (length + kQuad - 1) / kQuad;
}
//! Bytes of a packed matrix: [columns / 16][segments][quads][16][4], padded with zeros.
inline constexpr int64_t int8PackedSize(int64_t segments, int64_t length, int64_t columns) noexcept
{
    return panelsOf(columns) * kPanel * segments * quadsOf(length) * kQuad;
}

inline constexpr size_t kMaxInt8Steps{8};

//! An epilogue step; of kAdd and kMultiply, an element of the operand is extra[row · rowStride + column], times alpha
//! where it is int8.
struct Int8Step
{
    EpilogueKind kind{EpilogueKind::kRelu};
    float alpha{0.0F};
    float beta{0.0F}; //!< Of kRound: 1 / alpha.
    bool isInt8{false};
    int64_t rowStride{0};
    void const* extra{nullptr};
};

//! What becomes of sums: (sum + offset) · factor + bias to begin with.
struct Int8Finish
{
    float const* factors{nullptr}; //!< Per column.
    float const* offsets{nullptr}; //!< Per column; null: none.
    float const* bias{nullptr};    //!< Per column; null: none.
    std::array<Int8Step, kMaxInt8Steps> steps;
    int64_t stepCount{0};
    float inverse{0.0F};  //!< 1 / scale of the int8 result; 0: the result is float32.
    int32_t zeroPoint{0}; //!< Of the int8 result.
    bool isFinite{true};  //!< No operand holds what is no number, or infinities to make it of.
    void* c{nullptr};
    int64_t cStride{0};
};

struct Int8Gemm
{
    int64_t columns{0};
    int64_t segments{1}; //!< Parts of one row of a that lie apart.
    int64_t length{0};   //!< Elements of a segment.
    int8_t const* a{nullptr};
    int8_t const* aEnd{nullptr}; //!< Behind all that may be read of a.
    int64_t aStride{0};          //!< From row to row, without a window.
    GemmWindow const* window{nullptr};
    int8_t const* zeros{nullptr};  //!< With a window: quadsOf(length) · 4 times what stands for 0.
    int8_t const* panels{nullptr}; //!< As int8PackedSize says.
    //! Per column of the panels −128 times the sum of its elements: what sums begin with where instructions take the
    //! elements of rows without sign.
    int32_t const* shifts{nullptr};
    Int8Finish finish;
};

//! Convolution of each channel of a channels-last image with a kernel of its own.
struct Int8Depthwise
{
    GemmWindow window;
    int64_t channels{0};
    int8_t const* in{nullptr};
    float const* kernel{nullptr}; //!< [kernelHeight][kernelWidth][channels], whole numbers.
    int32_t zeroPoint{0};         //!< Of the input.
    Int8Finish finish;            //!< Its rows are the output's pixels.
};

//! Maxima over windows of channels-last images; the window's padding touches nothing.
struct Int8MaxPool
{
    GemmWindow window;
    int64_t channels{0};
    int8_t const* in{nullptr};
    int8_t* out{nullptr};
};

//! Bytes of memory that a lane needs for a product under the active instruction set, a whole number of cache lines:
//! pointers to the segments of a tile's rows, the rows as 16-bit numbers, and copies of segments; or rows as AMX wants
//! them.
int64_t int8Scratch(int64_t segments, int64_t length) noexcept;

} // namespace tenon::cpu
