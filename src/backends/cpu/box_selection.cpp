// BoxSelection: an image after the other, as the layer says.
#include "layers/box_selection.h"

#include "backends/cpu/step_kernel.h"

namespace tenon::cpu
{

namespace
{
std::variant<std::vector<Offer>, Refusal> offersOfBoxSelection(Problem const& problem)
{
    auto const scores = static_cast<double>(volumeOf(problem.typicalExtents(problem.input(1))));
    return std::vector<Offer>{{.candidate = "greedy",
        .inputs = std::vector<Layout>(problem.node->inputs.size(), Layout::kLinear),
        .outputs = std::vector<Layout>(4, Layout::kLinear),
        .cost = costOf(problem, scores * 100.0, bytesOf(problem))}};
}

class BoxSelectionStep final : public HostPrepared
{
  public:
    BoxSelectionStep(BoxSelection layer, BoxSelection::Extents const& extents)
        : mLayer{layer},
          mExtents{extents}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return scoredBytes() + keptBytes() + static_cast<size_t>(mExtents.classes) * sizeof(int64_t);
    }
    bool isCollective() const noexcept override
    {
        return false;
    }
    Result<Done> run(Call const& call, Lane const&) const override
    {
        auto* const scratch = static_cast<std::byte*>(call.scratch);
        BoxSelection::Memory const memory{.boxes = static_cast<float const*>(call.inputs[0]),
            .scores = static_cast<float const*>(call.inputs[1]),
            .anchors = mExtents.anchorImages == 0 ? nullptr : static_cast<float const*>(call.inputs[2]),
            .counts = static_cast<int32_t*>(call.outputs[0]),
            .outBoxes = static_cast<float*>(call.outputs[1]),
            .outScores = static_cast<float*>(call.outputs[2]),
            .outClasses = static_cast<int32_t*>(call.outputs[3]),
            .scored = reinterpret_cast<BoxSelection::Scored*>(scratch),
            .kept = reinterpret_cast<BoxSelection::Kept*>(scratch + scoredBytes()),
            .ofClass = reinterpret_cast<int64_t*>(scratch + scoredBytes() + keptBytes())};
        for (int64_t image = 0; image < mExtents.images; ++image)
            mLayer.selectImage(mExtents, memory, image);
        return Done{};
    }

  private:
    size_t scoredBytes() const noexcept
    {
        return static_cast<size_t>(mExtents.boxes * mExtents.classes) * sizeof(BoxSelection::Scored);
    }
    size_t keptBytes() const noexcept
    {
        return static_cast<size_t>(mLayer.room(mExtents)) * sizeof(BoxSelection::Kept);
    }

    BoxSelection mLayer;
    BoxSelection::Extents mExtents;
};

Step stepOfBoxSelection(StepOf<BoxSelection> const& from)
{
    for (TensorArg const& input : from.inputs)
        if (input.present && input.layout != Layout::kLinear)
            return badArgument("the kernel of selected boxes takes row-major tensors");
    bool const hasAnchors = from.inputs.size() > 2 && from.inputs[2].present;
    return std::make_shared<BoxSelectionStep const>(from.layer(),
        BoxSelection::extentsOf(
            from.inputs[0].extents, from.inputs[1].extents, hasAnchors ? &from.inputs[2].extents : nullptr));
}

using BoxSelectionFile = StepFile<"box_selection", "greedy", offersOfBoxSelection, stepOfBoxSelection>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(BoxSelection, BoxSelectionFile::kCandidates, BoxSelectionFile::kKernels);
