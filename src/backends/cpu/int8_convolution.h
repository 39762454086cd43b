// Int8 convolutions as loaded, and their preparation for minimal filtering.
#pragma once

#include "backends/cpu/int8_epilogue.h"
#include "backends/cpu/int8_packing.h"
#include "backends/cpu/step_kernel.h"
#include "layers/quantized_convolution.h"

#include <mutex>

namespace tenon::cpu
{

struct LoadedInt8Convolution : LoadedLayer<QuantizedConvolution>
{
    Int8Operand weights;
    Int8Matrix matrix; //!< Of one group.
    bool isLines{false};
    std::vector<int32_t> shifts;
    std::vector<float> factors;

    Result<Done> load();
    //! Per map, for Int8Epilogue::scalingOf.
    std::vector<double> zeroSums() const;
    //! As int8TileKernelSize says; made by the first caller.
    Result<int16_t const*> transformed(int64_t channels, int64_t maps) const;

  private:
    mutable std::mutex mMutex;
    mutable std::shared_ptr<void> mTransformed;
};

//! 3 × 3 kernels of stride 1 where the active instruction set multiplies pairs of 16-bit numbers.
bool wantsInt8Tiles(LoadedInt8Convolution const& loaded, Geometry const& geometry);
Step int8TilesStep(std::shared_ptr<LoadedInt8Convolution const> loaded, Geometry const& geometry,
    Int8Epilogue const& epilogue, Int8Scaling scaling, int32_t threads);

} // namespace tenon::cpu
