// Preparing convolutions for the minimal filtering algorithm, where it pays.
#pragma once

#include "backends/cpu/convolution_geometry.h"
#include "backends/cpu/gemm_epilogue.h"
#include "backends/cpu/packing.h"
#include "backends/cpu/step_kernel.h"

#include <map>
#include <mutex>

namespace tenon::cpu
{

//! A convolution as loaded: packed weights, and their transform once a shape has asked for it.
struct LoadedConvolution : LoadedLayer<Convolution>
{
    PackedOperand weights;

    Result<Done> load();
    //! A packed matrix per part of tiles of this side; made by the first caller.
    template <typename T>
    Result<float const*> transformed(int64_t channels, int64_t maps, int64_t side) const;

  private:
    mutable std::mutex mMutex;
    mutable std::map<int64_t, std::shared_ptr<void>> mTransformed; //!< By the side of tiles.
};

//! The side of the tiles that are best for a convolution of these extents; 0: it is faster as it is.
int64_t winogradSide(Convolution const& layer, Geometry const& geometry);

//! `type`: of the tensors and weights.
Step winogradStep(std::shared_ptr<LoadedConvolution const> loaded, DType type, Geometry const& geometry, int64_t side,
    GemmEpilogue epilogue, bool hasBias, int32_t threads);

} // namespace tenon::cpu
