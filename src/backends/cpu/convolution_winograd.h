// Preparing convolutions for the minimal filtering algorithm, where it pays.
#pragma once

#include "backends/cpu/convolution_geometry.h"
#include "backends/cpu/gemm_epilogue.h"
#include "backends/cpu/packing.h"
#include "backends/cpu/step_kernel.h"

#include <map>
#include <mutex>
#include <optional>

namespace tenon::cpu
{

//! A convolution as loaded: packed weights, unless the run brings them, and their transform once a shape has asked for
//! it.
struct LoadedConvolution : LoadedLayer<Convolution>
{
    std::optional<PackedOperand> weights;

    Result<Done> load();
    //! A packed matrix per part of tiles of this side; made by the first caller.
    template <typename T>
    Result<float const*> transformed(int64_t channels, int64_t maps, int64_t side) const;

  private:
    mutable std::mutex mMutex;
    mutable std::map<int64_t, std::shared_ptr<void>> mTransformed; //!< By the side of tiles.
};

//! How a convolution goes by minimal filtering.
struct WinogradPlan
{
    int64_t side{0};    //!< Of its tiles; 0: it is faster as it is.
    bool isApart{true}; //!< Each lane takes tiles of its own through all steps; else lanes share transformed tiles.
};
//! What is best for a convolution of these extents on so many lanes. `directRate`: how much faster the products of the
//! convolution as it is are than those of floats.
WinogradPlan planWinograd(Convolution const& layer, Geometry const& geometry, int32_t threads, double directRate);

//! `type`: of the tensors and weights.
Step winogradStep(std::shared_ptr<LoadedConvolution const> loaded, DType type, Geometry const& geometry,
    WinogradPlan const& plan, GemmEpilogue epilogue, bool hasBias, int32_t threads);

} // namespace tenon::cpu
