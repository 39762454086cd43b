// Remainder: elements one by one, in row-major order.
#include "layers/remainder.h"

#include "backends/cpu/step_kernel.h"
#include "backends/cpu/storage_numbers.h"

namespace tenon::cpu
{

namespace
{
std::variant<std::vector<Offer>, Refusal> offersOfRemainder(Problem const& problem)
{
    TensorType const& x = problem.input(0);
    if (!kRealTypes.has(x.dtype))
        return refuse("elements", fmt::format("takes float32, float16 and bfloat16, this is {}", nameOf(x.dtype)));
    constexpr double kWork{20.0};
    auto const elements = static_cast<double>(volumeOf(problem.typicalExtents(x)));
    return std::vector<Offer>{{.candidate = "elements",
        .inputs = {Layout::kLinear, Layout::kLinear},
        .outputs = {Layout::kLinear},
        .cost = costOf(problem, elements * kWork, bytesOf(problem))}};
}

Step stepOfRemainder(StepOf<Remainder> const& from)
{
    if (!from.areReal(Layout::kLinear) || !from.areAllIn(Layout::kLinear))
        return badArgument("the kernel of Remainder takes row-major real numbers");
    constexpr int64_t kGrain{256};
    Items const elements{volumeOf(from.outputs[0].extents), kGrain};
    return withStorage(from.inputs[0].dtype, [&]<typename T>(T) {
        return sharedStep(elements, [layer = from.layer()](Call const& call, int64_t first, int64_t last) {
            auto const* a = static_cast<T const*>(call.inputs[0]);
            auto const* b = static_cast<T const*>(call.inputs[1]);
            auto* out = static_cast<T*>(call.outputs[0]);
            for (int64_t i = first; i < last; ++i)
                out[i] = storedAs<T>(static_cast<double>(
                    layer.of(static_cast<float>(numberOf(a[i])), static_cast<float>(numberOf(b[i])))));
        });
    });
}

using RemainderFile = StepFile<"remainder", "elements", offersOfRemainder, stepOfRemainder>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Remainder, RemainderFile::kCandidates, RemainderFile::kKernels);
