// QuantizedProblem: what convolutions and products of int8 and fp8 numbers are to the kernels that do them.
#pragma once

#include "backends/cuda/layer_kernel.h"
#include "layers/quantized_convolution.h"
#include "layers/quantized_matrix_multiply.h"

#include <array>

namespace tenon::cuda
{

inline constexpr int64_t kQuantizedGrain{16}; //!< Of the depth: pieces of so many bytes.

//! A layer of either kind: what of it does not depend on extents.
struct QuantizedLayer
{
    Window window; //!< Of convolutions.
    bool isConvolution{false};
    bool isTurned{true}; //!< Columns of the right operand lie behind each other; else it has to be packed.
    Epilogue epilogue;
    float factor{1.0F}; //!< Of all sums, beside the scales of the kernel.
    float outputScale{0.0F};
    DType realType{DType::kFLOAT};
};
QuantizedLayer quantizedLayer(QuantizedConvolution const& layer);
QuantizedLayer quantizedLayer(QuantizedMatrixMultiply const& layer);

//! Products of rows of x and columns of w, or of windows of images, channels last. A batch per call, with strides; they
//! and where calls begin are in elements of x, w and the result.
struct QuantizedShape
{
    int64_t rows{1};
    int64_t columns{1};
    int64_t depth{1}; //!< Of all taps.
    int64_t taps{1};
    std::array<int64_t, 2> in{1, 1}; //!< Height and width of images.
    std::array<int64_t, 2> out{1, 1};
    std::array<int64_t, 2> stride{1, 1};
    std::array<int64_t, 2> padding{0, 0};
    std::array<int64_t, 2> dilation{1, 1};
    int64_t windowWidth{1};
    bool hasWindow{false}; //!< Else each result reads one row of x.
    int64_t batch{1};
    std::array<int64_t, 3> strides{};
    std::vector<std::array<int64_t, 3>> calls{{}};
};
//! An error where the kernels do not take these operands.
Result<QuantizedShape> quantizedShape(
    QuantizedLayer const& layer, std::span<TensorArg const> inputs, TensorArg const& out);

//! By our own kernel, tiled in one of so many ways; `weights`: in place of input 1, where a plan holds them in another
//! order than the kernel's.
inline constexpr int32_t kQuantizedTactics{3};
Result<std::shared_ptr<Prepared const>> quantizedStep(CudaDevice const& device, QuantizedLayer const& layer,
    int32_t tactic, Constant const* weights, std::span<TensorArg const> inputs, TensorArg const& out);
//! The weights in the order of the kernel, where these are in another one; null: they are as they should be.
Result<std::shared_ptr<Constant const>> turnedWeights(
    QuantizedLayer const& layer, std::vector<WeightArg> const& weights);
Result<QuantizedLayer> quantizedLayerOf(LayerArgs const& args);
//! Why no kernel takes a problem's operands; empty: ours does.
std::string objectionToQuantized(Problem const& problem, QuantizedLayer const& layer);
//! Weights in the order of the kernel, for a plan; none where they are so already, or no constant.
Result<std::vector<PackedWeight>> packQuantized(QuantizedLayer const& layer, Constant const* weights);

} // namespace tenon::cuda
