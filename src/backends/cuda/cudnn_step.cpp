// CudnnLayer: its graph, and plans of it as steps.
#include "backends/cuda/cudnn_step.h"
#include "backends/cuda/cublas_product.h"

#include <algorithm>
#include <array>

namespace tenon::cuda
{

namespace
{
constexpr int64_t kDnnWorkspace{int64_t{128} << 20};
constexpr uintptr_t kDnnAlignment{16}; //!< Of addresses.

//! None: the library has no operation for the step.
std::optional<CudnnPointwise> pointwiseOf(EpilogueStep const& step)
{
    switch (step.kind)
    {
    case EpilogueKind::kAdd: return CudnnPointwise{dnn::kPointwiseAdd};
    case EpilogueKind::kMultiply: return CudnnPointwise{dnn::kPointwiseMultiply};
    case EpilogueKind::kRelu: return CudnnPointwise{dnn::kPointwiseRelu};
    case EpilogueKind::kLeakyRelu: return CudnnPointwise{dnn::kPointwiseRelu, {{dnn::kReluSlope, step.alpha}}};
    case EpilogueKind::kClip:
        if (step.alpha != 0.0F || step.beta <= 0.0F)
            return std::nullopt;
        return CudnnPointwise{dnn::kPointwiseRelu, {{dnn::kReluUpperClip, step.beta}}};
    case EpilogueKind::kSigmoid: return CudnnPointwise{dnn::kPointwiseSigmoid};
    case EpilogueKind::kTanh: return CudnnPointwise{dnn::kPointwiseTanh};
    case EpilogueKind::kSilu: return CudnnPointwise{dnn::kPointwiseSwish, {{dnn::kSwishBeta, 1.0}}};
    case EpilogueKind::kGeluErf: return CudnnPointwise{dnn::kPointwiseGelu};
    case EpilogueKind::kGeluTanh: return CudnnPointwise{dnn::kPointwiseGeluTanh};
    case EpilogueKind::kElu: return CudnnPointwise{dnn::kPointwiseElu, {{dnn::kEluAlpha, step.alpha}}};
    default: return std::nullopt;
    }
}

bool takesExtra(EpilogueStep const& step) noexcept
{
    return step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kMultiply;
}

//! Builds one graph: the convolution or product, then one operation after the other on what the last has made.
class GraphWriter
{
  public:
    GraphWriter(CudnnApi const& api, CudnnLayer const& layer, size_t operations)
        : mGraph{api},
          mLayer{layer},
          mLeft{operations}
    {
    }
    Result<Done> multiply()
    {
        int64_t const a = TENON_TRY(input(0, mLayer.a));
        int64_t const b = TENON_TRY(input(1, mLayer.b));
        mLast = TENON_TRY(result());
        return mLayer.convolution ? mGraph.addConvolution(*mLayer.convolution, a, b, mLast)
                                  : mGraph.addProduct(a, b, mLast);
    }
    Result<Done> addBias()
    {
        int64_t const b = TENON_TRY(input(2, *mLayer.bias));
        return apply({dnn::kPointwiseAdd}, b);
    }
    Result<Done> applyStep(EpilogueStep const& step)
    {
        int64_t b{0};
        if (takesExtra(step))
        {
            size_t const extra = mExtra++;
            b = TENON_TRY(input(kFirstExtra + extra, *mLayer.extras[extra]));
        }
        return apply(*pointwiseOf(step), b);
    }
    Result<DescribedLayer> finish(CudnnMachine const& machine)
    {
        CudnnObject graph = TENON_TRY(mGraph.finish(machine));
        return DescribedLayer{std::move(graph), std::move(mBindings)};
    }

  private:
    Result<int64_t> input(size_t position, CudnnTensor const& tensor)
    {
        int64_t const id = TENON_TRY(mGraph.addTensor(tensor));
        mBindings.push_back({id, static_cast<int32_t>(position)});
        return id;
    }
    //! What the next operation writes: the output where it is the last, else numbers that are never rounded.
    Result<int64_t> result()
    {
        CudnnTensor tensor = mLayer.out;
        bool const isLast = --mLeft == 0;
        tensor.isVirtual = !isLast;
        if (!isLast)
            tensor.type = dnn::kDataFloat;
        int64_t const id = TENON_TRY(mGraph.addTensor(tensor));
        if (isLast)
            mBindings.push_back({id, CudnnBinding::kOutput});
        return id;
    }
    Result<Done> apply(CudnnPointwise const& pointwise, int64_t b)
    {
        int64_t const y = TENON_TRY(result());
        TENON_TRY(mGraph.addPointwise(pointwise, mLast, b, y));
        mLast = y;
        return Done{};
    }

    CudnnGraph mGraph;
    CudnnLayer const& mLayer;
    size_t mLeft;
    size_t mExtra{0};
    int64_t mLast{0};
    std::vector<CudnnBinding> mBindings;
};

//! One plan of the library's.
class DnnStep final : public CudaPrepared
{
  public:
    DnnStep(CudnnApi const& api, CudnnHandle& handle, CudnnPlan plan, std::vector<CudnnBinding> bindings)
        : mApi{api},
          mHandle{handle},
          mPlan{std::move(plan)},
          mBindings{std::move(bindings)}
    {
        for (CudnnBinding const& binding : mBindings)
            mIds.push_back(binding.id);
    }
    size_t scratchBytes() const noexcept override
    {
        return mPlan.workspaceBytes;
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        std::array<void*, kMaxOperands + 1> addresses{};
        for (size_t i = 0; i < mBindings.size(); ++i)
            addresses[i] = addressOf(at.call, mBindings[i]);
        CudnnObject variant = TENON_TRY(CudnnObject::make(mApi, dnn::kVariantPack));
        TENON_TRY(variant.setNumbers(dnn::kVariantIds, mIds));
        TENON_TRY(variant.setAddresses(dnn::kVariantAddresses, {addresses.data(), mBindings.size()}));
        TENON_TRY(variant.set(dnn::kVariantWorkspace, dnn::kTypeAddress, at.call.scratch));
        TENON_TRY(variant.finalize());
        std::scoped_lock const lock{mHandle.mutex};
        TENON_CUDNN_TRY(mApi, cudnnSetStream, mHandle.handle, at.stream);
        TENON_CUDNN_TRY(mApi, cudnnBackendExecute, mHandle.handle, mPlan.plan.get(), variant.get());
        return Done{};
    }
    static void* addressOf(Call const& call, CudnnBinding const& binding) noexcept
    {
        if (binding.input == CudnnBinding::kNumber)
            return const_cast<float*>(&binding.number);
        void* const tensor =
            binding.input == CudnnBinding::kOutput ? call.outputs[0] : const_cast<void*>(call.inputs[binding.input]);
        return static_cast<char*>(tensor) + binding.offset;
    }

  private:
    CudnnApi const& mApi;
    CudnnHandle& mHandle;
    CudnnPlan mPlan;
    std::vector<CudnnBinding> mBindings;
    std::vector<int64_t> mIds;
};

//! One way for addresses that are multiples of 16, another one for all: users may bring memory that is aligned to its
//! elements alone.
class AlignedStep final : public CudaPrepared
{
  public:
    AlignedStep(std::shared_ptr<Prepared const> aligned, std::shared_ptr<Prepared const> other,
        std::vector<CudnnBinding> bindings)
        : mAligned{std::move(aligned)},
          mOther{std::move(other)},
          mBindings{std::move(bindings)}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return std::max(mAligned->scratchBytes(), mOther->scratchBytes());
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        bool const isAligned = std::ranges::all_of(mBindings, [&](CudnnBinding const& binding) {
            return binding.input == CudnnBinding::kNumber
                || reinterpret_cast<uintptr_t>(DnnStep::addressOf(at.call, binding)) % kDnnAlignment == 0;
        });
        return cudaPrepared(isAligned ? *mAligned : *mOther).launch(at);
    }

  private:
    std::shared_ptr<Prepared const> mAligned;
    std::shared_ptr<Prepared const> mOther;
    std::vector<CudnnBinding> mBindings;
};

} // namespace

int dnnTypeOf(DType type) noexcept
{
    return type == DType::kHALF ? dnn::kDataHalf : type == DType::kBF16 ? dnn::kDataBfloat : dnn::kDataFloat;
}

std::vector<CudnnPart> cudnnParts(CudnnLayer const& layer)
{
    size_t steps{0};
    size_t extra{0};
    for (EpilogueStep const& step : layer.epilogue.steps)
    {
        if (!pointwiseOf(step) || (takesExtra(step) && (extra >= layer.extras.size() || !layer.extras[extra])))
            break;
        extra += takesExtra(step) ? 1 : 0;
        ++steps;
    }
    bool const hasBias = layer.bias.has_value();
    std::vector<CudnnPart> parts{{hasBias, steps}};
    if (steps > 0 && hasBias)
        parts.push_back({true, 0});
    if (steps > 0 || hasBias)
        parts.push_back({false, 0});
    return parts;
}

Result<DescribedLayer> describeLayer(
    CudnnApi const& api, CudnnMachine const& machine, CudnnLayer const& layer, CudnnPart const& part)
{
    GraphWriter writer{api, layer, 1 + (part.hasBias ? 1 : 0) + part.steps};
    TENON_TRY(writer.multiply());
    std::span<EpilogueStep const> const steps{layer.epilogue.steps.data(), part.steps};
    // The library's engines for residual blocks know the sum in front of the bias.
    bool const sumsFirst = part.hasBias && !steps.empty() && steps[0].kind == EpilogueKind::kAdd;
    if (sumsFirst)
        TENON_TRY(writer.applyStep(steps[0]));
    if (part.hasBias)
        TENON_TRY(writer.addBias());
    for (EpilogueStep const& step : steps.subspan(sumsFirst ? 1 : 0))
        TENON_TRY(writer.applyStep(step));
    return writer.finish(machine);
}

Result<std::shared_ptr<Prepared const>> cudnnStep(CudaDevice const& device, CudnnLayer const& layer,
    CudnnPart const& part, int32_t tactic, std::shared_ptr<Prepared const> ours, std::span<TensorArg const> inputs,
    TensorArg const& out)
{
    CudnnApi const& api = *TENON_TRY(cudnn());
    Current const current{device};
    CudnnHandle& handle = *TENON_TRY(cudnnHandleOf(api, device));
    CudnnPlanner planner = TENON_TRY(cudnnPlanner(api, device));
    CudnnMachine const machine{.handle = planner.get()};
    DescribedLayer described = TENON_TRY(describeLayer(api, machine, layer, part));
    CudnnPlan plan = TENON_TRY(cudnnPlan(described.graph, machine,
        {.position = tactic % kDnnTactics,
            .isExact = out.dtype == DType::kFLOAT && tactic < kDnnTactics,
            .mostWorkspace = kDnnWorkspace}));
    planner.reset();
    auto step = std::make_shared<DnnStep>(api, handle, std::move(plan), described.bindings);
    EpilogueRest const rest{layer.epilogue, part.steps, layer.bias.has_value() && !part.hasBias};
    auto whole = TENON_TRY(withRest(device, std::move(step), rest, inputs, out));
    return std::shared_ptr<Prepared const>{
        std::make_shared<AlignedStep>(std::move(whole), std::move(ours), std::move(described.bindings))};
}

Result<std::shared_ptr<Prepared const>> cudnnStep(CudaDevice const& device, CudnnMachine const& machine,
    DescribedLayer described, int32_t position, std::shared_ptr<Prepared const> ours)
{
    CudnnApi const& api = described.graph.api();
    Current const current{device};
    CudnnHandle& handle = *TENON_TRY(cudnnHandleOf(api, device));
    CudnnPlan plan = TENON_TRY(
        cudnnPlan(described.graph, machine, {.position = position, .isExact = false, .mostWorkspace = kDnnWorkspace}));
    auto step = std::make_shared<DnnStep>(api, handle, std::move(plan), described.bindings);
    return std::shared_ptr<Prepared const>{
        std::make_shared<AlignedStep>(std::move(step), std::move(ours), std::move(described.bindings))};
}

std::vector<Offer> cudnnOffers(Problem const& problem, Layout layout, double multiplications, Epilogue const& epilogue)
{
    // The library has its kernels for sums and ReLU ready, those with other steps it compiles.
    bool const areReady = std::ranges::all_of(epilogue.steps,
        [](EpilogueStep const& step) { return step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kRelu; });
    std::vector<Offer> offers = libraryOffers(problem, layout, multiplications, kDnnTactics);
    std::erase_if(
        offers, [&](Offer const& offer) { return !areReady && offer.tactic % kDnnTactics >= kSlowDnnTactics; });
    for (Offer& offer : offers)
    {
        if (offer.inputs.size() > 2)
            offer.inputs[2] = Layout::kLinear;
        putExtraLayouts(offer, problem, layout);
    }
    return offers;
}

} // namespace tenon::cuda
