// LayerKernel: loading and checking.
#include "backends/cpu/layer_kernel.h"

#include "ir/host_tensor.h"

#include <algorithm>

namespace tenon::cpu
{

Result<LayerKernel> LayerKernel::load(KernelSource const& source)
{
    LayerKernel kernel;
    kernel.mArgs = TENON_TRY(decodeLayerArgs(source.args));
    kernel.mLayer = TENON_TRY(loadLayer(kernel.mArgs.layer, kernel.mArgs.fields));
    for (WeightArg const& weight : source.weights)
        kernel.mWeights.push_back({weight, std::string{weight.packing}});
    for (LoadedWeight& weight : kernel.mWeights)
        weight.arg.packing = {};
    kernel.mMemory = source.memory;
    return kernel;
}

Result<Done> LayerKernel::check(std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const
{
    std::vector<WeightArg> weights;
    weights.reserve(mWeights.size());
    for (LoadedWeight const& weight : mWeights) // Without extents, which would be copies that nobody reads.
        weights.push_back({weight.arg.data, weight.arg.bytes, weight.arg.dtype, {}, weight.packing});
    return checkShapes({layer(), inputs, outputs, weights, mArgs.unread});
}

std::vector<int64_t> matricesRead(std::vector<int64_t> const& mine, std::vector<int64_t> const& batch)
{
    std::vector<int64_t> numbers{0};
    int64_t stride = volumeOf(mine);
    for (size_t i = 0; i < batch.size(); ++i)
    {
        stride /= std::max<int64_t>(mine[i], 1);
        std::vector<int64_t> next;
        next.reserve(numbers.size() * static_cast<size_t>(batch[i]));
        for (int64_t const number : numbers)
            for (int64_t k = 0; k < batch[i]; ++k)
                next.push_back(number + (mine[i] == 1 ? 0 : k * stride));
        numbers = std::move(next);
    }
    return numbers;
}

} // namespace tenon::cpu
