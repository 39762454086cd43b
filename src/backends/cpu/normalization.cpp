// Normalization: layer, instance, group and root-mean-square norm in both layouts.
#include "layers/normalization.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/step_kernel.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
//! How a normalization runs: rows of dense elements, or groups of channels over all pixels.
struct NormForm
{
    bool isGroups{false};
    NormRows<float> rows; //!< Of whatever the tensors are stored as, but for the addresses.
    NormGroups<float> groups;
    int64_t images{0};
    int64_t items{0}; //!< Rows, or groups of one image.
};

//! Extents from the slowest to the fastest in memory.
std::vector<int64_t> inMemoryOrder(Layout layout, std::vector<int64_t> extents)
{
    if (layout == Layout::kChannelsLast && extents.size() >= 3)
        std::rotate(extents.begin() + 1, extents.begin() + 2, extents.end());
    return extents;
}

//! Bit i: axis i in memory order is reduced.
uint32_t reducedInMemory(Layout layout, uint32_t axes, size_t rank)
{
    if (layout != Layout::kChannelsLast || rank < 3)
        return axes;
    uint32_t result = axes & 1U;
    for (size_t i = 2; i < rank; ++i)
        result |= (axes >> i & 1U) << (i - 1);
    return result | (axes >> 1 & 1U) << (rank - 1);
}

int64_t product(std::vector<int64_t> const& extents, size_t first, size_t last)
{
    int64_t result{1};
    for (size_t i = first; i < last; ++i)
        result *= extents[i];
    return result;
}

class FormFinder
{
  public:
    FormFinder(Normalization const& layer, TensorArg const& x, std::vector<int64_t> parameters)
        : mLayer{layer},
          mX{x},
          mRank{x.extents.size()},
          mExtents{inMemoryOrder(x.layout, x.extents)},
          mParameters{inMemoryOrder(x.layout, parameters)},
          mReduced{reducedInMemory(x.layout, layer.axes, mRank)},
          mLogicalParameters{std::move(parameters)}
    {
    }

    std::optional<NormForm> find()
    {
        NormForm form;
        form.rows.epsilon = form.groups.epsilon = mLayer.epsilon;
        form.rows.isRms = form.groups.isRms = mLayer.rms;
        std::optional<NormForm> found;
        if (isChannelWise())
            found = mX.layout == Layout::kChannelsLast ? groups(form) : channels(form);
        // At rank 3 the last axis may be meant as the one spatial axis or as that of a layer norm: the parameters tell.
        return found || mLayer.nbGroups > 1 ? found : rows(form);
    }

  private:
    //! All spatial axes and nothing else are reduced (and maybe groups of channels).
    bool isChannelWise() const
    {
        uint32_t const spatial = ((1U << mRank) - 1U) & ~3U;
        return mRank >= 3 && mLayer.axes == spatial;
    }
    //! Scale and bias vary along axis 1 only, by channel or by group.
    std::optional<bool> isPerGroup() const
    {
        for (size_t i = 0; i < mRank; ++i)
            if (i != 1 && mLogicalParameters[i] != 1)
                return std::nullopt;
        if (mLogicalParameters[1] == mX.extents[1])
            return false;
        return mLogicalParameters[1] == mLayer.nbGroups ? std::optional{true} : std::nullopt;
    }
    std::optional<NormForm> channels(NormForm form) const
    {
        std::optional<bool> const perGroup = isPerGroup();
        if (!perGroup)
            return std::nullopt;
        int64_t const pixels = product(mX.extents, 2, mRank);
        int64_t const channels = mX.extents[1];
        // Without groups each channel is one.
        int64_t const count = mLayer.nbGroups > 1 ? mLayer.nbGroups : channels;
        NormRows<float>& r = form.rows;
        int64_t const perRow = channels / std::max<int64_t>(count, 1);
        r.length = perRow * pixels;
        r.segment = pixels;
        r.period = count;
        r.rowStep = *perGroup ? 1 : perRow;
        r.segmentStep = *perGroup ? 0 : 1;
        if (mLogicalParameters[1] == 1 && channels != 1) // One for all.
            r.rowStep = r.segmentStep = 0;
        form.items = mX.extents[0] * count;
        return form;
    }
    std::optional<NormForm> groups(NormForm form) const
    {
        std::optional<bool> const perGroup = isPerGroup();
        if (!perGroup || (mLogicalParameters[1] == 1 && mX.extents[1] != 1))
            return std::nullopt;
        form.isGroups = true;
        NormGroups<float>& g = form.groups;
        g.pixels = product(mX.extents, 2, mRank);
        g.channels = mX.extents[1];
        g.groupChannels = mLayer.nbGroups > 1 ? g.channels / mLayer.nbGroups : 1;
        g.isPerGroup = *perGroup && mLayer.nbGroups > 1;
        if (g.groupChannels < 1 || g.groupChannels > kMaxNormChannels)
            return std::nullopt;
        form.images = mX.extents[0];
        form.items = g.channels / g.groupChannels;
        return form;
    }
    //! The fastest axes are reduced and nothing else.
    std::optional<NormForm> rows(NormForm form) const
    {
        size_t first = mRank;
        while (first > 0 && (mReduced >> (first - 1) & 1U) != 0)
            --first;
        if (first == mRank || (mReduced & ((1U << first) - 1U)) != 0)
            return std::nullopt;
        for (size_t i = 0; i < mRank; ++i)
            if (mParameters[i] != (i < first ? 1 : mExtents[i]))
                return std::nullopt;
        // Scale and bias are row-major; in another layout only a single axis of them lies as it does there.
        int64_t const wide = std::count_if(
            mLogicalParameters.begin(), mLogicalParameters.end(), [](int64_t extent) { return extent != 1; });
        if (mX.layout != Layout::kLinear && wide > 1)
            return std::nullopt;
        NormRows<float>& r = form.rows;
        r.length = product(mExtents, first, mRank);
        r.segment = r.length;
        r.elementStep = 1;
        form.items = product(mExtents, 0, first);
        return form;
    }

    Normalization const& mLayer;
    TensorArg const& mX;
    size_t mRank;
    std::vector<int64_t> mExtents;
    std::vector<int64_t> mParameters;
    uint32_t mReduced;
    std::vector<int64_t> mLogicalParameters;
};

template <typename T>
class Normalizing
{
  public:
    Normalizing(NormForm form, bool hasBias)
        : mForm{form},
          mHasBias{hasBias}
    {
    }
    void operator()(Call const& call, Lane const& lane) const
    {
        NormForm const& form = mForm;
        auto const bind = [&](auto part) {
            part.in = static_cast<T const*>(call.inputs[0]);
            part.scale = static_cast<T const*>(call.inputs[1]);
            part.bias = mHasBias ? static_cast<T const*>(call.inputs[2]) : nullptr;
            part.out = static_cast<T*>(call.outputs[0]);
            return part;
        };
        if (!form.isGroups)
        {
            auto const [first, last] = lane.part(form.items);
            storageFunctions<T>().runNormRows(bind(rowsOf(form.rows)), first, last);
            return;
        }
        NormGroups<T> const groups = bind(groupsOf(form.groups));
        int64_t const size = form.groups.groupChannels;
        int64_t const most = std::max<int64_t>(kMaxNormChannels / size, 1);
        auto const [first, last] = lane.part(form.images * form.items);
        for (int64_t at = first; at < last;)
        {
            int64_t const image = at / form.items;
            int64_t const group = at - image * form.items;
            int64_t const end = std::min({form.items, group + last - at, group + most});
            storageFunctions<T>().runNormGroups(groups, image, group * size, end * size);
            at += end - group;
        }
    }

  private:
    static NormRows<T> rowsOf(NormRows<float> const& form)
    {
        return {.length = form.length,
            .segment = form.segment,
            .period = form.period,
            .rowStep = form.rowStep,
            .segmentStep = form.segmentStep,
            .elementStep = form.elementStep,
            .epsilon = form.epsilon,
            .isRms = form.isRms};
    }
    static NormGroups<T> groupsOf(NormGroups<float> const& form)
    {
        return {.pixels = form.pixels,
            .channels = form.channels,
            .groupChannels = form.groupChannels,
            .isPerGroup = form.isPerGroup,
            .epsilon = form.epsilon,
            .isRms = form.isRms};
    }

    NormForm mForm;
    bool mHasBias;
};

Step stepOfNorm(StepOf<Normalization> const& from)
{
    TensorArg const& x = from.inputs[0];
    if (!from.areReal(x.layout))
        return badArgument("its operands are not real numbers of one layout");
    bool const hasBias = isPresent(from.inputs, 2);
    if (hasBias && from.inputs[2].extents != from.inputs[1].extents)
        return badArgument("scale and bias have different extents");
    std::optional<NormForm> const form = FormFinder{from.layer(), x, from.inputs[1].extents}.find();
    if (!form)
        return badArgument("no kernel for these axes");
    return withStorage(x.dtype, [&]<typename T>(T) { return teamStep(Normalizing<T>{*form, hasBias}); });
}

std::variant<std::vector<Offer>, Refusal> offerNorm(Problem const& problem)
{
    if (!kRealTypes.has(problem.input(0).dtype))
        return refuse("rows", "only float32, float16 and bfloat16");
    if (problem.hasInput(2) && !(problem.input(1).shape == problem.input(2).shape))
        return refuse("rows", "scale and bias have different shapes");
    std::vector<Offer> offers;
    for (Layout const layout : {Layout::kLinear, Layout::kChannelsLast})
    {
        if (layout == Layout::kChannelsLast && problem.input(0).rank() < 3)
            continue;
        // Which form fits does not depend on the extents at hand, as long as they are not 1.
        TensorArg const x{problem.input(0).dtype, layout, problem.typicalExtents(problem.input(0))};
        if (!FormFinder{problem.fields<Normalization>(), x, problem.typicalExtents(problem.input(1))}.find())
            continue;
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), layout);
        for (size_t i = 1; i < offer.inputs.size(); ++i)
            offer.inputs[i] = Layout::kLinear; // Vectors along one axis, or dense rows.
        offer.outputs = {layout};
        offer.inPlace = {{0, 0}};
        auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
        offer.cost = costOf(problem, elements * 6.0, bytesOf(problem));
        offers.push_back(std::move(offer));
    }
    if (offers.empty())
        return refuse("rows", "no kernel for these axes");
    return offers;
}

using NormalizationFile = StepFile<"normalization", "rows", offerNorm, stepOfNorm>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Normalization, NormalizationFile::kCandidates, NormalizationFile::kKernels);
