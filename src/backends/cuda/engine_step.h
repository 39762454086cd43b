// EngineStep: products, and convolutions as such, by kernels whose operands the copy engine fetches: what of a layer
// they are, and what makes the same without the engine.
#pragma once

#include "backends/cuda/engine_windows.h"

namespace tenon::cuda
{

//! A step as the product that a kernel makes.
struct EngineStep
{
    StepProduct product;
    std::optional<EngineWindows> windows{};      //!< Its rows, where they are windows,
    std::optional<ConvolutionShape> ofWindows{}; //!< and the convolution then.
    std::optional<SecondWindows> second{};       //!< What stands behind the depth of the rows.
};
//! Of a convolution all of which lies channels last; none: the engine does not fetch its windows.
std::optional<EngineStep> engineStepOf(
    ConvolutionShape const& layer, std::span<TensorArg const> inputs, TensorArg const& out);

//! What of a step is a kernel's.
struct EngineCase
{
    EngineStep step;
    Epilogue own;                              //!< Steps of the epilogue, from the first one on.
    std::shared_ptr<Prepared const> otherwise; //!< Makes the same where an address is none for the engine.
    int64_t extraRows{0}; //!< Of the tensor that the epilogue reads, which repeats; 0: it lies as the result does.
};
Result<EngineCase> engineCaseOf(
    CudaDevice const& device, EngineStep step, std::span<TensorArg const> inputs, TensorArg const& out);
//! With these steps of the epilogue by the library; windows by a thread per result.
Result<std::shared_ptr<Prepared const>> withoutEngine(CudaDevice const& device, EngineStep const& step,
    Epilogue const& epilogue, std::span<TensorArg const> inputs, TensorArg const& out);

//! Kernels of matrix products whose right operand may have been packed for the engine.
class EngineProductKernel : public PackableKernel
{
  public:
    using PackableKernel::PackableKernel;
    //! Whether the right operand is; an error where it, or any other weight, is packed in another way.
    static Result<bool> isPacked(KernelSource const& source, LayerArgs const& args);

  protected:
    //! With the right operand as it lies, whatever the layer says.
    StepProduct asItLies(StepProduct product) const
    {
        product.shape.isTurnedB = product.shape.isTurnedB || hasPacked();
        return product;
    }
};

//! Why these kernels take no such layer, whatever its extents; empty: they do.
std::string engineRefusal(Problem const& problem);
//! Why they take no such extents; empty: they do.
std::string engineRefusal(LtShape const& shape);

//! The product that a step comes to at the typical shape.
Result<ProductShape> typicalProduct(Problem const& problem, MatrixMultiply const& layer);
//! The right operand, where it is a constant, with its columns behind each other: wgmma reads those faster. Nothing
//! where they are so.
Result<std::vector<PackedWeight>> packedColumns(Problem const& problem, MatrixMultiply const& layer);

} // namespace tenon::cuda
