// Determinants, matrix by matrix, in double: products of pivots leave the range of a float long before their end does.
#include "layers/determinant.h"

#include "backends/cpu/determinant.h"
#include "backends/cpu/isa_functions.h"
#include "backends/cpu/step_kernel.h"
#include "backends/cpu/storage_numbers.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
std::variant<std::vector<Offer>, Refusal> offersOfDeterminant(Problem const& problem)
{
    TensorType const& x = problem.input(0);
    if (!kRealTypes.has(x.dtype))
        return refuse("factors", fmt::format("takes float32, float16 and bfloat16, this is {}", nameOf(x.dtype)));
    std::vector<int64_t> const extents = problem.typicalExtents(x);
    double const work = static_cast<double>(volumeOf(extents)) * static_cast<double>(extents.back()) * 2.0 / 3.0;
    return std::vector<Offer>{{.candidate = "factors",
        .inputs = {Layout::kLinear},
        .outputs = {Layout::kLinear},
        .cost = costOf(problem, work, bytesOf(problem))}};
}

constexpr int64_t kFloatsOfDouble{2};
constexpr int64_t kWork{4096}; // What a lane should have at least, in elements.

template <typename T>
Step determinantStep(int64_t count, int64_t size, int32_t threads)
{
    int64_t const elements = size * size;
    int64_t const stride = determinantStride(size);
    Items const matrices{count, std::max<int64_t>(kWork / std::max<int64_t>(elements, 1), 1)};
    return sharedStep(matrices, LaneMemory{threads, size * stride * kFloatsOfDouble},
        [size, stride, elements](Call const& call, int64_t first, int64_t last, float* scratch) {
            auto const* x = static_cast<T const*>(call.inputs[0]);
            auto* const matrix = reinterpret_cast<double*>(scratch);
            for (int64_t i = first; i < last; ++i)
            {
                for (int64_t at = 0; stride == size && at < elements; ++at)
                    matrix[at] = numberOf(x[i * elements + at]);
                for (int64_t row = 0; stride > size && row < size; ++row)
                {
                    for (int64_t column = 0; column < size; ++column)
                        matrix[row * stride + column] = numberOf(x[i * elements + row * size + column]);
                    std::fill(matrix + row * stride + size, matrix + (row + 1) * stride, 0.0);
                }
                static_cast<T*>(call.outputs[0])[i] = storedAs<T>(isaFunctions().determinantOf(matrix, size));
            }
        });
}

//! So many matrices at a time; where there are fewer, the last stands in for those behind it.
template <typename T>
Step smallDeterminantStep(int64_t count, int64_t size, int32_t threads)
{
    int64_t const elements = size * size;
    Items const matrices{count, (kWork / elements + kDeterminantGrain - 1) / kDeterminantGrain * kDeterminantGrain};
    return sharedStep(matrices, LaneMemory{threads, elements * kDeterminantGrain * kFloatsOfDouble},
        [size, elements](Call const& call, int64_t first, int64_t last, float* scratch) {
            auto const* x = static_cast<T const*>(call.inputs[0]);
            auto* const spread = reinterpret_cast<double*>(scratch);
            for (int64_t i = first; i < last; i += kDeterminantGrain)
            {
                int64_t const here = std::min(last - i, kDeterminantGrain);
                for (int64_t m = 0; m < kDeterminantGrain; ++m)
                    for (int64_t at = 0; at < elements; ++at)
                        spread[at * kDeterminantGrain + m] = numberOf(x[(i + std::min(m, here - 1)) * elements + at]);
                double found[kDeterminantGrain];
                isaFunctions().determinantsOf(spread, size, found);
                for (int64_t m = 0; m < here; ++m)
                    static_cast<T*>(call.outputs[0])[i + m] = storedAs<T>(found[m]);
            }
        });
}

Step stepOfDeterminant(StepOf<Determinant> const& from)
{
    if (!from.areReal(Layout::kLinear))
        return badArgument("the kernel of Determinant takes row-major real numbers");
    int64_t const size = from.inputs[0].extents.back();
    int64_t const count = volumeOf(from.outputs[0].extents);
    return withStorage(from.inputs[0].dtype, [&]<typename T>(T) {
        return isSmallDeterminant(size) ? smallDeterminantStep<T>(count, size, from.threads)
                                        : determinantStep<T>(count, size, from.threads);
    });
}

using DeterminantFile = StepFile<"determinant", "factors", offersOfDeterminant, stepOfDeterminant>;
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Determinant, DeterminantFile::kCandidates, DeterminantFile::kKernels);
