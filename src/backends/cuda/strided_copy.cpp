// StridedCopy: merged axes, in the order of the destination, so that neighbouring threads write neighbouring elements.
// Where rows of both sides are consecutive, several elements move at once; where another axis is consecutive in the
// source, tiles are turned in shared memory, so that both sides are read and written in rows.
#include "backends/cuda/strided_copy.h"

#include "backends/cuda/kernel_text.h"

#include <algorithm>
#include <bit>
#include <tuple>

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

constexpr size_t kMaxPartsAtOnce{8};
//! Parts of one step that have accesses of one width: a row of blocks each.
TENON_DEVICE_STRUCT(CopiesParams, unsigned const* stop; CopyParams parts[8];);

constexpr char kCopiesKernel[]{R"(
TENON_KERNEL(copies1, CopiesParams) { copyAll<unsigned char>(p.parts[blockIdx.y]); }
TENON_KERNEL(copies2, CopiesParams) { copyAll<unsigned short>(p.parts[blockIdx.y]); }
TENON_KERNEL(copies4, CopiesParams) { copyAll<unsigned>(p.parts[blockIdx.y]); }
TENON_KERNEL(copies8, CopiesParams) { copyAll<u64>(p.parts[blockIdx.y]); }
TENON_KERNEL(copies16, CopiesParams) { copyAll<Pack<u64, 2> >(p.parts[blockIdx.y]); }
)"};

//! The axis that is consecutive in the destination has `rows` steps, the one in the source `columns`.
TENON_DEVICE_STRUCT(TurnParams, unsigned const* stop; void const* in; void* out; long long rows; long long columns;
                    long long fromRow; long long toColumn; unsigned long long tiles; unsigned long long across;
                    unsigned long long down; int axes; unsigned long long extents[8]; long long from[8];
                    long long to[8];);

constexpr char kTurnKernel[]{R"(
template <typename T>
static __device__ __forceinline__ void turn(TurnParams const& p)
{
    __shared__ T tile[32][33];
    int const x = (int)threadIdx.x % 32;
    int const y = (int)threadIdx.x / 32;
    for (u64 number = blockIdx.x; number < p.tiles; number += gridDim.x)
    {
        u64 left = number;
        i64 const column = (i64)(left % p.across) * 32;
        left /= p.across;
        i64 const row = (i64)(left % p.down) * 32;
        left /= p.down;
        i64 from = 0;
        i64 to = 0;
        for (int axis = p.axes - 1; axis >= 0; --axis)
        {
            i64 const at = (i64)takeAxis(left, p.extents[axis], 0);
            from += at * p.from[axis];
            to += at * p.to[axis];
        }
        for (int i = y; i < 32; i += 8)
            if (row + i < p.rows && column + x < p.columns)
                tile[i][x] = ((T const*)p.in)[from + (row + i) * p.fromRow + column + x];
        __syncthreads();
        for (int i = y; i < 32; i += 8)
            if (column + i < p.columns && row + x < p.rows)
                ((T*)p.out)[to + (column + i) * p.toColumn + row + x] = tile[x][i];
        __syncthreads();
    }
}
TENON_KERNEL(turn1, TurnParams) { turn<unsigned char>(p); }
TENON_KERNEL(turn2, TurnParams) { turn<unsigned short>(p); }
TENON_KERNEL(turn4, TurnParams) { turn<unsigned>(p); }
TENON_KERNEL(turn8, TurnParams) { turn<u64>(p); }
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

struct TurnPlan
{
    TurnParams params{};
    void* code{nullptr};
};

//! A part as it is, and where both sides allow it, with wide accesses or by tiles.
struct CopyWays
{
    CopyPlan narrow;
    std::optional<CopyPlan> wide;
    std::optional<TurnPlan> turned;
};

class CopyStep final : public CudaPrepared
{
  public:
    //! `together`: kernels for several parts by the logarithm of their width; empty: there is one part.
    CopyStep(std::vector<CopyWays> ways, std::vector<void*> together)
        : mWays{std::move(ways)},
          mTogether{std::move(together)}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        if (std::optional<CopiesParams> const all = together(at))
            return launchTogether(at, *all);
        for (CopyWays const& ways : mWays)
            TENON_TRY(copy(at, ways));
        return Done{};
    }

  private:
    struct Ends
    {
        char const* from;
        char* to;
    };
    static Ends endsOf(CudaCall const& at, CopyPlan const& plan)
    {
        return {static_cast<char const*>(at.call.inputs[plan.input]) + plan.fromOffset,
            static_cast<char*>(at.call.outputs[0]) + plan.toOffset};
    }
    static CopyPlan const& planFor(CopyWays const& ways, Ends const& ends)
    {
        auto const bits = reinterpret_cast<uintptr_t>(ends.from) | reinterpret_cast<uintptr_t>(ends.to);
        return ways.wide && bits % ways.wide->width == 0 ? *ways.wide : ways.narrow;
    }
    static Result<Done> copy(CudaCall const& at, CopyWays const& ways)
    {
        Ends const ends = endsOf(at, ways.narrow);
        if (ways.turned)
            return turn(at, *ways.turned, ends.from, ends.to);
        CopyPlan const& plan = planFor(ways, ends);
        CopyParams params = plan.params;
        params.in = ends.from;
        params.out = ends.to;
        return launchKernel(at, plan.code, gridFor(at.device, static_cast<int64_t>(params.count)), params);
    }
    //! None unless all parts have one width and no tiles.
    std::optional<CopiesParams> together(CudaCall const& at) const
    {
        if (mTogether.empty())
            return std::nullopt;
        CopiesParams all{};
        uintptr_t width{0};
        for (size_t i = 0; i < mWays.size(); ++i)
        {
            Ends const ends = endsOf(at, mWays[i].narrow);
            CopyPlan const& plan = planFor(mWays[i], ends);
            if (mWays[i].turned || (width != 0 && plan.width != width))
                return std::nullopt;
            width = plan.width;
            all.parts[i] = plan.params;
            all.parts[i].in = ends.from;
            all.parts[i].out = ends.to;
        }
        return all;
    }
    Result<Done> launchTogether(CudaCall const& at, CopiesParams const& all) const
    {
        uint64_t most{0};
        for (size_t i = 0; i < mWays.size(); ++i)
            most = std::max<uint64_t>(most, all.parts[i].count);
        uintptr_t const width = planFor(mWays[0], endsOf(at, mWays[0].narrow)).width;
        Grid grid = gridFor(at.device, static_cast<int64_t>(most));
        grid.y = static_cast<unsigned>(mWays.size());
        return launchKernel(at, mTogether[static_cast<size_t>(std::countr_zero(width))], grid, all);
    }
    static Result<Done> turn(CudaCall const& at, TurnPlan const& plan, void const* from, void* to)
    {
        constexpr int64_t kThreads{256};
        TurnParams params = plan.params;
        params.in = from;
        params.out = to;
        Grid const grid = gridFor(at.device, static_cast<int64_t>(params.tiles) * kThreads);
        return launchKernel(at, plan.code, grid, params);
    }

    std::vector<CopyWays> mWays;
    std::vector<void*> mTogether;
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

//! None where rows of one side are consecutive on the other, too, or too short for tiles.
std::optional<TurnPlan> turnOf(MergedCopy const& merged)
{
    constexpr int64_t kTile{32};
    constexpr int64_t kLeast{8};
    size_t const last = merged.extents.size() - 1;
    auto const& [from, to] = std::tie(merged.strides[0], merged.strides[1]);
    auto const found = std::ranges::find(from, 1);
    if (found == from.end() || to[last] != 1 || from[last] == 1)
        return std::nullopt;
    auto const inner = static_cast<size_t>(found - from.begin());
    if (merged.extents[last] < kLeast || merged.extents[inner] < kLeast)
        return std::nullopt;
    TurnPlan plan;
    TurnParams& params = plan.params;
    params.rows = merged.extents[last];
    params.columns = merged.extents[inner];
    params.fromRow = from[last];
    params.toColumn = to[inner];
    params.across = static_cast<uint64_t>((params.columns + kTile - 1) / kTile);
    params.down = static_cast<uint64_t>((params.rows + kTile - 1) / kTile);
    params.tiles = params.across * params.down;
    for (size_t i = 0; i < last; ++i)
    {
        if (i == inner)
            continue;
        params.extents[params.axes] = static_cast<uint64_t>(merged.extents[i]);
        params.from[params.axes] = from[i];
        params.to[params.axes++] = to[i];
        params.tiles *= static_cast<uint64_t>(merged.extents[i]);
    }
    return plan;
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
    CopyWays ways{planOf(merged, part, elementBytes, 1), std::nullopt, turnOf(merged)};
    ways.narrow.code = TENON_TRY(module.function(fmt::format("copy{}", elementBytes).c_str()));
    int64_t const together = togetherOf(merged, elementBytes);
    if (together > 1 && volumeOf(merged.extents) > 0)
    {
        ways.wide = planOf(merged, part, elementBytes, together);
        ways.wide->code = TENON_TRY(module.function(fmt::format("copy{}", elementBytes * together).c_str()));
    }
    if (ways.turned)
        ways.turned->code = TENON_TRY(module.function(fmt::format("turn{}", elementBytes).c_str()));
    return ways;
}
} // namespace

Result<std::shared_ptr<Prepared const>> stridedCopies(
    CudaDevice const& device, int32_t elementBytes, std::vector<CopyPart> const& parts)
{
    Module const& module = *TENON_TRY(moduleOf(device,
        wholeText(std::string{kCopyParamsText} + kCopyKernel + kCopiesParamsText + kCopiesKernel + kTurnParamsText
            + kTurnKernel)));
    std::vector<CopyWays> ways;
    for (CopyPart const& part : parts)
        ways.push_back(TENON_TRY(waysOf(module, elementBytes, part)));
    std::erase_if(ways, [](CopyWays const& each) { return each.narrow.params.count == 0; });
    std::vector<void*> together;
    for (int width = 1; ways.size() > 1 && ways.size() <= kMaxPartsAtOnce && width <= 16; width *= 2)
        together.push_back(TENON_TRY(module.function(fmt::format("copies{}", width).c_str())));
    return std::shared_ptr<Prepared const>{std::make_shared<CopyStep>(std::move(ways), std::move(together))};
}

} // namespace tenon::cuda
