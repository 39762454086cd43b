// LRN in both layouts: pixels side by side, or the channels of one.
#include "layers/lrn.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/step_kernel.h"

namespace tenon::cpu
{

namespace
{
//! Powers are taken of positive numbers.
std::optional<std::string> whyNot(LRN const& layer)
{
    if (!(layer.k > 0.0F) || !(layer.alpha >= 0.0F))
        return fmt::format("k {} and alpha {}: what is divided by may not be positive", layer.k, layer.alpha);
    return std::nullopt;
}

std::variant<std::vector<Offer>, Refusal> offersOfLRN(Problem const& problem)
{
    LRN const& layer = problem.fields<LRN>();
    TensorType const& x = problem.input(0);
    if (!kRealTypes.has(x.dtype))
        return refuse("rows", "only float32, float16 and bfloat16");
    if (std::optional<std::string> why = whyNot(layer))
        return refuse("rows", *std::move(why));
    constexpr double kPower{24.0};
    double const work = static_cast<double>(layer.windowSize) + kPower;
    auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(x)));
    std::vector<Offer> offers;
    for (Layout const layout : {Layout::kLinear, Layout::kChannelsLast})
        if (layout == Layout::kLinear || x.rank() >= 3)
            offers.push_back({.candidate = "rows",
                .inputs = {layout},
                .outputs = {layout},
                .cost = costOf(problem, elements * work, bytesOf(problem))});
    return offers;
}

template <typename T>
Step lrnStep(LocalResponse<T> const& form, Items items, int32_t threads)
{
    return sharedStep(items, LaneMemory{threads, form.scratch()},
        [form](Call const& call, int64_t first, int64_t last, float* scratch) {
            LocalResponse<T> r = form;
            r.in = static_cast<T const*>(call.inputs[0]);
            r.out = static_cast<T*>(call.outputs[0]);
            storageFunctions<T>().runLocalResponse(r, first, last, scratch);
        });
}

Step stepOfLRN(StepOf<LRN> const& from)
{
    TensorArg const& x = from.inputs[0];
    LRN const& layer = from.layer();
    if (!from.areReal(x.layout))
        return badArgument("the kernel of LRN takes real numbers in one unblocked layout");
    if (std::optional<std::string> const why = whyNot(layer))
        return badArgument("{}", *why);
    int64_t const pixels = volumeOf({x.extents.begin() + 2, x.extents.end()});
    bool const areNeighbours = pixels == 1 || x.layout == Layout::kChannelsLast;
    constexpr int64_t kVector{16};
    Items const items{x.extents[0] * (areNeighbours ? pixels : (pixels + kVector - 1) / kVector)};
    return withStorage(x.dtype, [&]<typename T>(T) {
        LocalResponse<T> const form{.channels = x.extents[1],
            .inner = areNeighbours ? 1 : pixels,
            .reach = std::min(layer.windowSize / 2, x.extents[1]),
            .factor = layer.alpha / static_cast<float>(layer.windowSize),
            .beta = layer.beta,
            .k = layer.k};
        return lrnStep(form, items, from.threads);
    });
}

using LRNFile = StepFile<"lrn", "rows", offersOfLRN, stepOfLRN>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(LRN, LRNFile::kCandidates, LRNFile::kKernels);
