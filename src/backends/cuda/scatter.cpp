// Scatter: each update marks its place with its number, and writes where the mark is its own: of several updates of one
// place the last counts, as on the host, whatever the threads' order is. In place, the rest is not touched.
#include "layers/scatter.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "backends/cuda/width_step.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
using nvinfer1::ScatterMode;

//! Places and rows of updates are of `width` packs. A row's place is what its `depth` indices name, plus, for kELEMENT,
//! its own position on the other axes. Without marks there is one row.
TENON_DEVICE_STRUCT(ScatterParams, unsigned const* stop; void const* data; void const* indices; void const* updates;
                    void* out; void* marks; unsigned long long count; unsigned long long rows;
                    unsigned long long places; unsigned long long width; unsigned isSmall; int depth; int axes;
                    unsigned long long ownExtents[8]; long long ownStrides[8]; long long extents[8];
                    long long strides[8];);

//! An update whose index is out of bounds writes nothing.
constexpr char kScatterKernel[]{R"(
static __device__ __forceinline__ bool placeOf(ScatterParams const& p, u64 row, i64& place)
{
    u64 left = row;
    place = 0;
    for (int axis = p.axes - 1; axis >= 0; --axis)
        place += (i64)takeAxis(left, p.ownExtents[axis], p.isSmall) * p.ownStrides[axis];
    for (int d = 0; d < p.depth; ++d)
    {
        i64 const index = (i64)((Index const*)p.indices)[row * (u64)p.depth + d];
        i64 const at = index < 0 ? index + p.extents[d] : index;
        if (at < 0 || at >= p.extents[d])
            return false;
        place += at * p.strides[d];
    }
    return true;
}
template <typename T>
static __device__ __forceinline__ void beginScatter(ScatterParams const& p)
{
    u64 const copied = p.out == p.data ? 0 : p.count;
    for (u64 item = firstItem(); item < copied || item < p.places; item += itemStride())
    {
        if (item < copied)
            ((T*)p.out)[item] = ((T const*)p.data)[item];
        if (item < p.places)
            ((Mark*)p.marks)[item] = 0;
    }
}
TENON_KERNEL(markPlaces, ScatterParams)
{
    for (u64 row = firstItem(); row < p.rows; row += itemStride())
    {
        i64 place;
        if (placeOf(p, row, place))
            atomicMax((Mark*)p.marks + place, (Mark)(row + 1));
    }
}
template <typename T>
static __device__ __forceinline__ void writeUpdates(ScatterParams const& p)
{
    u64 const items = p.rows * p.width;
    for (u64 item = firstItem(); item < items; item += itemStride())
    {
        u64 row = item;
        u64 const column = takeAxis(row, p.width, p.isSmall);
        i64 place;
        if (placeOf(p, row, place) && (p.places == 0 || ((Mark const*)p.marks)[place] == (Mark)(row + 1)))
            ((T*)p.out)[(u64)place * p.width + column] = ((T const*)p.updates)[item];
    }
}
TENON_KERNEL(begin1, ScatterParams) { beginScatter<unsigned char>(p); }
TENON_KERNEL(begin2, ScatterParams) { beginScatter<unsigned short>(p); }
TENON_KERNEL(begin4, ScatterParams) { beginScatter<unsigned>(p); }
TENON_KERNEL(begin8, ScatterParams) { beginScatter<u64>(p); }
TENON_KERNEL(begin16, ScatterParams) { beginScatter<Pack<u64, 2> >(p); }
TENON_KERNEL(write1, ScatterParams) { writeUpdates<unsigned char>(p); }
TENON_KERNEL(write2, ScatterParams) { writeUpdates<unsigned short>(p); }
TENON_KERNEL(write4, ScatterParams) { writeUpdates<unsigned>(p); }
TENON_KERNEL(write8, ScatterParams) { writeUpdates<u64>(p); }
TENON_KERNEL(write16, ScatterParams) { writeUpdates<Pack<u64, 2> >(p); }
)"};

//! What copies and clears, and what writes rows, by elements or packs.
struct ScatterForm
{
    uint64_t count{0}; //!< Of the data.
    uint64_t width{1};
    void* begin{nullptr};
    void* write{nullptr};
};

struct ScatterPlan
{
    ScatterParams params{};
    ScatterForm narrow{};
    std::optional<ScatterForm> copiedWide; //!< Where the data comes out even.
    std::optional<ScatterForm> wide;       //!< Where rows do, too.
    void* mark{nullptr};
    size_t markBytes{0};
};

class ScatterStep final : public CudaPrepared
{
  public:
    explicit ScatterStep(ScatterPlan plan)
        : mPlan{plan}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mPlan.params.places * mPlan.markBytes;
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        constexpr uint32_t kData{0b001};
        constexpr uint32_t kDataAndUpdates{0b101};
        ScatterParams params = mPlan.params;
        params.data = at.call.inputs[0];
        params.indices = at.call.inputs[1];
        params.updates = at.call.inputs[2];
        params.out = at.call.outputs[0];
        params.marks = at.call.scratch;
        bool const isCopiedWide = mPlan.copiedWide && areAligned(at.call, kData, kWideBytes);
        ScatterForm const& begin = isCopiedWide ? *mPlan.copiedWide : mPlan.narrow;
        params.count = begin.count;
        uint64_t const copied = params.out == params.data ? 0 : params.count;
        if (uint64_t const items = std::max<uint64_t>(copied, params.places); items > 0)
            TENON_TRY(launchKernel(at, begin.begin, gridFor(at.device, static_cast<int64_t>(items)), params));
        if (params.rows == 0)
            return Done{};
        if (params.places > 0)
            TENON_TRY(launchKernel(at, mPlan.mark, gridFor(at.device, static_cast<int64_t>(params.rows)), params));
        bool const isWide = mPlan.wide && areAligned(at.call, kDataAndUpdates, kWideBytes);
        ScatterForm const& write = isWide ? *mPlan.wide : mPlan.narrow;
        params.width = write.width;
        auto const items = static_cast<int64_t>(params.rows * params.width);
        return launchKernel(at, write.write, gridFor(at.device, items), params);
    }

  private:
    ScatterPlan mPlan;
};

//! All but addresses and marks.
ScatterParams scatterParams(Scatter const& layer, TensorArg const& data, TensorArg const& indices)
{
    std::vector<int64_t> const strides = stridesIn(Layout::kLinear, data.extents);
    ScatterParams params{};
    params.width = 1;
    if (layer.mode == ScatterMode::kELEMENT)
    {
        auto const axis = static_cast<size_t>(layer.axis);
        params.depth = 1;
        params.extents[0] = data.extents[axis];
        params.strides[0] = strides[axis];
        params.axes = static_cast<int>(indices.extents.size());
        std::ranges::copy(indices.extents, params.ownExtents);
        std::ranges::copy(strides, params.ownStrides);
        params.ownStrides[axis] = 0;
        params.rows = static_cast<uint64_t>(volumeOf(indices.extents));
        params.places = static_cast<uint64_t>(volumeOf(data.extents));
        return params;
    }
    auto const depth = static_cast<size_t>(indices.extents.back());
    params.depth = static_cast<int>(depth);
    auto const rank = static_cast<std::ptrdiff_t>(depth);
    int64_t const width = volumeOf({data.extents.begin() + rank, data.extents.end()});
    params.width = static_cast<uint64_t>(width);
    for (size_t d = 0; d < depth; ++d)
    {
        params.extents[d] = data.extents[d];
        params.strides[d] = strides[d] / width;
    }
    params.rows = static_cast<uint64_t>(volumeOf({indices.extents.begin(), indices.extents.end() - 1}));
    params.places = static_cast<uint64_t>(volumeOf({data.extents.begin(), data.extents.begin() + rank}));
    return params;
}

class ScatterKernel final : public LayerKernel
{
  public:
    using LayerKernel::LayerKernel;

  protected:
    //! The data has elements.
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        TensorArg const& data = inputs[0];
        int64_t const bytes = movableBytes(data.dtype);
        bool const areLinear = outputs[0].layout == Layout::kLinear
            && std::ranges::all_of(inputs, [](TensorArg const& in) { return in.layout == Layout::kLinear; });
        if (!areLinear || bytes == 0 || data.extents.size() > kMaxAxes)
            return badArgument("the scatter kernel takes row-major tensors of up to {} axes", kMaxAxes);
        ScatterPlan plan;
        ScatterParams& params = plan.params;
        params = scatterParams(TENON_TRY(fieldsOf<Scatter>(args())), data, inputs[1]);
        params.isSmall = isSmall(volumeOf(inputs[2].extents)) ? 1U : 0U;
        if (params.rows <= 1)
            params.places = 0; // None can be named twice.
        bool const areFew = params.rows < UINT32_MAX;
        plan.markBytes = areFew ? sizeof(uint32_t) : sizeof(uint64_t);
        Module const& module = *TENON_TRY(moduleOf(device(),
            wholeText(std::string{kScatterParamsText}
                + fmt::format("typedef {} Index;\ntypedef {} Mark;\n", TENON_TRY(storageOf(inputs[1].dtype)),
                    areFew ? "unsigned" : "u64")
                + kScatterKernel)));
        auto const formOf = [&](int64_t together) -> Result<ScatterForm> {
            int64_t const width = bytes * together;
            auto const parts = static_cast<uint64_t>(together);
            return ScatterForm{static_cast<uint64_t>(volumeOf(data.extents)) / parts, params.width / parts,
                TENON_TRY(module.function(fmt::format("begin{}", width).c_str())),
                TENON_TRY(module.function(fmt::format("write{}", width).c_str()))};
        };
        plan.narrow = TENON_TRY(formOf(1));
        auto const together = static_cast<uint64_t>(elementsAtOnce(bytes));
        if (plan.narrow.count % together == 0)
            plan.copiedWide = TENON_TRY(formOf(static_cast<int64_t>(together)));
        if (params.width % together == 0)
            plan.wide = plan.copiedWide;
        plan.mark = TENON_TRY(module.function("markPlaces"));
        return std::shared_ptr<Prepared const>{std::make_shared<ScatterStep>(plan)};
    }
};

std::variant<std::vector<Offer>, Refusal> offersOfScatter(Problem const& problem)
{
    TensorType const& type = problem.output();
    if (movableBytes(type.dtype) == 0)
        return refuse("marks", "elements are smaller than a byte");
    if (type.rank() > static_cast<int32_t>(kMaxAxes))
        return refuse("marks", fmt::format("rank {}", type.rank()));
    constexpr double kLaunches{2.0}; // Beside the one that every kernel is.
    Offer offer;
    offer.inputs.assign(3, Layout::kLinear);
    offer.outputs = {Layout::kLinear};
    offer.inPlace = {{0, 0}};
    offer.cost = costOf(problem, 0.0, 2.0 * bytesOf(problem)) + kLaunches * problem.target->rates.startMicroseconds;
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildScatter(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "scatter", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kScatterCandidates[]{
    {.layer = Scatter::kName, .name = "marks", .offers = offersOfScatter, .build = buildScatter}};
constexpr CudaKernelEntry kScatterKernels[]{{"scatter", &loadLayerKernel<ScatterKernel>}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(Scatter, kScatterCandidates, kScatterKernels);
