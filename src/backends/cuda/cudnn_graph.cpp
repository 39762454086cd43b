// CudnnGraph: descriptions, and the choice among what the library's heuristics propose.
#include "backends/cuda/cudnn_graph.h"

#include <algorithm>
#include <array>

namespace tenon::cuda
{

namespace
{
constexpr int64_t kCudnnAlignment{16};

//! All objects of an attribute that is a list of them.
Result<std::vector<CudnnObject>> listOf(CudnnObject const& from, int attribute, int kind)
{
    CudnnApi const& api = from.api();
    int64_t count{0};
    TENON_CUDNN_TRY(api, cudnnBackendGetAttribute, from.get(), attribute, dnn::kTypeDescriptor, 0, &count, nullptr);
    std::vector<CudnnObject> all;
    std::vector<void*> objects;
    for (int64_t i = 0; i < count; ++i)
    {
        all.push_back(TENON_TRY(CudnnObject::make(api, kind)));
        objects.push_back(all.back().get());
    }
    int64_t given{0};
    TENON_CUDNN_TRY(
        api, cudnnBackendGetAttribute, from.get(), attribute, dnn::kTypeDescriptor, count, &given, objects.data());
    all.erase(all.begin() + std::clamp<int64_t>(given, 0, count), all.end());
    return all;
}

//! Whether an engine computes as plans promise.
Result<bool> isGood(CudnnObject const& config, CudnnWish const& wish)
{
    CudnnApi const& api = config.api();
    CudnnObject const engine = TENON_TRY(CudnnObject::make(api, dnn::kEngine));
    void* object = engine.get();
    int64_t count{0};
    TENON_CUDNN_TRY(api, cudnnBackendGetAttribute, config.get(), dnn::kConfigEngine, dnn::kTypeDescriptor, 1, &count,
        static_cast<void*>(&object));
    std::array<int, 32> notes{};
    TENON_CUDNN_TRY(api, cudnnBackendGetAttribute, engine.get(), dnn::kEngineNotes, dnn::kTypeNumericalNote,
        static_cast<int64_t>(notes.size()), &count, notes.data());
    constexpr std::array<int, 8> kBad{dnn::kNoteDownConversion, dnn::kNoteReducedSums, dnn::kNoteFft,
        dnn::kNoteNondeterministic, dnn::kNoteWinograd, dnn::kNoteWinograd4, dnn::kNoteWinograd6, dnn::kNoteWinograd13};
    return std::none_of(notes.begin(),
        notes.begin() + std::clamp<int64_t>(count, 0, static_cast<int64_t>(notes.size())), [&](int note) {
            return std::ranges::find(kBad, note) != kBad.end() || (wish.isExact && note == dnn::kNoteTensorCore);
        });
}

//! An error where the engine cannot do it after all.
Result<CudnnPlan> planBy(CudnnObject const& config, CudnnMachine const& machine)
{
    CudnnApi const& api = config.api();
    CudnnObject plan = TENON_TRY(CudnnObject::make(api, dnn::kExecutionPlan));
    if (machine.handle != nullptr)
        TENON_TRY(plan.set(dnn::kPlanHandle, dnn::kTypeHandle, machine.handle));
    if (machine.description != nullptr)
        TENON_TRY(plan.setObject(dnn::kPlanDevice, *machine.description));
    TENON_TRY(plan.setObject(dnn::kPlanConfig, config));
    TENON_TRY(plan.finalize());
    int64_t bytes{0};
    int64_t count{0};
    TENON_CUDNN_TRY(api, cudnnBackendGetAttribute, plan.get(), dnn::kPlanWorkspace, dnn::kTypeInt64, 1, &count, &bytes);
    return CudnnPlan{std::move(plan), static_cast<size_t>(std::max<int64_t>(bytes, 0))};
}

Result<std::vector<CudnnObject>> configsOf(CudnnObject const& graph, CudnnMachine const& machine, int mode)
{
    CudnnObject heuristic = TENON_TRY(CudnnObject::make(graph.api(), dnn::kHeuristic));
    TENON_TRY(heuristic.setObject(dnn::kHeuristicGraph, graph));
    TENON_TRY(heuristic.set(dnn::kHeuristicMode, dnn::kTypeHeuristicMode, mode));
    if (machine.description != nullptr)
        TENON_TRY(heuristic.setObject(dnn::kHeuristicDevice, *machine.description));
    TENON_TRY(heuristic.finalize());
    return listOf(heuristic, dnn::kHeuristicResults, dnn::kEngineConfig);
}
} // namespace

Result<CudnnObject> CudnnObject::make(CudnnApi const& api, int kind)
{
    void* object{nullptr};
    TENON_CUDNN_TRY(api, cudnnBackendCreateDescriptor, kind, &object);
    return CudnnObject{api, object};
}

Result<Done> CudnnObject::setBytes(int attribute, int type, int64_t count, void const* elements)
{
    TENON_CUDNN_TRY(*mApi, cudnnBackendSetAttribute, get(), attribute, type, count, elements);
    return Done{};
}

Result<Done> CudnnObject::setObject(int attribute, CudnnObject const& object)
{
    void* const value = object.get();
    return setBytes(attribute, dnn::kTypeDescriptor, 1, static_cast<void const*>(&value));
}

Result<Done> CudnnObject::setObjects(int attribute, std::span<CudnnObject const> objects)
{
    std::vector<void*> all;
    for (CudnnObject const& object : objects)
        all.push_back(object.get());
    return setBytes(
        attribute, dnn::kTypeDescriptor, static_cast<int64_t>(all.size()), static_cast<void const*>(all.data()));
}

Result<Done> CudnnObject::finalize()
{
    TENON_CUDNN_TRY(*mApi, cudnnBackendFinalize, get());
    return Done{};
}

Result<int64_t> CudnnGraph::addTensor(CudnnTensor const& tensor)
{
    CudnnObject made = TENON_TRY(CudnnObject::make(mApi, dnn::kTensor));
    TENON_TRY(made.set(dnn::kTensorType, dnn::kTypeDataType, tensor.type));
    TENON_TRY(made.setNumbers(dnn::kTensorExtents, tensor.extents));
    TENON_TRY(made.setNumbers(dnn::kTensorStrides, tensor.strides));
    auto const id = static_cast<int64_t>(mTensors.size()) + 1;
    TENON_TRY(made.set(dnn::kTensorId, dnn::kTypeInt64, id));
    TENON_TRY(made.set(dnn::kTensorAlignment, dnn::kTypeInt64, kCudnnAlignment));
    TENON_TRY(made.set(dnn::kTensorIsVirtual, dnn::kTypeBoolean, tensor.isVirtual));
    if (tensor.isByValue)
        TENON_TRY(made.set(dnn::kTensorIsByValue, dnn::kTypeBoolean, true));
    TENON_TRY(made.finalize());
    mTensors.push_back(std::move(made));
    return id;
}

Result<Done> CudnnGraph::addConvolution(CudnnConvolution const& convolution, int64_t x, int64_t filter, int64_t y)
{
    CudnnObject about = TENON_TRY(CudnnObject::make(mApi, dnn::kConvolution));
    TENON_TRY(about.set(dnn::kConvolutionType, dnn::kTypeDataType, int{dnn::kDataFloat}));
    TENON_TRY(about.set(dnn::kConvolutionMode, dnn::kTypeConvolutionMode, int{dnn::kCrossCorrelation}));
    TENON_TRY(about.set(dnn::kConvolutionAxes, dnn::kTypeInt64, static_cast<int64_t>(convolution.stride.size())));
    TENON_TRY(about.setNumbers(dnn::kConvolutionStrides, convolution.stride));
    TENON_TRY(about.setNumbers(dnn::kConvolutionDilations, convolution.dilation));
    TENON_TRY(about.setNumbers(dnn::kConvolutionPre, convolution.pre));
    TENON_TRY(about.setNumbers(dnn::kConvolutionPost, convolution.post));
    TENON_TRY(about.finalize());
    bool const isBack = convolution.isTransposed; // A deconvolution is what a convolution's gradient is.
    CudnnObject made = TENON_TRY(CudnnObject::make(mApi, isBack ? dnn::kBackwardData : dnn::kForward));
    TENON_TRY(made.setObject(isBack ? dnn::kBackwardConvolution : dnn::kForwardConvolution, about));
    TENON_TRY(made.setObject(isBack ? dnn::kBackwardIn : dnn::kForwardIn, tensor(x)));
    TENON_TRY(made.setObject(isBack ? dnn::kBackwardFilter : dnn::kForwardFilter, tensor(filter)));
    TENON_TRY(made.setObject(isBack ? dnn::kBackwardOut : dnn::kForwardOut, tensor(y)));
    TENON_TRY(made.set(isBack ? dnn::kBackwardAlpha : dnn::kForwardAlpha, dnn::kTypeFloat, 1.0F));
    TENON_TRY(made.set(isBack ? dnn::kBackwardBeta : dnn::kForwardBeta, dnn::kTypeFloat, 0.0F));
    TENON_TRY(made.finalize());
    mParts.push_back(std::move(about));
    mOperations.push_back(std::move(made));
    return Done{};
}

Result<Done> CudnnGraph::addProduct(int64_t a, int64_t b, int64_t c)
{
    CudnnObject about = TENON_TRY(CudnnObject::make(mApi, dnn::kMatmul));
    TENON_TRY(about.set(dnn::kMatmulType, dnn::kTypeDataType, int{dnn::kDataFloat}));
    TENON_TRY(about.finalize());
    CudnnObject made = TENON_TRY(CudnnObject::make(mApi, dnn::kMatmulOperation));
    TENON_TRY(made.setObject(dnn::kMatmulDescriptor, about));
    TENON_TRY(made.setObject(dnn::kMatmulA, tensor(a)));
    TENON_TRY(made.setObject(dnn::kMatmulB, tensor(b)));
    TENON_TRY(made.setObject(dnn::kMatmulC, tensor(c)));
    TENON_TRY(made.finalize());
    mParts.push_back(std::move(about));
    mOperations.push_back(std::move(made));
    return Done{};
}

Result<Done> CudnnGraph::addAttention(CudnnAttention const& attention)
{
    CudnnObject made = TENON_TRY(CudnnObject::make(mApi, dnn::kAttention));
    TENON_TRY(made.setObject(dnn::kAttentionQ, tensor(attention.q)));
    TENON_TRY(made.setObject(dnn::kAttentionK, tensor(attention.k)));
    TENON_TRY(made.setObject(dnn::kAttentionV, tensor(attention.v)));
    TENON_TRY(made.setObject(dnn::kAttentionScale, tensor(attention.scale)));
    TENON_TRY(made.setObject(dnn::kAttentionOut, tensor(attention.out)));
    TENON_TRY(made.finalize());
    mOperations.push_back(std::move(made));
    return Done{};
}

Result<Done> CudnnGraph::addPointwise(CudnnPointwise const& pointwise, int64_t x, int64_t b, int64_t y)
{
    CudnnObject about = TENON_TRY(CudnnObject::make(mApi, dnn::kPointwise));
    TENON_TRY(about.set(dnn::kPointwiseMode, dnn::kTypePointwiseMode, pointwise.mode));
    TENON_TRY(about.set(dnn::kPointwisePrecision, dnn::kTypeDataType, int{dnn::kDataFloat}));
    for (auto const& [attribute, value] : pointwise.parameters)
        TENON_TRY(about.set(attribute, dnn::kTypeDouble, value));
    TENON_TRY(about.finalize());
    CudnnObject made = TENON_TRY(CudnnObject::make(mApi, dnn::kPointwiseOperation));
    TENON_TRY(made.setObject(dnn::kPointwiseDescriptor, about));
    TENON_TRY(made.setObject(dnn::kPointwiseX, tensor(x)));
    if (b > 0)
        TENON_TRY(made.setObject(dnn::kPointwiseB, tensor(b)));
    TENON_TRY(made.setObject(dnn::kPointwiseY, tensor(y)));
    TENON_TRY(made.finalize());
    mParts.push_back(std::move(about));
    mOperations.push_back(std::move(made));
    return Done{};
}

Result<CudnnObject> CudnnGraph::finish(CudnnMachine const& machine)
{
    CudnnObject graph = TENON_TRY(CudnnObject::make(mApi, dnn::kOperationGraph));
    if (machine.handle != nullptr)
        TENON_TRY(graph.set(dnn::kGraphHandle, dnn::kTypeHandle, machine.handle));
    TENON_TRY(graph.setObjects(dnn::kGraphOperations, mOperations));
    TENON_TRY(graph.finalize());
    return graph;
}

Result<CudnnPlan> cudnnPlan(CudnnObject const& graph, CudnnMachine const& machine, CudnnWish const& wish)
{
    std::vector<CudnnObject> good;
    for (int const mode : {dnn::kHeuristicA, dnn::kHeuristicFallback})
        if (Result<std::vector<CudnnObject>> configs = configsOf(graph, machine, mode))
            for (CudnnObject& config : *configs)
                if (TENON_TRY(isGood(config, wish)))
                    good.push_back(std::move(config));
    // Making a plan may compile its kernel, which takes a second: only where the wished one fails, another one is made.
    size_t const first = std::min(static_cast<size_t>(wish.position), std::max<size_t>(good.size(), 1) - 1);
    for (size_t i = 0; i < good.size(); ++i)
    {
        Result<CudnnPlan> plan = planBy(good[(first + i) % good.size()], machine);
        if (plan && plan->workspaceBytes <= static_cast<size_t>(wish.mostWorkspace))
            return plan;
    }
    return errorOf(ErrorCode::kUNSUPPORTED_STATE, "cuDNN has no engine for it");
}

} // namespace tenon::cuda
