// ConvolutionShape: a convolution or deconvolution as kernels take it, and how its filter lies in memory.
#pragma once

#include "backends/cuda/layer_kernel.h"
#include "layers/convolution.h"
#include "layers/deconvolution.h"

namespace tenon::cuda
{

struct ConvolutionShape
{
    Window window;
    int64_t groups{1};
    bool isTransposed{false};
    bool isChannelsLast{false}; //!< The filter: [n][spatial][c], as libraries want it, in place of [n][c][spatial].
    bool hasBias{false};
    Epilogue epilogue;
};

//! The name in plans of a filter whose channels are its last axis.
inline constexpr std::string_view kFilterPacking{"channels_last"};
//! The name in plans of matrices whose columns lie behind each other.
inline constexpr std::string_view kMatrixPacking{"columns"};

//! Whether weight 1 of a step is packed as `packing`; an error where any weight is packed in another way, or has fewer
//! bytes than its extents say.
Result<bool> isRightPacked(KernelSource const& source, std::string_view packing);
//! Whether both orders of a filter differ.
bool dependsOnOrder(std::vector<int64_t> const& filter);
//! Of a constant with elements of 1, 2 or 4 bytes and at least three axes.
Result<PackedWeight> packFilter(int32_t input, Constant const& filter);
//! Of a convolution: its filter where that is known at build time and both orders differ; else nothing.
Result<std::vector<PackedWeight>> packedFilter(Problem const& problem);
//! The same with at least two, each matrix of the last two turned.
Result<PackedWeight> packMatrices(int32_t input, Constant const& matrices);
//! The row-major form of one of these; an error where extents, type and bytes do not fit.
Result<std::shared_ptr<Constant const>> unpackTurned(
    std::string_view packing, DType type, std::vector<int64_t> extents, void const* data, size_t bytes);

//! Kernels of convolutions and deconvolutions: the layer is either.
class ConvolutionKernel : public PackableKernel
{
  public:
    using PackableKernel::PackableKernel;
    //! Whether the filter is; an error where it, or any other weight, is packed in another way.
    static Result<bool> isPacked(KernelSource const& source, LayerArgs const&)
    {
        return isRightPacked(source, kFilterPacking);
    }

  protected:
    //! Checks what the layer's own rules have not: one type of real numbers, up to three spatial axes.
    Result<ConvolutionShape> convolutionShape(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const;
};

//! One thread per result: for every window, without a library; the epilogue behind it.
Result<std::shared_ptr<Prepared const>> directConvolution(
    CudaDevice const& device, ConvolutionShape const& shape, std::span<TensorArg const> inputs, TensorArg const& out);

//! Multiplications at the typical shape.
double convolutionWork(Problem const& problem, bool isTransposed);
//! Why no kernel of this backend can do a problem's convolution; empty: one can.
std::string convolutionRefusal(Problem const& problem, Window const& window, Epilogue const& epilogue);

} // namespace tenon::cuda
