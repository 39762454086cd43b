// CudaEngine: queries by name, with the answers that the API gives for names it does not know.
#include "api/run/cuda_engine.h"

#include "api/boundary.h"
#include "api/build/kernel_libraries.h"
#include "api/build/plan_again.h"
#include "api/host_memory.h"
#include "api/run/engine_inspector.h"
#include "api/run/execution_context.h"
#include "api/run/refitter.h"
#include "api/run/runtime_config.h"
#include "api/tensor_formats.h"
#include "base/trace.h"
#include "layers/kv_cache_update.h"
#include "plan/format.h"
#include "plan/lookup.h"
#include "plan/paged_memory.h"

#include <algorithm>

namespace tenon::api
{

using namespace nvinfer1;

namespace
{
struct StoredPlan
{
    std::shared_ptr<Plan> plan;
    std::shared_ptr<void const> owner;
    ByteView blob;
};

//! Weights that are streamed leave the memory that the caller has them in.
Result<StoredPlan> readStored(LoadRequest const& request)
{
    bool const streams =
        (planFlags(request.blob) & kPlanStreamsWeights) != 0 && request.device.device->usesHostMemory();
    if (!streams)
        return StoredPlan{
            std::make_shared<Plan>(TENON_TRY(readPlan(request.blob, request.owner))), request.owner, request.blob};
    std::shared_ptr<PagedMemory> const pages =
        request.pages != nullptr ? request.pages : TENON_TRY(pagedCopy(request.blob, request.temporaryFolder));
    return StoredPlan{std::make_shared<Plan>(TENON_TRY(readPlan(pages))), pages, pages->bytes()};
}
} // namespace

Result<ICudaEngine*> deserializeEngine(LoadRequest const& request)
{
    TraceScope const traced{"load", "Loading Engine"};
    StoredPlan const stored = TENON_TRY(readStored(request));
    std::shared_ptr<Plan> plan = stored.plan;
    if (request.openLibraries)
        TENON_TRY(request.openLibraries(*plan));
    bool const isMade = !whyPlannedAgain(*plan, request.device);
    if (isMade)
        warnOfLibraries(
            *programFor(*plan, request.device.device->name()), *request.device.backend, request.reporting.log());
    else
        plan = std::make_shared<Plan>(
            TENON_TRY(planAgain(*plan, request.device, request.plugins, request.reporting.log())));
    EngineOptions options;
    options.device = request.device.device;
    options.log = request.reporting.log();
    options.allocator = request.allocator;
    options.threads = request.threads;
    options.plugins = request.plugins;
    options.allowsHostCode = request.allowsHostCode;
    options.parent = request.parent;
    options.temporaryFolder = request.temporaryFolder;
    std::shared_ptr<Engine> engine = TENON_TRY(Engine::create(plan, std::move(options)));
    return makeHandle<ICudaEngine, CudaEngine>(
        std::move(engine), request.device, request.reporting, stored.owner, isMade ? stored.blob : ByteView{});
}

CudaEngine::CudaEngine(std::shared_ptr<Engine> engine, DeviceChoice device, Reporting const& parent,
    std::shared_ptr<void const> blobOwner, ByteView blob)
    : mEngine{std::move(engine)},
      mDevice{std::move(device)},
      mReporting{std::make_shared<Reporting>(parent)},
      mBlobOwner{std::move(blobOwner)},
      mBlob{blob},
      mDebugTensors{mEngine->plan(), mEngine->program()}
{
    for (int32_t profile = 0; profile < mEngine->profileCount(); ++profile)
        for (int32_t io = 0; io < mEngine->ioCount(); ++io)
        {
            mBindingNames.push_back(mEngine->io(io).name + (profile == 0 ? "" : fmt::format(" [profile {}]", profile)));
            if (mEngine->hasNarrowValues(io, profile))
                narrowValues(profile, io);
        }
}

CudaEngine::~CudaEngine()
{
    mReporting->setRecorder(nullptr); // Others may have it still.
}

void CudaEngine::narrowValues(int32_t profile, int32_t io)
{
    for (Select const select : {Select::kMIN, Select::kOPT, Select::kMAX})
        if (auto const values = mEngine->profileValues(mEngine->io(io).name.c_str(), profile, select))
            mNarrowValues[profile * mEngine->ioCount() + io][static_cast<size_t>(select)].assign(
                values->begin(), values->end()); // checkPlan has seen that they fit.
}

ICudaEngine* CudaEngine::getPImpl() noexcept
{
    return &front();
}

int32_t CudaEngine::getNbLayers() const noexcept
{
    return mEngine->layerCount();
}

IHostMemory* CudaEngine::serialize() const noexcept
{
    using Made = IHostMemory*;
    return fenced(mReporting->log(), "ICudaEngine::serialize", Made{nullptr}, [&]() -> Result<Made> {
        std::unique_ptr<Plan> const changed = TENON_TRY(mEngine->changedPlan());
        if (changed == nullptr && !mBlob.empty())
            return makeHandle<IHostMemory, HostMemory>(mBlob, mBlobOwner);
        return makeHandle<IHostMemory, HostMemory>(TENON_TRY(writePlan(changed ? *changed : mEngine->plan())));
    });
}

ISerializationConfig* CudaEngine::createSerializationConfig() noexcept
{
    using Made = ISerializationConfig*;
    return fenced(mReporting->log(), "ICudaEngine::createSerializationConfig", Made{nullptr},
        [&] { return makeHandle<ISerializationConfig, SerializationConfig>(mReporting); });
}

IHostMemory* CudaEngine::serializeWithConfig(ISerializationConfig& config) const noexcept
{
    // Plans hold no lean runtime: a flag about it has nothing to take away.
    bool const keepsRefit = config.getFlag(SerializationFlag::kINCLUDE_REFIT) || !isStripped();
    if (!config.getFlag(SerializationFlag::kEXCLUDE_WEIGHTS))
        return keepsRefit ? serialize() : serializeComplete();
    if (isRefittable())
        return serializeStripped();
    mReporting->fail(errorOf(ErrorCode::kINVALID_CONFIG,
        "ICudaEngine::serializeWithConfig: kEXCLUDE_WEIGHTS is for engines that were built with kREFIT, "
        "kREFIT_IDENTICAL or kREFIT_INDIVIDUAL, and engine '{}' was not",
        getName()));
    return nullptr;
}

IHostMemory* CudaEngine::serializeStripped() const noexcept
{
    using Made = IHostMemory*;
    return fenced(mReporting->log(), "ICudaEngine::serializeWithConfig", Made{nullptr}, [&]() -> Result<Made> {
        std::unique_ptr<Plan> plan = TENON_TRY(mEngine->changedPlan());
        if (plan == nullptr)
            plan = std::make_unique<Plan>(mEngine->plan());
        stripWeights(*plan);
        return makeHandle<IHostMemory, HostMemory>(TENON_TRY(writePlan(*plan)));
    });
}

bool CudaEngine::isStripped() const noexcept
{
    return std::ranges::any_of(mEngine->plan().weights, &PlanWeight::isStripped);
}

IHostMemory* CudaEngine::serializeComplete() const noexcept
{
    using Made = IHostMemory*;
    return fenced(mReporting->log(), "ICudaEngine::serializeWithConfig", Made{nullptr}, [&]() -> Result<Made> {
        std::unique_ptr<Plan> plan = TENON_TRY(mEngine->changedPlan());
        if (plan == nullptr)
            plan = std::make_unique<Plan>(mEngine->plan());
        if (std::ranges::none_of(plan->weights, &PlanWeight::isStripped)) // Else only a refit completes it.
        {
            plan->refit.reset();
            for (PlanWeight& weight : plan->weights)
                weight.refit.clear();
        }
        return makeHandle<IHostMemory, HostMemory>(TENON_TRY(writePlan(*plan)));
    });
}

IRuntimeConfig* CudaEngine::createRuntimeConfig() noexcept
{
    using Made = IRuntimeConfig*;
    return fenced(mReporting->log(), "ICudaEngine::createRuntimeConfig", Made{nullptr},
        [&] { return makeHandle<IRuntimeConfig, RuntimeConfig>(mReporting); });
}

IExecutionContext* CudaEngine::createContext(Strategy strategy, std::shared_ptr<RuntimeConfig> config)
{
    using Made = IExecutionContext*;
    return fenced(mReporting->log(), "ICudaEngine::createExecutionContext", Made{nullptr}, [&]() -> Result<Made> {
        std::unique_ptr<Context> context = TENON_TRY(Context::create(mEngine, strategy));
        return makeHandle<IExecutionContext, ExecutionContext>(
            shared_from_this(), std::move(context), std::move(config));
    });
}

IExecutionContext* CudaEngine::createExecutionContext(Strategy strategy) noexcept
{
    return createContext(strategy, nullptr);
}

IExecutionContext* CudaEngine::createExecutionContextWithoutDeviceMemory() noexcept
{
    return createContext(Strategy::kUSER_MANAGED, nullptr);
}

IExecutionContext* CudaEngine::createExecutionContextWithRuntimeConfig(IRuntimeConfig* runtimeConfig) noexcept
{
    if (runtimeConfig == nullptr)
        return createContext(Strategy::kSTATIC, nullptr);
    std::shared_ptr<RuntimeConfig> config = RuntimeConfig::of(*runtimeConfig).shared_from_this();
    Strategy const strategy = config->getExecutionContextAllocationStrategy();
    return createContext(strategy, std::move(config));
}

size_t CudaEngine::getDeviceMemorySize() const noexcept
{
    return static_cast<size_t>(getDeviceMemorySizeV2());
}

int64_t CudaEngine::getDeviceMemorySizeV2() const noexcept
{
    return fenced(mReporting->log(), "ICudaEngine::getDeviceMemorySizeV2", int64_t{0},
        [&]() -> Result<int64_t> { return mEngine->deviceMemorySize(); });
}

size_t CudaEngine::getDeviceMemorySizeForProfile(int32_t profileIndex) const noexcept
{
    return static_cast<size_t>(getDeviceMemorySizeForProfileV2(profileIndex));
}

int64_t CudaEngine::getDeviceMemorySizeForProfileV2(int32_t profileIndex) const noexcept
{
    return fenced(mReporting->log(), "ICudaEngine::getDeviceMemorySizeForProfileV2", int64_t{0},
        [&]() -> Result<int64_t> { return mEngine->deviceMemorySize(profileIndex); });
}

bool CudaEngine::isRefittable() const noexcept
{
    return mEngine->plan().refit.has_value();
}

IRefitter* CudaEngine::createRefitter(ILogger& logger) noexcept
{
    return makeRefitter(&front(), logger);
}

char const* CudaEngine::getName() const noexcept
{
    return mEngine->name().c_str();
}

int32_t CudaEngine::getNbOptimizationProfiles() const noexcept
{
    return mEngine->profileCount();
}

int32_t CudaEngine::find(char const* call, char const* tensorName) const noexcept
{
    return fenced(mReporting->log(), call, int32_t{-1}, [&] { return mEngine->ioOf(tensorName); });
}

int32_t CudaEngine::find(char const* call, char const* tensorName, int32_t profileIndex) const noexcept
{
    return fenced(mReporting->log(), call, int32_t{-1}, [&]() -> Result<int32_t> {
        TENON_TRY(mEngine->checkProfile(profileIndex));
        return mEngine->ioOf(tensorName);
    });
}

int64_t const* CudaEngine::getProfileTensorValuesV2(
    char const* tensorName, int32_t profileIndex, Select select) const noexcept
{
    int32_t const io = find("ICudaEngine::getProfileTensorValuesV2", tensorName, profileIndex);
    if (io < 0 || mEngine->hasNarrowValues(io, profileIndex))
        return nullptr;
    Result<std::span<int64_t const>> const values = mEngine->profileValues(tensorName, profileIndex, select);
    return values && !(*values).empty() ? (*values).data() : nullptr; // Null for tensors that have none (P5).
}

int32_t const* CudaEngine::narrowValues(int32_t io, int32_t profileIndex, Select select) const
{
    if (io < 0)
        return nullptr;
    auto const which = static_cast<size_t>(select);
    auto const found = mNarrowValues.find(profileIndex * mEngine->ioCount() + io);
    bool const known = which <= 2 && found != mNarrowValues.end() && !found->second[which].empty();
    return known ? found->second[which].data() : nullptr;
}

int32_t const* CudaEngine::getProfileTensorValues(
    char const* tensorName, int32_t profileIndex, Select select) const noexcept
{
    return narrowValues(find("ICudaEngine::getProfileTensorValues", tensorName, profileIndex), profileIndex, select);
}

EngineCapability CudaEngine::getEngineCapability() const noexcept
{
    return EngineCapability::kSTANDARD;
}

void CudaEngine::setErrorRecorder(IErrorRecorder* recorder) noexcept
{
    mReporting->setRecorder(recorder);
    mEngine->log().setRecorder(referenceTo(recorder)); // Its contexts and loads report meanwhile.
}

IErrorRecorder* CudaEngine::getErrorRecorder() const noexcept
{
    return mReporting->recorder();
}

uint32_t CudaEngine::getTacticSources() const noexcept
{
    return 0; // None of the libraries that the bits name takes part.
}

ProfilingVerbosity CudaEngine::getProfilingVerbosity() const noexcept
{
    return static_cast<ProfilingVerbosity>(mEngine->plan().profilingVerbosity);
}

IEngineInspector* CudaEngine::createEngineInspector() const noexcept
{
    using Made = IEngineInspector*;
    return fenced(mReporting->log(), "ICudaEngine::createEngineInspector", Made{nullptr},
        [&] { return makeHandle<IEngineInspector, EngineInspector>(shared_from_this()); });
}

Dims CudaEngine::getTensorShape(char const* tensorName) const noexcept
{
    return fenced(mReporting->log(), "ICudaEngine::getTensorShape", kInvalidDims,
        [&]() -> Result<Dims> { return dimsOfSample(TENON_TRY(mEngine->shape(tensorName))); });
}

DataType CudaEngine::getTensorDataType(char const* tensorName) const noexcept
{
    int32_t const io = find("ICudaEngine::getTensorDataType", tensorName);
    return io < 0 ? DataType::kFLOAT : mEngine->io(io).dtype;
}

TensorLocation CudaEngine::getTensorLocation(char const* tensorName) const noexcept
{
    int32_t const io = find("ICudaEngine::getTensorLocation", tensorName);
    return io >= 0 && mEngine->io(io).isShape ? TensorLocation::kHOST : TensorLocation::kDEVICE;
}

bool CudaEngine::isShapeInferenceIO(char const* tensorName) const noexcept
{
    int32_t const io = find("ICudaEngine::isShapeInferenceIO", tensorName);
    return io >= 0 && mEngine->io(io).isShape;
}

TensorIOMode CudaEngine::getTensorIOMode(char const* tensorName) const noexcept
{
    int32_t const io = find("ICudaEngine::getTensorIOMode", tensorName);
    if (io < 0)
        return TensorIOMode::kNONE;
    return mEngine->io(io).isInput ? TensorIOMode::kINPUT : TensorIOMode::kOUTPUT;
}

void CudaEngine::warnOfProfiles(char const* call, char const* tensorName) const
{
    if (mEngine->profileCount() > 1 && mEngine->findIO(tensorName) >= 0)
        mReporting->log().warning(fmt::format(
            "ICudaEngine::{}: the engine has {} profiles; this answers for profile 0", call, mEngine->profileCount()));
}

int32_t CudaEngine::getTensorBytesPerComponent(char const* tensorName) const noexcept
{
    warnOfProfiles("getTensorBytesPerComponent", tensorName);
    return getTensorBytesPerComponentV2(tensorName, 0);
}

int32_t CudaEngine::getTensorComponentsPerElement(char const* tensorName) const noexcept
{
    warnOfProfiles("getTensorComponentsPerElement", tensorName);
    return getTensorComponentsPerElementV2(tensorName, 0);
}

TensorFormat CudaEngine::getTensorFormat(char const* tensorName) const noexcept
{
    warnOfProfiles("getTensorFormat", tensorName);
    return getTensorFormatV2(tensorName, 0);
}

char const* CudaEngine::getTensorFormatDesc(char const* tensorName) const noexcept
{
    warnOfProfiles("getTensorFormatDesc", tensorName);
    return getTensorFormatDescV2(tensorName, 0);
}

int32_t CudaEngine::getTensorVectorizedDim(char const* tensorName) const noexcept
{
    warnOfProfiles("getTensorVectorizedDim", tensorName);
    return getTensorVectorizedDimV2(tensorName, 0);
}

Layout CudaEngine::layoutOf(char const* call, char const* tensorName, int32_t profileIndex) const noexcept
{
    int32_t const io = find(call, tensorName, profileIndex);
    return io < 0 ? Layout::kLinear : mEngine->io(io).layout;
}

int32_t CudaEngine::getTensorBytesPerComponentV2(char const* tensorName, int32_t profileIndex) const noexcept
{
    Layout const layout = layoutOf("ICudaEngine::getTensorBytesPerComponent", tensorName, profileIndex);
    return blockOf(layout) > 1 ? bitsOf(mEngine->io(mEngine->findIO(tensorName)).dtype) / 8 : -1; // Rule P3.
}

int32_t CudaEngine::getTensorComponentsPerElementV2(char const* tensorName, int32_t profileIndex) const noexcept
{
    Layout const layout = layoutOf("ICudaEngine::getTensorComponentsPerElement", tensorName, profileIndex);
    return blockOf(layout) > 1 ? static_cast<int32_t>(blockOf(layout)) : -1;
}

TensorFormat CudaEngine::getTensorFormatV2(char const* tensorName, int32_t profileIndex) const noexcept
{
    Layout const layout = layoutOf("ICudaEngine::getTensorFormat", tensorName, profileIndex);
    return layout == Layout::kLinear ? TensorFormat::kLINEAR
                                     : formatOf(layout, mEngine->io(mEngine->findIO(tensorName)).dims.nbDims);
}

char const* CudaEngine::getTensorFormatDescV2(char const* tensorName, int32_t profileIndex) const noexcept
{
    int32_t const io = find("ICudaEngine::getTensorFormatDesc", tensorName, profileIndex);
    return io < 0 ? "" : describe(formatOf(mEngine->io(io).layout, mEngine->io(io).dims.nbDims));
}

int32_t CudaEngine::getTensorVectorizedDimV2(char const* tensorName, int32_t profileIndex) const noexcept
{
    Layout const layout = layoutOf("ICudaEngine::getTensorVectorizedDim", tensorName, profileIndex);
    if (blockOf(layout) == 1)
        return -1;
    return mEngine->plan().batch.mode == PlanBatchMode::kImplicit ? 0 : 1; // Dims of a sample have no batch in front.
}

Result<Dims> CudaEngine::profileShape(char const* tensorName, int32_t profileIndex, Select select) const
{
    return dimsOfSample(TENON_TRY(mEngine->profileShape(tensorName, profileIndex, select)));
}

Dims CudaEngine::getProfileShape(char const* tensorName, int32_t profileIndex, Select select) const noexcept
{
    return fenced(mReporting->log(), "ICudaEngine::getProfileShape", kInvalidDims,
        [&] { return profileShape(tensorName, profileIndex, select); });
}

int32_t CudaEngine::getNbIOTensors() const noexcept
{
    return mEngine->ioCount();
}

char const* CudaEngine::getIOTensorName(int32_t index) const noexcept
{
    if (index >= 0 && index < mEngine->ioCount())
        return mEngine->io(index).name.c_str();
    mReporting->log().error(badArgument("ICudaEngine::getIOTensorName: there is no I/O tensor {}", index));
    return nullptr;
}

HardwareCompatibilityLevel CudaEngine::getHardwareCompatibilityLevel() const noexcept
{
    return static_cast<HardwareCompatibilityLevel>(mEngine->plan().compatibility); // checkPlan has seen it.
}

int32_t CudaEngine::getNbAuxStreams() const noexcept
{
    return mEngine->auxStreams();
}

bool CudaEngine::isDebugTensor(char const* name) const noexcept
{
    return mDebugTensors.find(name) >= 0;
}

std::string CudaEngine::profiledName(int32_t step) const
{
    return getProfilingVerbosity() == ProfilingVerbosity::kNONE
        ? std::to_string(step)
        : mEngine->program().steps.at(static_cast<size_t>(step)).name;
}

int64_t CudaEngine::getEngineStat(EngineStat stat) const noexcept
{
    if (stat == EngineStat::kTOTAL_WEIGHTS_SIZE)
        return mEngine->weightBytes();
    if (stat == EngineStat::kSTRIPPED_WEIGHTS_SIZE)
    {
        int64_t bytes{0};
        for (PlanWeight const& weight : mEngine->plan().weights)
            bytes += weight.isStripped() ? static_cast<int64_t>(weight.bytes) : 0;
        return bytes > 0 ? bytes : -1; // Of a plan that is not stripped (rule P9).
    }
    mReporting->fail(
        badArgument("ICudaEngine::getEngineStat: statistic {} does not exist", static_cast<int32_t>(stat)));
    return -1;
}

char const* CudaEngine::getAliasedInputTensor(char const* tensorName) const noexcept
{
    if (find("ICudaEngine::getAliasedInputTensor", tensorName) < 0)
        return nullptr;
    // A cache is updated where it stands (rule E28), if output and input have one address.
    Plan const& plan = mEngine->plan();
    auto const nameOfValue = [&](int32_t value) -> std::string const& {
        return plan.graph.values.at(static_cast<size_t>(value)).name;
    };
    for (PlanNode const& node : plan.graph.nodes)
        if (node.layer == KVCacheUpdate::kName && nameOfValue(node.outputs.at(0)) == tensorName)
            for (PlanIO const& io : plan.io)
                if (io.isInput && io.name == nameOfValue(node.inputs.at(0)))
                    return io.name.c_str();
    return nullptr;
}

} // namespace tenon::api
