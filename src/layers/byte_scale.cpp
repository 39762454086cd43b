// ByteScale: rules, and the two numbers in the steps of float32 that ONNX says.
#include "layers/byte_scale.h"

#include "base/cancellation.h"
#include "layers/check.h"

#include <algorithm>
#include <cmath>

namespace tenon
{

ByteScaleNumbers byteScaleOf(float least, float most) noexcept
{
    constexpr float kSteps{255.0F};
    float const low = least > 0.0F ? 0.0F : least; // What is no number stays none.
    float const high = most < 0.0F ? 0.0F : most;
    float const range = high - low;
    float const scale = range == 0.0F ? 1.0F : range / kSteps;
    float const shift = (0.0F - low) / scale;
    float const zeroPoint = std::isnan(shift) ? 0.0F : std::nearbyint(std::clamp(shift, 0.0F, kSteps));
    return {scale, static_cast<uint8_t>(zeroPoint)};
}

Result<std::vector<TensorType>> ByteScale::infer(Inputs const& in) const
{
    TENON_TRY(Check(in, kName).count(1).types(0, {DType::kFLOAT, DType::kHALF, DType::kBF16}).done());
    return std::vector<TensorType>{{DType::kFLOAT, {}}, {DType::kUINT8, {}}, {DType::kFLOAT, {}}};
}

Result<std::vector<HostTensor>> ByteScale::reference(HostTensors const& in) const
{
    double least{0.0};
    double most{0.0};
    CancellationCounter counter;
    for (double const x : in[0]->reals)
    {
        counter.next();
        least = x < least || std::isnan(x) ? x : least;
        most = x > most || std::isnan(x) ? x : most;
    }
    ByteScaleNumbers const found = byteScaleOf(static_cast<float>(least), static_cast<float>(most));
    std::vector<HostTensor> outputs;
    outputs.emplace_back(DType::kFLOAT, std::vector<int64_t>{}).set(0, static_cast<double>(found.scale));
    outputs.emplace_back(DType::kUINT8, std::vector<int64_t>{}).setInteger(0, found.zeroPoint);
    outputs.emplace_back(DType::kFLOAT, std::vector<int64_t>{}).set(0, found.zeroPoint);
    return outputs;
}

} // namespace tenon
