// Preparing convolutions for the minimal filtering algorithm, where it pays.
#pragma once

#include "backends/cpu/convolution_geometry.h"
#include "backends/cpu/gemm_epilogue.h"
#include "backends/cpu/packing.h"
#include "backends/cpu/step_kernel.h"

#include <mutex>

namespace tenon::cpu
{

//! A convolution as loaded: packed weights, and their transform once a shape has asked for it.
struct LoadedConvolution : LoadedLayer<Convolution>
{
    PackedOperand weights;

    Result<Done> load();
    //! kTileParts packed matrices; made by the first caller.
    template <typename T>
    Result<float const*> transformed(int64_t channels, int64_t maps) const;

  private:
    mutable std::mutex mMutex;
    mutable std::shared_ptr<void> mTransformed;
};

//! 3 × 3 kernels of stride 1 whose transformed weights stay small, on images of more than a few tiles.
bool wantsWinograd(Convolution const& layer, Geometry const& geometry);

//! `type`: of the tensors and weights.
Step winogradStep(std::shared_ptr<LoadedConvolution const> loaded, DType type, Geometry const& geometry,
    GemmEpilogue epilogue, bool hasBias, int32_t threads);

} // namespace tenon::cpu
