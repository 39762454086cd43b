// Shuffle, Squeeze, Unsqueeze, Identity: no work when the order in memory stays, else one strided copy.
#include "layers/shuffle.h"

#include "backend/layer_inputs.h"
#include "backends/cpu/copy_step.h"
#include "backends/cpu/step_kernel.h"
#include "layers/identity.h"
#include "layers/shuffle_atoms.h"
#include "layers/squeeze.h"
#include "layers/unsqueeze.h"

namespace tenon::cpu
{

namespace
{
//! Operands beside the data matter for the shape only.
uint32_t unreadOperands(Problem const& problem)
{
    uint32_t unread{0};
    for (size_t i = 1; i < problem.node->inputs.size(); ++i)
        unread |= 1U << i;
    return unread;
}

Offer offerOf(Problem const& problem, char const* name, Layout from, Layout to)
{
    std::vector<Layout> inputs(problem.node->inputs.size(), Layout::kLinear);
    inputs[0] = from;
    return {.candidate = name, .inputs = std::move(inputs), .outputs = {to}, .unread = unreadOperands(problem)};
}

std::variant<std::vector<Offer>, Refusal> offersOfShuffle(Problem const& problem)
{
    if (movableBytes(problem.output().dtype) == 0)
        return refuse("copy", "elements are smaller than a byte");
    if (problem.node->inputs.size() > 1 && !hasKnownContents(problem, 1))
        return refuse("copy", "the reshape dimensions are known only when it runs");
    Shuffle const& layer = problem.fields<Shuffle>();
    Shape const& x = problem.input(0).shape;
    Result<Shape> middle = layer.reshaped(inputsOf(problem));
    if (!middle)
        return refuse("copy", middle.error().message);
    auto const atoms = atomsOf(x, layer.firstTranspose, *middle, layer.secondTranspose);
    double const cost = copyCost(problem, problem.output().dtype, problem.typicalExtents(problem.output()), 1.5);
    std::vector<Offer> offers;
    for (Layout const from : movableLayouts(static_cast<int32_t>(x.size())))
        for (Layout const to : movableLayouts(problem.output().rank()))
        {
            bool const isLinear = from == Layout::kLinear && to == Layout::kLinear;
            Offer offer = offerOf(problem, "copy", from, to);
            offer.isView = atoms ? keepsMemoryOrder(*atoms, from, x.size(), to, problem.output().shape.size())
                                 : isLinear && layer.isReshape(x);
            offer.cost = offer.isView ? 0.0 : cost;
            bool const oneTranspose =
                isTrivialOrder(layer.firstTranspose, x) || isTrivialOrder(layer.secondTranspose, *middle);
            if (offer.isView || atoms || (isLinear && oneTranspose))
                offers.push_back(std::move(offer));
        }
    if (offers.empty())
        return refuse("copy", "the reshape cuts across axes between two transposes");
    return offers;
}

//! Squeeze and unsqueeze: extents of 1 come or go.
std::variant<std::vector<Offer>, Refusal> offersOfRank(Problem const& problem)
{
    Shape const& x = problem.input(0).shape;
    Shape const& y = problem.output().shape;
    auto const atoms = atomsOf(x, kSameOrder, y, kSameOrder);
    std::vector<Offer> offers;
    for (Layout const from : movableLayouts(static_cast<int32_t>(x.size())))
        for (Layout const to : movableLayouts(static_cast<int32_t>(y.size())))
        {
            bool const isLinear = from == Layout::kLinear && to == Layout::kLinear;
            if (!isLinear && (!atoms || !keepsMemoryOrder(*atoms, from, x.size(), to, y.size())))
                continue;
            offers.push_back(offerOf(problem, "view", from, to));
            offers.back().isView = true;
        }
    return offers;
}

std::variant<std::vector<Offer>, Refusal> offersOfIdentity(Problem const& problem)
{
    if (problem.input(0).dtype != problem.output().dtype)
        return refuse("view", "the element type changes");
    std::vector<Offer> offers;
    for (Layout const layout : movableLayouts(problem.output().rank()))
    {
        offers.push_back(offerOf(problem, "view", layout, layout));
        offers.back().isView = true;
    }
    return offers;
}

//! Strides of each atom in a tensor: those of its axis, times the extents of the later atoms of the same axis.
std::vector<int64_t> atomStrides(std::vector<ShuffleAtom<int64_t>> const& atoms, size_t ShuffleAtom<int64_t>::*axis,
    std::vector<int64_t> const& strides)
{
    std::vector<int64_t> result(atoms.size());
    for (size_t k = 0; k < atoms.size(); ++k)
    {
        result[k] = strides[atoms[k].*axis];
        for (size_t later = k + 1; later < atoms.size(); ++later)
            if (atoms[later].*axis == atoms[k].*axis)
                result[k] *= atoms[later].extent;
    }
    return result;
}

Result<std::vector<CopyAxis>> copyAxes(
    Shuffle const& layer, TensorArg const& x, TensorArg const& y, std::vector<int64_t> const& middle)
{
    std::vector<int64_t> const from = stridesIn(x.layout, x.extents);
    std::vector<int64_t> const to = stridesIn(y.layout, y.extents);
    std::vector<CopyAxis> axes;
    if (auto const atoms = atomsOf(x.extents, layer.firstTranspose, middle, layer.secondTranspose))
    {
        std::vector<int64_t> const fromAtoms = atomStrides(*atoms, &ShuffleAtom<int64_t>::input, from);
        std::vector<int64_t> const toAtoms = atomStrides(*atoms, &ShuffleAtom<int64_t>::output, to);
        for (size_t k = 0; k < atoms->size(); ++k)
            axes.push_back({(*atoms)[k].extent, fromAtoms[k], toAtoms[k]});
        return axes;
    }
    if (x.layout != Layout::kLinear || y.layout != Layout::kLinear)
        return badArgument("the reshape cuts across axes, which needs row-major tensors");
    if (isTrivialOrder(layer.secondTranspose, shapeOf(middle)))
    {
        int64_t stride = volumeOf(x.extents); // The transposed input, packed, is the output.
        for (size_t k = 0; k < x.extents.size(); ++k)
        {
            auto const axis = static_cast<size_t>(layer.firstTranspose[k]);
            stride /= std::max<int64_t>(x.extents[axis], 1);
            axes.push_back({x.extents[axis], from[axis], stride});
        }
        return axes;
    }
    if (!isTrivialOrder(layer.firstTranspose, shapeOf(x.extents)))
        return badArgument("the reshape cuts across axes between two transposes");
    std::vector<int64_t> const between = stridesIn(Layout::kLinear, middle);
    for (size_t k = 0; k < middle.size(); ++k)
    {
        auto const axis = static_cast<size_t>(layer.secondTranspose[k]);
        axes.push_back({middle[axis], between[axis], to[k]});
    }
    return axes;
}

Step stepOfShuffle(StepOf<Shuffle> const& from)
{
    TensorArg const& x = from.inputs.front();
    TensorArg const& y = from.outputs.front();
    int32_t const bytes = movableBytes(y.dtype);
    if (blockOf(x.layout) != 1 || blockOf(y.layout) != 1 || bytes == 0)
        return badArgument("the copy kernel of shuffles takes unblocked layouts");
    PreparedInputs const in{from.inputs, from.kernel().args().unread};
    std::vector<int64_t> const middle = TENON_TRY(concrete(TENON_TRY(from.layer().reshaped(in.get()))));
    if (volumeOf(middle) != volumeOf(x.extents))
        return badConfig("{} elements cannot become {}", volumeOf(x.extents), volumeOf(middle));
    std::vector<CopyAxis> axes = TENON_TRY(copyAxes(from.layer(), x, y, middle));
    return copyStep({{0, StridedCopy{bytes, std::move(axes)}}});
}

constexpr Candidate kShuffleCandidates[]{{Shuffle::kName, "copy", offersOfShuffle, buildPlain<"shuffle">},
    {Squeeze::kName, "view", offersOfRank, buildPlain<"view">},
    {Unsqueeze::kName, "view", offersOfRank, buildPlain<"view">},
    {Identity::kName, "view", offersOfIdentity, buildPlain<"view">}};
constexpr KernelEntry kShuffleKernels[]{{"shuffle", &loadStepKernel<stepOfShuffle>}};
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Shuffle, kShuffleCandidates, kShuffleKernels);
