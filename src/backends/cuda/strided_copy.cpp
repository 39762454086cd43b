// StridedCopy: merged axes, in the order of the destination, so that neighbouring threads write neighbouring elements.
// Where rows of both sides are consecutive, several elements move at once.
#include "backends/cuda/strided_copy.h"

#include "backends/cuda/kernel_text.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
TENON_DEVICE_STRUCT(CopyParams, unsigned const* stop; void const* in; void* out; unsigned long long count; int axes;
                    unsigned isSmall; unsigned long long extents[8]; long long from[8]; long long to[8];);

constexpr char kCopyKernel[]{R"(
template <typename T>
static __device__ __forceinline__ void copyAll(CopyParams const& p)
{
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        u64 left = item;
        i64 from = 0;
        i64 to = 0;
        for (int axis = p.axes - 1; axis >= 0; --axis)
        {
            i64 const x = (i64)takeAxis(left, p.extents[axis], p.isSmall);
            from += x * p.from[axis];
            to += x * p.to[axis];
        }
        ((T*)p.out)[to] = ((T const*)p.in)[from];
    }
}
TENON_KERNEL(copy1, CopyParams) { copyAll<unsigned char>(p); }
TENON_KERNEL(copy2, CopyParams) { copyAll<unsigned short>(p); }
TENON_KERNEL(copy4, CopyParams) { copyAll<unsigned>(p); }
TENON_KERNEL(copy8, CopyParams) { copyAll<u64>(p); }
TENON_KERNEL(copy16, CopyParams) { copyAll<Pack<u64, 2> >(p); }
)"};

struct CopyPlan
{
    size_t input{0};
    CopyParams params{};
    void* code{nullptr};
    uintptr_t width{1};    //!< Bytes that one access moves, and both addresses are multiples of.
    int64_t fromOffset{0}; //!< In bytes.
    int64_t toOffset{0};
};

//! A part as it is, and where both sides allow it, with wide accesses.
struct CopyWays
{
    CopyPlan narrow;
    std::optional<CopyPlan> wide;
};

class CopyStep final : public CudaPrepared
{
  public:
    explicit CopyStep(std::vector<CopyWays> ways)
        : mWays{std::move(ways)}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        for (CopyWays const& ways : mWays)
            if (ways.narrow.params.count > 0)
                TENON_TRY(copy(at, ways));
        return Done{};
    }

  private:
    static Result<Done> copy(CudaCall const& at, CopyWays const& ways)
    {
        auto const* const from = static_cast<char const*>(at.call.inputs[ways.narrow.input]) + ways.narrow.fromOffset;
        auto* const to = static_cast<char*>(at.call.outputs[0]) + ways.narrow.toOffset;
        auto const bits = reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(to);
        CopyPlan const& plan = ways.wide && bits % ways.wide->width == 0 ? *ways.wide : ways.narrow;
        CopyParams params = plan.params;
        params.in = from;
        params.out = to;
        return launchKernel(at, plan.code, gridFor(at.device, static_cast<int64_t>(params.count)), params);
    }

    std::vector<CopyWays> mWays;
};

struct MergedCopy
{
    std::vector<int64_t> extents;
    std::vector<std::vector<int64_t>> strides; //!< From, to.
};

CopyPlan planOf(MergedCopy const& merged, CopyPart const& part, int32_t elementBytes, int64_t together)
{
    CopyPlan plan;
    plan.input = part.input;
    plan.width = static_cast<uintptr_t>(elementBytes * together);
    plan.fromOffset = part.fromOffset * elementBytes;
    plan.toOffset = part.toOffset * elementBytes;
    size_t const last = merged.extents.size() - 1;
    int64_t const count = volumeOf(merged.extents) / together;
    plan.params.count = static_cast<uint64_t>(count);
    plan.params.axes = static_cast<int>(merged.extents.size());
    plan.params.isSmall = isSmall(count) ? 1 : 0;
    for (size_t i = 0; i <= last; ++i)
    {
        plan.params.extents[i] = static_cast<uint64_t>(i == last ? merged.extents[i] / together : merged.extents[i]);
        plan.params.from[i] = i == last ? merged.strides[0][i] : merged.strides[0][i] / together;
        plan.params.to[i] = i == last ? merged.strides[1][i] : merged.strides[1][i] / together;
    }
    return plan;
}

//! How many elements move at once.
int64_t togetherOf(MergedCopy const& merged, int32_t elementBytes)
{
    constexpr int64_t kBytes{16};
    size_t const last = merged.extents.size() - 1;
    if (merged.strides[0][last] != 1 || merged.strides[1][last] != 1)
        return 1;
    int64_t together = kBytes / elementBytes;
    for (; together > 1; together /= 2)
    {
        bool fits = merged.extents[last] % together == 0;
        for (size_t i = 0; i < last; ++i)
            fits = fits && merged.strides[0][i] % together == 0 && merged.strides[1][i] % together == 0;
        if (fits)
            break;
    }
    return together;
}

Result<CopyWays> waysOf(Module const& module, int32_t elementBytes, CopyPart const& part)
{
    std::vector<CopyAxis> axes = part.axes;
    std::ranges::stable_sort(axes, std::greater{}, [](CopyAxis const& axis) { return std::abs(axis.to); });
    MergedCopy merged;
    merged.strides.resize(2);
    for (CopyAxis const& axis : axes)
    {
        merged.extents.push_back(axis.extent);
        merged.strides[0].push_back(axis.from);
        merged.strides[1].push_back(axis.to);
    }
    mergeAxes(merged.extents, merged.strides);
    if (merged.extents.size() > kMaxAxes)
        return badArgument("a copy along {} axes", merged.extents.size());
    CopyWays ways{planOf(merged, part, elementBytes, 1), std::nullopt};
    ways.narrow.code = TENON_TRY(module.function(fmt::format("copy{}", elementBytes).c_str()));
    int64_t const together = togetherOf(merged, elementBytes);
    if (together > 1 && volumeOf(merged.extents) > 0)
    {
        ways.wide = planOf(merged, part, elementBytes, together);
        ways.wide->code = TENON_TRY(module.function(fmt::format("copy{}", elementBytes * together).c_str()));
    }
    return ways;
}
} // namespace

Result<std::shared_ptr<Prepared const>> stridedCopies(
    CudaDevice const& device, int32_t elementBytes, std::vector<CopyPart> const& parts)
{
    Module const& module = *TENON_TRY(moduleOf(device, wholeText(std::string{kCopyParamsText} + kCopyKernel)));
    std::vector<CopyWays> ways;
    for (CopyPart const& part : parts)
        ways.push_back(TENON_TRY(waysOf(module, elementBytes, part)));
    return std::shared_ptr<Prepared const>{std::make_shared<CopyStep>(std::move(ways))};
}

} // namespace tenon::cuda
