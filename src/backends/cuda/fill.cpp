// Fill: evenly spaced numbers, and random ones, which depend on position, layer and run alone, as on the host. How many
// runs a context has had is counted on the device, so that a graph draws other numbers each time it is launched.
#include "layers/fill.h"
#include "backends/cuda/cuda.h"
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/layer_kernel.h"
#include "backends/cuda/width_step.h"

#include <algorithm>
#include <map>

namespace tenon::cuda
{

namespace
{
using nvinfer1::FillOperation;

//! `start` and `steps` are inputs, or null: then alpha and beta count. Of steps there is one for each axis, or, where
//! `hasOneStep`, one for all.
TENON_DEVICE_STRUCT(FillParams, unsigned const* stop; void const* start; void const* steps; void* out;
                    unsigned long long* runs; unsigned long long count; unsigned isSmall; int axes; int hasOneStep;
                    double alpha; double beta; long long wholeAlpha; long long wholeBeta; unsigned long long seed;
                    unsigned long long extents[8];);

//! Products and sums are rounded one by one, as the reference's are: what is cut off to a whole number depends on it.
constexpr char kFillKernel[]{R"(
#ifdef TENON_EMULATED
static inline double timesOf(double a, double b) { return a * b; }
static inline double plusOf(double a, double b) { return a + b; }
#else
static __device__ __forceinline__ double timesOf(double a, double b) { return __dmul_rn(a, b); }
static __device__ __forceinline__ double plusOf(double a, double b) { return __dadd_rn(a, b); }
#endif
static __device__ __forceinline__ u64 timesOf(u64 a, u64 b) { return a * b; }
static __device__ __forceinline__ u64 plusOf(u64 a, u64 b) { return a + b; }

static __device__ __forceinline__ i64 cutOff(double x)
{
    if (x != x)
        return 0;
    return x >= 9223372036854775808.0 ? 9223372036854774784ll
        : x <= -9223372036854775808.0 ? -9223372036854775807ll - 1 : (i64)x;
}
static __device__ __forceinline__ void putSum(float& to, double x) { put(to, (float)x); }
static __device__ __forceinline__ void putSum(Half& to, double x) { put(to, (float)x); }
static __device__ __forceinline__ void putSum(Bfloat& to, double x) { put(to, (float)x); }
static __device__ __forceinline__ void putSum(int& to, double x) { put(to, cutOff(x)); }
static __device__ __forceinline__ void putSum(i64& to, double x) { put(to, cutOff(x)); }
static __device__ __forceinline__ void putSum(int& to, u64 x) { put(to, (i64)x); }
static __device__ __forceinline__ void putSum(i64& to, u64 x) { put(to, (i64)x); }

TENON_KERNEL(spaced, FillParams)
{
    Number const start = p.start != nullptr ? (Number)widen(*(Stored const*)p.start) : (Number)FIRST;
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        u64 at[8];
        u64 left = item;
        for (int axis = p.axes - 1; axis >= 0; --axis)
            at[axis] = takeAxis(left, p.extents[axis], p.isSmall);
        Number value = start;
        for (int axis = 0; axis < p.axes; ++axis)
        {
            Number const step = p.steps == nullptr
                ? (Number)NEXT : (Number)widen(((Stored const*)p.steps)[p.hasOneStep ? 0 : axis]);
            value = plusOf(value, timesOf((Number)at[axis], step));
        }
        putSum(((Stored*)p.out)[item], value);
    }
}
)"};

constexpr char kRandomKernel[]{R"(
//! In (0, 1), the same for the same position and seed: SplitMix64.
static __device__ __forceinline__ double uniformOf(u64 seed, u64 position)
{
    u64 z = seed + (position + 1) * 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}
//! Of so many turns, from 0 to 1: cosines and sines of up to an eighth of a turn by their series.
static __device__ __forceinline__ double cosineOf(double turns)
{
    double const quarters = rint(4.0 * turns);
    double const x = (4.0 * turns - quarters) * 1.5707963267948966;
    double const y = x * x;
    double cosine = -1.0 / 87178291200.0;
    cosine = cosine * y + 1.0 / 479001600.0;
    cosine = cosine * y - 1.0 / 3628800.0;
    cosine = cosine * y + 1.0 / 40320.0;
    cosine = cosine * y - 1.0 / 720.0;
    cosine = cosine * y + 1.0 / 24.0;
    cosine = cosine * y - 0.5;
    cosine = cosine * y + 1.0;
    double sine = -1.0 / 1307674368000.0;
    sine = sine * y + 1.0 / 6227020800.0;
    sine = sine * y - 1.0 / 39916800.0;
    sine = sine * y + 1.0 / 362880.0;
    sine = sine * y - 1.0 / 5040.0;
    sine = sine * y + 1.0 / 120.0;
    sine = sine * y - 1.0 / 6.0;
    sine = (sine * y + 1.0) * x;
    int const quarter = (int)quarters & 3;
    double const size = quarter & 1 ? sine : cosine;
    return quarter == 1 || quarter == 2 ? -size : size;
}
TENON_KERNEL(drawn, FillParams)
{
    u64 const seed = p.seed + (p.runs != nullptr ? 0xD1342543DE82EF95ull * *p.runs : 0);
    double const a = p.start != nullptr ? (double)widen(*(Stored const*)p.start) : p.alpha;
    double const b = p.steps != nullptr ? (double)widen(*(Stored const*)p.steps) : p.beta;
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
#if IS_NORMAL
        double const radius = sqrt(-2.0 * log(uniformOf(seed, 2 * item)));
        double const value = a + b * (radius * cosineOf(uniformOf(seed, 2 * item + 1)));
#else
        double const value = a + (b - a) * uniformOf(seed, item);
#endif
        put(((Stored*)p.out)[item], (float)value);
    }
}
TENON_KERNEL(countRun, FillParams)
{
    if (firstItem() == 0)
        ++*p.runs;
}
)"};

void bindFill(FillParams& params, Call const& call, bool hasNumbers)
{
    params.start = hasNumbers ? call.inputs[1] : nullptr;
    params.steps = hasNumbers ? call.inputs[2] : nullptr;
    params.out = call.outputs[0];
}

//! A random fill, and the count of its context's runs; none: every run is the first.
class RandomStep final : public CudaPrepared
{
  public:
    RandomStep(FillParams params, bool hasNumbers, void* draw, void* countRun)
        : mParams{params},
          mHasNumbers{hasNumbers},
          mDraw{draw},
          mCountRun{countRun}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        FillParams params = mParams;
        bindFill(params, at.call, mHasNumbers);
        TENON_TRY(launchKernel(at, mDraw, gridFor(at.device, static_cast<int64_t>(params.count)), params));
        if (params.runs == nullptr)
            return Done{};
        return launchKernel(at, mCountRun, {.x = 1, .block = 32}, params);
    }

  private:
    FillParams mParams;
    bool mHasNumbers;
    void* mDraw;
    void* mCountRun;
};

//! FNV-1a, as the host's random fills tell layers apart.
uint64_t fillHash(std::string_view text) noexcept
{
    uint64_t hash{0xCBF29CE484222325ULL};
    for (char const c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    return hash;
}

void bindNumbers(FillParams& params, Call const& call)
{
    bindFill(params, call, true);
}

void bindFields(FillParams& params, Call const& call)
{
    bindFill(params, call, false);
}

//! What steps of a layer are made of. Contexts have copies: kernels may be loaded anew under them.
struct FillForm
{
    Fill layer;
    CudaDevice const& device;
    uint64_t seed; //!< Of the first run.

    //! A step that draws by this count of runs, or the first run's numbers.
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, TensorArg const& out, unsigned long long* runs) const
    {
        if (out.layout != Layout::kLinear || out.extents.size() > kMaxAxes)
            return badArgument("the kernel of Fill makes row-major tensors of up to {} axes", kMaxAxes);
        bool const hasNumbers = inputs.size() > 2 && inputs[2].present;
        int64_t const steps = hasNumbers ? volumeOf(inputs[2].extents) : 1;
        auto const axes = static_cast<int64_t>(out.extents.size());
        if (hasNumbers
            && (inputs[2].extents.size() > 1 || volumeOf(inputs[1].extents) != 1
                || (steps != 1 && (layer.isRandom() || steps != axes))))
            return badArgument("{} steps along {} axes", steps, axes);
        FillParams params{};
        int64_t const count = volumeOf(out.extents);
        params.count = static_cast<uint64_t>(count);
        params.isSmall = isSmall(count) ? 1U : 0U;
        params.axes = static_cast<int>(axes);
        std::ranges::copy(out.extents, params.extents);
        params.alpha = layer.alphaBetaInt64 ? static_cast<double>(layer.alphaInt64) : layer.alpha;
        params.beta = layer.alphaBetaInt64 ? static_cast<double>(layer.betaInt64) : layer.beta;
        params.wholeAlpha = layer.alphaInt64;
        params.wholeBeta = layer.betaInt64;
        params.seed = seed;
        params.runs = runs;
        params.hasOneStep = steps == 1 ? 1 : 0;
        std::string const stored = fmt::format("typedef {} Stored;\n", TENON_TRY(storageOf(out.dtype)));
        return layer.isRandom() ? random(params, hasNumbers, stored)
                                : spaced(params, hasNumbers, isFloating(out.dtype), stored);
    }

  private:
    Result<std::shared_ptr<Prepared const>> spaced(
        FillParams const& params, bool hasNumbers, bool isReal, std::string const& stored) const
    {
        bool const isWhole = !isReal && (hasNumbers || layer.alphaBetaInt64);
        Module const& module = *TENON_TRY(moduleOf(device,
            wholeText(std::string{kFillParamsText} + stored
                + (isWhole ? "typedef u64 Number;\n#define FIRST p.wholeAlpha\n#define NEXT p.wholeBeta\n"
                           : "typedef double Number;\n#define FIRST p.alpha\n#define NEXT p.beta\n")
                + kFillKernel)));
        return widthStep(params, TENON_TRY(module.function("spaced")), hasNumbers ? &bindNumbers : &bindFields);
    }
    Result<std::shared_ptr<Prepared const>> random(
        FillParams const& params, bool hasNumbers, std::string const& stored) const
    {
        bool const isNormal = layer.operation == FillOperation::kRANDOM_NORMAL;
        Module const& module = *TENON_TRY(moduleOf(device,
            wholeText(std::string{kFillParamsText} + stored + fmt::format("#define IS_NORMAL {}\n", isNormal ? 1 : 0)
                + kRandomKernel)));
        return std::shared_ptr<Prepared const>{std::make_shared<RandomStep>(
            params, hasNumbers, TENON_TRY(module.function("drawn")), TENON_TRY(module.function("countRun")))};
    }
};

//! A random fill of one context.
class ContextFill final : public Attached
{
  public:
    static Result<std::unique_ptr<Attached>> make(FillForm const& form)
    {
        auto fill = std::unique_ptr<ContextFill>{new ContextFill{form}};
        unsigned long long const none{0};
        fill->mRuns = static_cast<unsigned long long*>(fill->device().allocate(sizeof none));
        if (fill->mRuns == nullptr)
            return errorOf(ErrorCode::kFAILED_ALLOCATION, "no memory for the count of a random fill's runs");
        TENON_TRY(fill->device().copyFromHost(fill->mRuns, &none, sizeof none, kApartStream));
        return std::unique_ptr<Attached>{std::move(fill)};
    }
    ~ContextFill() override
    {
        if (mRuns != nullptr)
            device().release(mRuns);
    }
    ContextFill(ContextFill const&) = delete;
    ContextFill& operator=(ContextFill const&) = delete;
    Prepared const& prepared() const noexcept override
    {
        return *mStep;
    }
    //! Steps stay, as runs that come again have them still.
    Result<Done> reshape(std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) override
    {
        std::shared_ptr<Prepared const>& step = mSteps[outputs[0].extents];
        if (step == nullptr && volumeOf(outputs[0].extents) == 0)
            step = std::make_shared<NothingToDo>();
        if (step == nullptr)
            step = TENON_TRY(mForm.plan(inputs, outputs[0], mRuns));
        mStep = step;
        return Done{};
    }
    bool hearsAddresses() const noexcept override
    {
        return false;
    }

  private:
    explicit ContextFill(FillForm const& form)
        : mForm{form}
    {
    }
    Device& device() const
    {
        return cudaDevice(mForm.device.index());
    }

    FillForm mForm;
    unsigned long long* mRuns{nullptr};                                     //!< On the device.
    std::map<std::vector<int64_t>, std::shared_ptr<Prepared const>> mSteps; //!< By extents.
    std::shared_ptr<Prepared const> mStep{std::make_shared<NothingToDo>()};
};

class FillKernel final : public LayerKernel
{
  public:
    FillKernel(LayerArgs args, LayerPtr layer, std::vector<WeightArg> weights, FillForm const& form)
        : LayerKernel{std::move(args), std::move(layer), std::move(weights), form.device},
          mForm{form}
    {
    }
    Result<std::unique_ptr<Attached>> attach(ContextResources const&) override
    {
        return mForm.layer.isRandom() ? ContextFill::make(mForm) : std::unique_ptr<Attached>{};
    }

  protected:
    Result<std::shared_ptr<Prepared const>> plan(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const override
    {
        return mForm.plan(inputs, outputs[0], nullptr);
    }

  private:
    FillForm mForm;
};

Result<std::unique_ptr<Kernel>> loadFill(KernelSource const& source, CudaDevice const& device)
{
    LayerArgs args = TENON_TRY(decodeLayerArgs(source.args));
    LayerPtr layer = TENON_TRY(loadLayer(args.layer, args.fields));
    for (WeightArg const& weight : source.weights)
        if (weight.data != nullptr && !weight.packing.empty())
            return badArgument("the CUDA backend cannot read weights packed as '{}'", weight.packing);
    FillForm const form{TENON_TRY(fieldsOf<Fill>(args)), device, fillHash(source.layer)};
    return std::unique_ptr<Kernel>{
        std::make_unique<FillKernel>(std::move(args), std::move(layer), source.weights, form)};
}

std::variant<std::vector<Offer>, Refusal> offersOfFill(Problem const& problem)
{
    constexpr char kName[]{"items"};
    if (!storageOf(problem.output().dtype))
        return refuse(kName, fmt::format("numbers of {}", nameOf(problem.output().dtype)));
    if (problem.output().rank() > static_cast<int32_t>(kMaxAxes))
        return refuse(kName, fmt::format("rank {}", problem.output().rank()));
    bool const hasExtents = !problem.node->inputs.empty() && problem.hasInput(0);
    if (hasExtents && !hasKnownContents(problem, 0))
        return refuse(kName, "the output's extents are known only when it runs");
    Offer offer;
    offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
    offer.outputs = {Layout::kLinear};
    offer.unread = hasExtents ? 1U : 0U;
    offer.cost = costOf(problem, 0.0, bytesOf(problem));
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildFill(Problem const& problem, Offer const& offer)
{
    return KernelSpec{.kernel = "fill", .args = encodeLayerArgs(problem, offer), .packed = {}};
}

constexpr Candidate kFillCandidates[]{
    {.layer = Fill::kName, .name = "items", .offers = offersOfFill, .build = buildFill}};
constexpr CudaKernelEntry kFillKernels[]{{"fill", &loadFill}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(Fill, kFillCandidates, kFillKernels);
