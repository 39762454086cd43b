// Concatenation: each input copied to its place, in row-major and channels-last order.
#include "layers/concatenation.h"

#include "backend/check_shapes.h"
#include "backend/layer_args.h"
#include "backends/cpu/copy_step.h"
#include "backends/cpu/kernel_file.h"
#include "backends/cpu/layer_inputs.h"

namespace tenon::cpu
{

namespace
{
std::variant<std::vector<Offer>, Refusal> offersOfConcatenation(Problem const& problem)
{
    TensorType const& type = problem.output();
    if (movableBytes(type.dtype) == 0)
        return refuse("copy", "elements are smaller than a byte");
    std::vector<Offer> offers;
    for (Layout const layout : movableLayouts(type.rank()))
        offers.push_back({.candidate = "copy",
            .inputs = std::vector(problem.node->inputs.size(), layout),
            .outputs = {layout},
            .cost = copyCost(problem, type.dtype, problem.typicalExtents(type))});
    return offers;
}

Result<KernelSpec> buildConcatenation(Problem const& problem, Offer const& offer)
{
    return KernelSpec{"concatenation", encodeLayerArgs(problem, offer), {}};
}

class ConcatenationKernel final : public Kernel
{
  public:
    explicit ConcatenationKernel(Concatenation layer)
        : mLayer{layer}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        TENON_TRY(checkShapes({*makeLayer(mLayer), inputs, outputs, {}}));
        TensorArg const& out = outputs.front();
        int32_t const rank = static_cast<int32_t>(out.extents.size());
        auto const axis = static_cast<size_t>(mLayer.axis < 0 ? mLayer.axis + rank : mLayer.axis);
        int32_t const bytes = movableBytes(out.dtype);
        std::vector<int64_t> const to = stridesIn(out.layout, out.extents);
        std::vector<CopyStep::Part> parts;
        int64_t at{0};
        for (size_t i = 0; i < inputs.size(); ++i)
        {
            if (inputs[i].layout != out.layout || blockOf(out.layout) != 1 || bytes == 0)
                return badArgument("the copy kernel takes inputs in the layout of the output");
            std::vector<int64_t> const from = stridesIn(inputs[i].layout, inputs[i].extents);
            std::vector<CopyAxis> axes;
            for (size_t k = 0; k < from.size(); ++k)
                axes.push_back({inputs[i].extents[k], from[k], to[k]});
            parts.push_back({i, StridedCopy{bytes, std::move(axes), 0, at * to[axis]}});
            at += inputs[i].extents[axis];
        }
        return std::make_shared<CopyStep const>(std::move(parts));
    }

  private:
    Concatenation mLayer;
};

Result<std::unique_ptr<Kernel>> loadConcatenation(KernelSource const& source)
{
    LayerArgs const args = TENON_TRY(decodeLayerArgs(source.args));
    return std::make_unique<ConcatenationKernel>(TENON_TRY(fieldsOf<Concatenation>(args)));
}

constexpr Candidate kConcatenationCandidates[]{
    {Concatenation::kName, "copy", offersOfConcatenation, buildConcatenation}};
constexpr KernelEntry kConcatenationKernels[]{{"concatenation", loadConcatenation}};
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Concatenation, kConcatenationCandidates, kConcatenationKernels);
