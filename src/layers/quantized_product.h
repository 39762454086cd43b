// QuantizedProduct: what convolutions and matrix products of int8 or fp8 numbers share. Made by passes of a product
// between Dequantize and Quantize layers; the fields are those of the product in real numbers and the scales around it.
#pragma once

#include "ir/layer.h"
#include "layers/epilogue.h"

namespace tenon
{

//! Inputs: x and kernel, both of int8 or both of fp8, bias in real numbers (optional), scales of the kernel in float32
//! (one, or one per output channel), then the extra inputs of the product's epilogue: of the type of x, to be
//! multiplied by the step's alpha, or real numbers. These are of the layer's real type, or of float32.
struct QuantizedOperands
{
    static constexpr int32_t kScales{3};
    static constexpr int32_t kFirstExtra{4};
};

inline bool isQuantizedType(DType type) noexcept
{
    return type == DType::kINT8 || type == DType::kFP8;
}

//! What multiplies two int8 numbers may add up so many products of them in an int32.
inline constexpr int64_t kMaxInt8Depth{int64_t{1} << 16};

//! Position of the output channel that element i of a kernel belongs to.
struct KernelChannels
{
    int64_t count{1};
    int64_t stride{1}; //!< Elements from a channel to the next.

    int64_t of(int64_t i) const noexcept
    {
        return i / stride % count;
    }
};

//! Whether kernels can multiply by it and by its reciprocal: neither is near the ends of float32.
bool isInt8Scale(float scale) noexcept;

//! Fields of a layer around a product whose own rules see float32 operands.
struct QuantizedScales
{
    float input;
    float output; //!< 0: the result is in real numbers.
    DType real;   //!< The type of these.
    int32_t inputZero{0};
    int32_t outputZero{0};

    Result<Done> verify() const;
};

Result<TensorType> inferQuantized(
    Inputs const& in, std::string_view kind, Layer const& product, Epilogue const& epilogue, QuantizedScales scales);
//! Scales belong to `channels` output channels.
Result<Done> checkKernelScales(Inputs const& in, std::string_view kind, ShapeExpr const& channels);
//! In doubles, so that sums of integers are exact.
Result<std::vector<HostTensor>> quantizedReference(HostTensors const& in, Layer const& product,
    Epilogue const& epilogue, QuantizedScales scales, KernelChannels const& channels);

} // namespace tenon
