// LibraryProduct: a product of matrices by cuBLASLt, with our tiles behind it, for the layers that come to one.
#pragma once

#include "backends/cuda/convolution_shape.h"
#include "backends/cuda/epilogue.h"
#include "backends/cuda/matrix_multiply.h"

#include <array>

namespace tenon::cuda
{

//! The library's first proposals, which are timed; from here on tactics are the same with float32 operands rounded to
//! TF32.
inline constexpr int32_t kLtTactics{8};

//! The product that a step comes to. Operands of the step: a, b, bias, then the epilogue's.
struct StepProduct
{
    ProductShape shape;
    float alpha{1.0F};
    Epilogue epilogue;
};

//! Of a convolution each of whose results is made of `depth` numbers that lie in one piece; filters lie as the columns.
StepProduct productOf(ConvolutionShape const& layer, TensorArg const& out, int64_t depth);
//! Of a convolution, channels last, each of whose results is made of the pixel in the same place.
Result<StepProduct> pixelProduct(ConvolutionShape const& layer, TensorArg const& in, TensorArg const& out);
//! Why a convolution is no such product at the typical shape; empty: it is.
std::string pixelProductRefusal(Problem const& problem);
//! The product that a MatrixMultiply is.
Result<StepProduct> matrixProduct(
    LayerArgs const& args, std::span<TensorArg const> inputs, std::span<TensorArg const> outputs);

//! A product as libraries take it: one strided batch per call; strides and where each call begins in elements.
struct LtShape
{
    ProductShape matrices;
    int64_t batch{1};
    std::array<int64_t, 3> strides{}; //!< Of a, b and c.
    std::vector<std::array<int64_t, 3>> calls;
};
LtShape ltShapeOf(ProductShape shape);

//! What the library alone is asked for. Operands: inputs 0 and 1; bias: input 2.
struct LtRequest
{
    DType operands;
    DType result;
    StepProduct product;
    size_t firstExtra{kFirstExtra}; //!< Of the epilogue's among the inputs.
};

//! A product with the first steps of its epilogue.
struct LtStep
{
    std::shared_ptr<Prepared const> product;
    size_t steps{0};
};

//! An error where the library is missing or has nothing for it. Operands of fp8 lie on multiples of 16 bytes.
Result<LtStep> ltStep(CudaDevice const& device, LtRequest const& request, std::span<TensorArg const> inputs,
    TensorArg const& out, int32_t tactic);

//! By the library, or by our tiles where it is missing or has nothing for the shape; what it cannot do of the epilogue
//! is a kernel behind it.
Result<std::shared_ptr<Prepared const>> libraryProduct(CudaDevice const& device, StepProduct const& product,
    std::span<TensorArg const> inputs, TensorArg const& out, int32_t tactic);
//! An offer per tactic of a library, each with these layouts, and as many more for float32 where TF32 is allowed;
//! `multiplications` at the typical shape.
std::vector<Offer> libraryOffers(
    Problem const& problem, Layout layout, double multiplications, int32_t tactics = kLtTactics);

} // namespace tenon::cuda
