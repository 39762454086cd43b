// SoftMax along any axis of either layout.
#include "layers/soft_max.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/step_kernel.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
constexpr int64_t kSoftMaxBlock{16}; //!< Neighbouring rows that go together when the axis is strided.

Step stepOfSoftMax(StepOf<SoftMax> const& from)
{
    TensorArg const& x = from.inputs[0];
    if (!from.areReal(x.layout))
        return badArgument("its operands are not real numbers of one layout");
    auto const axis = static_cast<size_t>(from.layer().axis());
    int64_t const length = x.extents.at(axis);
    int64_t const inner = stridesIn(x.layout, x.extents)[axis];
    int64_t const lanes = volumeOf(x.extents) / std::max<int64_t>(length, 1);
    int64_t const items = inner <= 1 ? lanes : lanes / inner * ((inner + kSoftMaxBlock - 1) / kSoftMaxBlock);
    return withStorage(x.dtype, [&]<typename T>(T) {
        SoftMaxRows<T> const form{.length = length, .inner = std::max<int64_t>(inner, 1)};
        // The floats of a row or block of rows, unless the output can hold them.
        int64_t const floats = kIsFloat<T> ? 0 : length * (form.inner == 1 ? 1 : kSoftMaxBlock);
        auto const run = [form](Call const& call, int64_t first, int64_t last, float* scratch) {
            SoftMaxRows<T> rows = form;
            rows.in = static_cast<T const*>(call.inputs[0]);
            rows.out = static_cast<T*>(call.outputs[0]);
            storageFunctions<T>().runSoftMax(rows, first, last, scratch);
        };
        return sharedStep({items}, LaneMemory{from.threads, floats}, run);
    });
}

std::variant<std::vector<Offer>, Refusal> offerSoftMax(Problem const& problem)
{
    if (!kRealTypes.has(problem.input(0).dtype))
        return refuse("rows", "only float32, float16 and bfloat16");
    std::vector<Offer> offers;
    for (Layout const layout : {Layout::kLinear, Layout::kChannelsLast})
        if (layout == Layout::kLinear || problem.input(0).rank() >= 3)
        {
            Offer offer;
            offer.inputs = {layout};
            offer.outputs = {layout};
            offer.inPlace = {{0, 0}};
            auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(problem.output())));
            offer.cost = costOf(problem, elements * 40.0, bytesOf(problem));
            offers.push_back(std::move(offer));
        }
    return offers;
}

using SoftMaxFile = StepFile<"soft_max", "rows", offerSoftMax, stepOfSoftMax>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(SoftMax, SoftMaxFile::kCandidates, SoftMaxFile::kKernels);
