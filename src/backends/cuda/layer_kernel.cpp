// LayerKernel: checks, and how operands lie in memory.
#include "backends/cuda/layer_kernel.h"

#include "ir/host_tensor.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
struct TacticChoice
{
    int32_t tactic{0};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "tactic", &TacticChoice::tactic)};
    }
};
} // namespace

LayerKernel::LayerKernel(LayerArgs args, LayerPtr layer, std::vector<WeightArg> weights, CudaDevice const& device)
    : mArgs{std::move(args)},
      mLayer{std::move(layer)},
      mWeights{std::move(weights)},
      mDevice{device}
{
    for (WeightArg& weight : mWeights)
        weight.packing = {}; // Text of the plan's, and none of these is packed.
}

Result<std::shared_ptr<Prepared const>> LayerKernel::prepare(
    std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const
{
    TENON_TRY(checkShapes({*mLayer, inputs, outputs, mWeights, mArgs.unread}));
    if (!isDataDependent()
        && std::ranges::all_of(outputs, [](TensorArg const& out) { return volumeOf(out.extents) == 0; }))
        return std::shared_ptr<Prepared const>{std::make_shared<NothingToDo>()};
    return plan(inputs, outputs);
}

Result<int32_t> LayerKernel::chosenTactic() const
{
    return TENON_TRY(choicesOf<TacticChoice>(mArgs)).tactic;
}

KernelSpec tacticSpec(Problem const& problem, Offer const& offer, std::string kernel, std::vector<PackedWeight> packed)
{
    TacticChoice const choice{static_cast<int32_t>(offer.tactic)};
    return {.kernel = std::move(kernel), .args = encodeLayerArgs(problem, offer, choice), .packed = std::move(packed)};
}

Result<size_t> positionOf(int32_t tactic, size_t count, std::string_view what)
{
    if (tactic < 0 || static_cast<size_t>(tactic) >= count)
        return badArgument("tactic {} of {}", tactic, what);
    return static_cast<size_t>(tactic);
}

void mergeAxes(std::vector<int64_t>& extents, std::vector<std::vector<int64_t>>& strides)
{
    auto const drop = [&](size_t i) {
        extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(i));
        for (auto& own : strides)
            own.erase(own.begin() + static_cast<std::ptrdiff_t>(i));
    };
    for (size_t i = extents.size(); i-- > 0;)
        if (extents[i] == 1 && extents.size() > 1)
            drop(i);
    for (size_t i = extents.size(); i-- > 1;)
    {
        bool const isEven = std::ranges::all_of(
            strides, [&](std::vector<int64_t> const& own) { return own[i - 1] == own[i] * extents[i]; });
        if (!isEven)
            continue;
        extents[i] *= extents[i - 1];
        drop(i - 1);
    }
    if (!extents.empty())
        return;
    extents.push_back(1);
    for (auto& own : strides)
        own.push_back(0);
}

std::vector<Layout> plainLayouts(int32_t rank)
{
    return rank >= 3 ? std::vector{Layout::kLinear, Layout::kChannelsLast} : std::vector{Layout::kLinear};
}

double hiddenByEdges(CudaDevice const& device) noexcept
{
    constexpr int32_t kMajorOfEdges{9};
    constexpr double kOfTheLaunch{1.2};
    return device.model().major >= kMajorOfEdges ? kOfTheLaunch : 0.0;
}

} // namespace tenon::cuda
