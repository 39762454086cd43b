// Layers that only move elements: Shuffle, Squeeze, Unsqueeze, BitCast, Slice and Concatenation.
#include "backends/cuda/strided_copy.h"
#include "layers/bit_cast.h"
#include "layers/concatenation.h"
#include "layers/shuffle_atoms.h"
#include "layers/slice.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
double moveCost(Problem const& problem)
{
    return costOf(problem, 0.0, bytesOf(problem));
}

//! Operands beside the data, whose contents alone matter.
uint32_t unreadBehindFirst(Problem const& problem)
{
    return ((1U << problem.node->inputs.size()) - 1U) & ~1U;
}

// ---- Shuffle

Offer moveOffer(Problem const& problem, Layout from, Layout to, bool isView)
{
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
    offer.inputs[0] = from;
    offer.outputs = {to};
    offer.unread = unreadBehindFirst(problem);
    offer.isView = isView;
    offer.cost = isView ? 0.0 : moveCost(problem);
    return offer;
}

std::variant<std::vector<Offer>, Refusal> offersOfShuffle(Problem const& problem)
{
    if (movableBytes(problem.output().dtype) == 0)
        return refuse("copy", "elements are smaller than a byte");
    if (problem.node->inputs.size() > 1 && !hasKnownContents(problem, 1))
        return refuse("copy", "the reshape dimensions are known only when it runs");
    Shuffle const& layer = problem.fields<Shuffle>();
    Shape const& x = problem.input(0).shape;
    Result<Shape> const middle = layer.reshaped(inputsOf(problem));
    if (!middle)
        return refuse("copy", middle.error().message);
    if (std::max(x.size(), middle->size()) > kMaxAxes)
        return refuse("copy", fmt::format("rank {}", std::max(x.size(), middle->size())));
    bool const isOne = isTrivialOrder(layer.firstTranspose, x) || isTrivialOrder(layer.secondTranspose, *middle);
    std::vector<Offer> offers;
    if (isOne)
        offers.push_back(moveOffer(problem, Layout::kLinear, Layout::kLinear, layer.isReshape(x)));
    auto const atoms = atomsOf(x, layer.firstTranspose, *middle, layer.secondTranspose);
    auto const ranks = std::pair{static_cast<int32_t>(x.size()), problem.output().rank()};
    for (Layout const from : plainLayouts(ranks.first))
        for (Layout const to : plainLayouts(ranks.second))
        {
            bool const isLinear = from == Layout::kLinear && to == Layout::kLinear;
            // Pixels of images channels last are rows of channels already, and the other way round.
            if (!isLinear && atoms && keepsMemoryOrder(*atoms, from, x.size(), to, middle->size()))
                offers.push_back(moveOffer(problem, from, to, true));
        }
    if (offers.empty())
        return refuse("copy", "it reshapes between two transposes");
    return offers;
}

//! The identity and changes of rank: the same memory under another shape.
std::variant<std::vector<Offer>, Refusal> offersOfView(Problem const& problem)
{
    if (problem.input(0).dtype != problem.output().dtype)
        return refuse("view", "the element type changes");
    bool const isSame = problem.input(0).shape == problem.output().shape;
    std::vector<Offer> offers;
    for (Layout const layout : isSame ? plainLayouts(problem.output().rank()) : std::vector{Layout::kLinear})
        offers.push_back(moveOffer(problem, layout, layout, true));
    return offers;
}

//! The same bytes as elements of another type.
std::variant<std::vector<Offer>, Refusal> offersOfBitCast(Problem const& problem)
{
    return std::vector{moveOffer(problem, Layout::kLinear, Layout::kLinear, true)};
}

class ShuffleKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        Shuffle const layer = TENON_TRY(fieldsOf<Shuffle>(args()));
        TensorArg const& x = inputs.front();
        TensorArg const& y = outputs.front();
        int32_t const bytes = movableBytes(y.dtype);
        if (x.layout != Layout::kLinear || y.layout != Layout::kLinear || bytes == 0)
            return badArgument("the copy kernel of shuffles takes row-major tensors");
        PreparedInputs const in{inputs, args().unread};
        std::vector<int64_t> const middle = TENON_TRY(concrete(TENON_TRY(layer.reshaped(in.get()))));
        if (volumeOf(middle) != volumeOf(x.extents))
            return badConfig("{} elements cannot become {}", volumeOf(x.extents), volumeOf(middle));
        CopyPart part;
        if (isTrivialOrder(layer.secondTranspose, shapeOf(middle)))
        {
            std::vector<int64_t> const from = stridesIn(Layout::kLinear, x.extents);
            int64_t stride = volumeOf(x.extents); // The transposed input, packed, is the output.
            for (size_t k = 0; k < x.extents.size(); ++k)
            {
                auto const axis = static_cast<size_t>(layer.firstTranspose[k]);
                stride /= std::max<int64_t>(x.extents[axis], 1);
                part.axes.push_back({x.extents[axis], from[axis], stride});
            }
        }
        else if (isTrivialOrder(layer.firstTranspose, shapeOf(x.extents)))
        {
            std::vector<int64_t> const between = stridesIn(Layout::kLinear, middle);
            std::vector<int64_t> const to = stridesIn(Layout::kLinear, y.extents);
            for (size_t k = 0; k < middle.size(); ++k)
            {
                auto const axis = static_cast<size_t>(layer.secondTranspose[k]);
                part.axes.push_back({middle[axis], between[axis], to[k]});
            }
        }
        else
            return badArgument("it reshapes between two transposes");
        return stridedCopies(device(), bytes, {part});
    }
};

Result<KernelSpec> buildShuffle(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "shuffle", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

Result<KernelSpec> buildView(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "view", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

// ---- Slice

std::variant<std::vector<Offer>, Refusal> offersOfSlice(Problem const& problem)
{
    TensorType const& type = problem.output();
    if (movableBytes(type.dtype) == 0 || type.rank() > static_cast<int32_t>(kMaxAxes))
        return refuse("copy", fmt::format("elements of {} or rank {}", nameOf(type.dtype), type.rank()));
    if (problem.fields<Slice>().mode != nvinfer1::SampleMode::kSTRICT_BOUNDS)
        return refuse("copy", "the mode reads beyond the input");
    for (size_t i = 1; i < problem.node->inputs.size(); ++i)
        if (!hasKnownContents(problem, i))
            return refuse("copy", fmt::format("the contents of input {} are known only when it runs", i));
    std::vector<Offer> offers;
    for (Layout const layout : plainLayouts(type.rank()))
    {
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
        offer.inputs[0] = layout;
        offer.outputs = {layout};
        offer.cost = moveCost(problem);
        offer.unread = unreadBehindFirst(problem);
        offers.push_back(std::move(offer));
    }
    return offers;
}

Result<Done> checkCut(size_t axis, int64_t start, int64_t stride, int64_t size, int64_t extent)
{
    constexpr int64_t kFar{int64_t{1} << 40};
    bool const isFar = std::max(start, stride) > kFar || std::min(start, stride) < -kFar;
    int64_t const end = isFar ? 0 : start + (size - 1) * stride;
    if (isFar || start < 0 || start >= extent || end < 0 || end >= extent)
        return errorOf(ErrorCode::kINVALID_CONFIG,
            "the slice of {} elements from {} by {} on axis {} leaves the input's extent of {}", size, start, stride,
            axis, extent);
    return Done{};
}

class SliceKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        Slice const layer = TENON_TRY(fieldsOf<Slice>(args()));
        TensorArg const& x = inputs.front();
        TensorArg const& out = outputs.front();
        int32_t const bytes = movableBytes(out.dtype);
        // Constants are row-major, whatever the layout of the result.
        if (blockOf(x.layout) != 1 || blockOf(out.layout) != 1 || bytes == 0
            || layer.mode != nvinfer1::SampleMode::kSTRICT_BOUNDS)
            return badArgument("the copy kernel of slices takes layouts without blocks, and strict bounds");
        PreparedInputs const in{inputs, args().unread};
        Slice::Cut const cut = TENON_TRY(layer.cut(in.get()));
        std::vector<int64_t> const start = TENON_TRY(concrete(cut.start));
        std::vector<int64_t> const stride = TENON_TRY(concrete(cut.stride));
        std::vector<int64_t> const from = stridesIn(x.layout, x.extents);
        std::vector<int64_t> const to = stridesIn(out.layout, out.extents);
        CopyPart part;
        for (size_t k = 0; k < from.size(); ++k)
        {
            TENON_TRY(checkCut(k, start[k], stride[k], out.extents[k], x.extents[k]));
            part.fromOffset += start[k] * from[k];
            part.axes.push_back({out.extents[k], stride[k] * from[k], to[k]});
        }
        return stridedCopies(device(), bytes, {part});
    }
};

Result<KernelSpec> buildSlice(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "slice", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

// ---- Concatenation

std::variant<std::vector<Offer>, Refusal> offersOfConcatenation(Problem const& problem)
{
    TensorType const& type = problem.output();
    if (movableBytes(type.dtype) == 0 || type.rank() > static_cast<int32_t>(kMaxAxes))
        return refuse("copy", fmt::format("elements of {} or rank {}", nameOf(type.dtype), type.rank()));
    std::vector<Offer> offers;
    for (Layout const layout : plainLayouts(type.rank()))
    {
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), layout);
        offer.outputs = {layout};
        offer.cost = moveCost(problem)
            + problem.target->rates.startMicroseconds * static_cast<double>(problem.node->inputs.size() - 1);
        offers.push_back(std::move(offer));
    }
    return offers;
}

class ConcatenationKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        Concatenation const layer = TENON_TRY(fieldsOf<Concatenation>(args()));
        TensorArg const& out = outputs.front();
        auto const rank = static_cast<int32_t>(out.extents.size());
        auto const axis = static_cast<size_t>(layer.axis < 0 ? layer.axis + rank : layer.axis);
        int32_t const bytes = movableBytes(out.dtype);
        std::vector<int64_t> const to = stridesIn(out.layout, out.extents);
        std::vector<CopyPart> parts;
        int64_t at{0};
        for (size_t i = 0; i < inputs.size(); ++i)
        {
            if (blockOf(inputs[i].layout) != 1 || blockOf(out.layout) != 1 || bytes == 0) // Constants are row-major.
                return badArgument("the copy kernel takes no blocks of channels");
            std::vector<int64_t> const from = stridesIn(inputs[i].layout, inputs[i].extents);
            CopyPart part{.input = i, .toOffset = at * to[axis]};
            for (size_t k = 0; k < from.size(); ++k)
                part.axes.push_back({inputs[i].extents[k], from[k], to[k]});
            parts.push_back(std::move(part));
            at += inputs[i].extents[axis];
        }
        return stridedCopies(device(), bytes, parts);
    }
};

Result<KernelSpec> buildConcatenation(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "concatenation", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kMoveCandidates[]{
    {.layer = Shuffle::kName, .name = "copy", .offers = offersOfShuffle, .build = buildShuffle},
    {.layer = "Squeeze", .name = "view", .offers = offersOfView, .build = buildView},
    {.layer = "Unsqueeze", .name = "view", .offers = offersOfView, .build = buildView},
    {.layer = "Identity", .name = "view", .offers = offersOfView, .build = buildView},
    {.layer = BitCast::kName, .name = "view", .offers = offersOfBitCast, .build = buildView},
    {.layer = Slice::kName, .name = "copy", .offers = offersOfSlice, .build = buildSlice},
    {.layer = Concatenation::kName, .name = "copy", .offers = offersOfConcatenation, .build = buildConcatenation}};
constexpr CudaKernelEntry kMoveKernels[]{{"shuffle", &loadLayerKernel<ShuffleKernel>},
    {"slice", &loadLayerKernel<SliceKernel>}, {"concatenation", &loadLayerKernel<ConcatenationKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(Moves, kMoveCandidates, kMoveKernels);
