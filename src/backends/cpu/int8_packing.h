// Int8Packing: the named forms in which int8 weights are stored, and what is made of them while loading.
#pragma once

#include "backends/cpu/convolution_geometry.h"
#include "backends/cpu/int8_gemm.h"
#include "backends/cpu/packing.h"
#include "layers/quantized_convolution.h"

namespace tenon::cpu
{

//! Forms of int8 matrices, all in panels of 16 columns as int8PackedSize says, rows in segments padded to quads:
//!   "int8/columns"        [depth][columns], one segment; the last two of the extents
//!   "int8/columnst"       [columns][depth], the same
//!   "int8/taps/g"         [g·maps][channels][y][x]: g matrices of a segment per tap (y, x) of `channels` elements
//!   "int8/lines"          [maps][channels][y][x]: a segment per y, of (x, channels)
//! Extents in front of a matrix count matrices; kernels of rank 3 lack y.
struct Int8Packing
{
    enum class Kind : uint8_t
    {
        kColumns,
        kColumnsTransposed,
        kTaps,
        kLines,
    };
    Kind kind{Kind::kColumns};
    int64_t groups{1};

    static bool isName(std::string_view name) noexcept;
    static Result<Int8Packing> ofName(std::string_view name);
    std::string name() const;
    //! Bytes of the packed form; −1 when the extents do not fit it.
    int64_t size(std::vector<int64_t> const& extents) const;
    void pack(std::vector<int64_t> const& extents, int8_t const* plain, int8_t* packed) const;
    void unpack(std::vector<int64_t> const& extents, int8_t const* packed, int8_t* plain) const;
};

//! One packed matrix, of several in a row.
struct Int8Matrix
{
    int64_t segments{1};
    int64_t length{0};
    int64_t columns{0};

    int64_t bytes() const noexcept
    {
        return int8PackedSize(segments, length, columns);
    }
};

//! Position of an element in the panels of a matrix.
constexpr int64_t quadPosition(Int8Matrix const& m, int64_t segment, int64_t k, int64_t column) noexcept
{
    int64_t const quad = (column / kPanel * m.segments + segment) * quadsOf(m.length) + k / kQuad;
    return (quad * kPanel + column % kPanel) * kQuad + k % kQuad;
}

Result<PackedWeight> packInt8Weight(int32_t input, Constant const& constant, Int8Packing const& packing);
//! Per column of `count` packed matrices −128 times its sum: see Int8Gemm.
std::vector<int32_t> shiftsOf(Int8Matrix const& matrix, int64_t count, int8_t const* packed);
//! The same of some panels of one.
void setShifts(Int8Matrix const& matrix, int64_t firstPanel, int64_t lastPanel, int8_t const* packed, int32_t* shifts);
//! Panels of a matrix [depth][columns], or [columns][depth] when transposed.
void packInt8Panels(int8_t const* from, bool isTransposed, Int8Matrix const& matrix, int64_t firstPanel,
    int64_t lastPanel, int8_t* packed);

//! A constant operand in the form that a kernel wants: stored so, or packed while loading.
class Int8Operand
{
  public:
    static Result<Int8Operand> load(LayerKernel const& kernel, size_t input, Int8Packing const& packing);
    //! A constant operand of int8.
    int8_t const* data() const noexcept
    {
        return mData;
    }

  private:
    int8_t const* mData{nullptr};
    std::shared_ptr<void> mOwned;
};

//! inputScale · scale of the kernel, per output channel; an error unless they are constants.
Result<std::vector<float>> int8Factors(LayerKernel const& kernel, double inputScale, int64_t channels);

} // namespace tenon::cpu

namespace tenon
{

//! The row-major form of an int8 weight.
Result<std::shared_ptr<Constant const>> unpackInt8Weight(
    std::string_view packing, DType type, std::vector<int64_t> extents, void const* data, size_t bytes);

} // namespace tenon
