// ByteScale: the least and the largest of a stretch of elements while it is in the first cache; few elements by one
// lane, many by all of them, and then what these found.
#include "layers/byte_scale.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/step_kernel.h"
#include "backends/cpu/storage_numbers.h"

#include <algorithm>
#include <cmath>

namespace tenon::cpu
{

namespace
{
std::variant<std::vector<Offer>, Refusal> offersOfByteScale(Problem const& problem)
{
    TensorType const& x = problem.input(0);
    if (!kRealTypes.has(x.dtype))
        return refuse("stretches", fmt::format("takes float32, float16 and bfloat16, this is {}", nameOf(x.dtype)));
    std::vector<Offer> offers;
    for (Layout const layout : {Layout::kLinear, Layout::kChannelsLast})
        if (layout == Layout::kLinear || (x.rank() >= 3 && problem.constant(0) == nullptr))
            offers.push_back({.candidate = "stretches",
                .inputs = {layout},
                .outputs = {Layout::kLinear, Layout::kLinear, Layout::kLinear},
                .cost = costOf(problem, 0.0, bytesOf(problem))});
    return offers;
}

//! Of no elements: 0, which counts among those of any tensor.
struct Extremes
{
    float least{0.0F};
    float most{0.0F};

    void take(float low, float high) noexcept
    {
        least = low < least || std::isnan(low) ? low : least;
        most = high > most || std::isnan(high) ? high : most;
    }
};

//! Extremes of the columns of a matrix.
template <typename T>
void columnExtremes(ReductionKind kind, T const* in, int64_t rows, int64_t columns, T* out)
{
    Reduction<T> const reduction{.kind = kind, .length = rows, .inner = columns, .in = in, .out = out};
    storageFunctions<T>().runReduction(reduction, 0, 1, 0, columns);
}

//! By columns, which are joined once in the end: what is left of a row of them is taken with what stands before it.
template <typename T>
Extremes extremesOf(T const* x, int64_t count)
{
    constexpr int64_t kColumns{64};
    constexpr int64_t kStretch{64 * kColumns}; // For both kinds, while it is in the first cache.
    constexpr int64_t kFew{4};
    constexpr ReductionKind kKinds[]{ReductionKind::kMinimum, ReductionKind::kMaximum};
    Extremes found;
    if (count < kColumns)
    {
        for (int64_t i = 0; i < count; ++i)
            found.take(static_cast<float>(numberOf(x[i])), static_cast<float>(numberOf(x[i])));
        return found;
    }
    T ends[2][2 * kColumns]; // Of all stretches up to here, and of one.
    auto const take = [&](T const* from, int64_t rows, bool isFirst) {
        for (size_t k = 0; k < 2; ++k)
        {
            columnExtremes(kKinds[k], from, rows, kColumns, ends[k] + (isFirst ? 0 : kColumns));
            if (!isFirst)
                columnExtremes(kKinds[k], ends[k], 2, kColumns, ends[k]);
        }
    };
    for (int64_t first = 0; first + kColumns <= count; first += kStretch)
        take(x + first, std::min(kStretch, count - first) / kColumns, first == 0);
    if (count % kColumns != 0)
        take(x + count - kColumns, 1, false);
    for (size_t k = 0; k < 2; ++k)
        columnExtremes(kKinds[k], ends[k], kColumns / kFew, kFew, ends[k]);
    for (int64_t i = 0; i < kFew; ++i)
        found.take(static_cast<float>(numberOf(ends[0][i])), static_cast<float>(numberOf(ends[1][i])));
    return found;
}

void finish(Extremes const& found, Call const& call)
{
    ByteScaleNumbers const numbers = byteScaleOf(found.least, found.most);
    *static_cast<float*>(call.outputs[0]) = numbers.scale;
    *static_cast<uint8_t*>(call.outputs[1]) = numbers.zeroPoint;
    *static_cast<float*>(call.outputs[2]) = static_cast<float>(numbers.zeroPoint);
}

template <typename T>
Step byteScaleStep(int64_t count, int32_t threads)
{
    constexpr int64_t kWork{16384}; // Elements of a lane that are worth another stage.
    if (threads == 1 || count < kWork * threads)
        return teamStep([count](Call const& call, Lane const& lane) {
            if (lane.index == 0)
                finish(extremesOf(static_cast<T const*>(call.inputs[0]), count), call);
        });
    constexpr int32_t kStages{2};
    auto const run = [count, threads](Call const& call, Lane const& lane) {
        constexpr int64_t kGrain{64};
        Lane const part{lane.index, std::min(lane.count, threads)};
        auto* const found = static_cast<Extremes*>(call.scratch);
        if (lane.stage == 0 && part.index < part.count)
        {
            auto const [first, last] = part.part(count, kGrain);
            found[part.index] = extremesOf(static_cast<T const*>(call.inputs[0]) + first, last - first);
        }
        if (lane.stage == 0 || lane.index > 0)
            return;
        Extremes all;
        for (int32_t i = 0; i < part.count; ++i)
            all.take(found[i].least, found[i].most);
        finish(all, call);
    };
    return teamStep(run, static_cast<size_t>(threads) * sizeof(Extremes), kStages);
}

Step stepOfByteScale(StepOf<ByteScale> const& from)
{
    TensorArg const& x = from.inputs[0];
    bool const areLinear =
        std::ranges::all_of(from.outputs, [](TensorArg const& out) { return out.layout == Layout::kLinear; });
    if (!kRealTypes.has(x.dtype) || blockOf(x.layout) != 1 || !areLinear)
        return badArgument("the kernel of ByteScale takes real numbers in unblocked layouts");
    return withStorage(x.dtype, [&]<typename T>(T) { return byteScaleStep<T>(volumeOf(x.extents), from.threads); });
}

using ByteScaleFile = StepFile<"byte_scale", "stretches", offersOfByteScale, stepOfByteScale>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(ByteScale, ByteScaleFile::kCandidates, ByteScaleFile::kKernels);
