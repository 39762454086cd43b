// Builder: its calls.
#include "api/build/builder.h"

#include "api/boundary.h"
#include "api/build/graph_request.h"
#include "api/build/profile_stream.h"
#include "api/build/progress_adapter.h"
#include "api/build/thread_check.h"
#include "api/host_memory.h"
#include "api/plugins/plugin_registry.h"
#include "api/run/cuda_engine.h"

#include "base/cancellation.h"
#include "base/nvtx.h"
#include "plan/plan_memory.h"

namespace tenon::api
{

using namespace nvinfer1;

namespace
{
//! Fences a build call, which is done with the profile stream when it returns, whatever became of the build (G9).
template <typename Made, typename Work>
Made fencedBuild(Device& device, INetworkDefinition& network, IBuilderConfig& config, char const* call, Made failure,
    Work&& work) noexcept
{
    Log const& log = Network::of(network).reporting().log();
    Made const made = fenced(log, call, failure, std::forward<Work>(work));
    fencedDone(log, call, [&] { return awaitProfileStream(device, BuilderConfig::of(config)); });
    return made;
}

} // namespace

Builder::Builder(ILogger& logger, DeviceChoice device)
    : mReporting{&logger},
      mDevice{std::move(device)}
{
    mReporting.log().info(describe(mDevice));
    if (std::string const& problem = Nvtx::problem(); !problem.empty())
        mReporting.log().warning(problem);
}

Result<OptimizationProfile const*> Builder::profileAt(IOptimizationProfile const* address) const
{
    for (auto const& profile : mProfiles)
        if (profile.get() == address)
            return profile.get();
    return badArgument("the optimization profile at {} is not one of this builder's: another builder made it, or the "
                       "builder that made it is gone",
        static_cast<void const*>(address));
}

Result<std::shared_ptr<PlanMemory>> Builder::build(INetworkDefinition& network, IBuilderConfig& given)
{
    BuilderConfig const& config = BuilderConfig::of(given);
    bool const isShown = config.settings().profilingVerbosity != ProfilingVerbosity::kNONE;
    ProgressAdapter progress{config.settings().progressMonitor, threadCheck(), isShown};
    CancellationScope const scope{[&] { return progress.mayContinue(); }};
    try
    {
        return build(Network::of(network), config, progress);
    }
    catch (Cancelled const&)
    {
        return cancelled();
    }
}

Result<std::shared_ptr<PlanMemory>> Builder::build(
    Network& network, BuilderConfig const& config, ProgressAdapter& progress)
{
    std::shared_ptr<PlanMemory> plan =
        TENON_TRY(writePlanOnce(TENON_TRY(buildPlan(network, config, progress)), threads()));
    if (!progress.stepComplete(kBuildPhase, 3))
        return cancelled();
    progress.phaseFinish(kBuildPhase);
    mReporting.log().info(fmt::format("plan: {:.1f} MiB", static_cast<double>(plan->bytes().size()) / (1 << 20)));
    return plan;
}

bool Builder::platformHasFastFp16() const noexcept
{
    return mDevice.target().rates.fastTypes.has(DType::kHALF);
}

bool Builder::platformHasFastInt8() const noexcept
{
    return mDevice.target().rates.fastTypes.has(DType::kINT8);
}

bool Builder::platformHasTf32() const noexcept
{
    return mDevice.target().rates.hasTf32;
}

int32_t Builder::getMaxDLABatchSize() const noexcept
{
    return 0;
}

int32_t Builder::getNbDLACores() const noexcept
{
    return 0;
}

void Builder::setGpuAllocator(IGpuAllocator* allocator) noexcept
{
    mAllocator = allocator;
}

IBuilderConfig* Builder::createBuilderConfig() noexcept
{
    using Made = IBuilderConfig*;
    return fenced(mReporting.log(), "IBuilder::createBuilderConfig", Made{nullptr},
        [&] { return makeHandle<IBuilderConfig, BuilderConfig>(shared_from_this()); });
}

INetworkDefinition* Builder::createNetworkV2(uint32_t flags) noexcept
{
    using Made = INetworkDefinition*;
    return fenced(mReporting.log(), "IBuilder::createNetworkV2", Made{nullptr},
        [&] { return makeHandle<INetworkDefinition, Network>(shared_from_this(), flags); });
}

IOptimizationProfile* Builder::createOptimizationProfile() noexcept
{
    using Made = IOptimizationProfile*;
    return fenced(mReporting.log(), "IBuilder::createOptimizationProfile", Made{nullptr}, [&] {
        mProfiles.push_back(std::make_unique<OptimizationProfile>(mReporting));
        return Made{mProfiles.back().get()};
    });
}

void Builder::setErrorRecorder(IErrorRecorder* recorder) noexcept
{
    mReporting.setRecorder(recorder);
}

IErrorRecorder* Builder::getErrorRecorder() const noexcept
{
    return mReporting.recorder();
}

void Builder::reset() noexcept
{
    mMaxThreads = 0;
    mMaxBatch.reset();
    mAllocator = nullptr;
}

IHostMemory* Builder::buildSerializedNetwork(INetworkDefinition& network, IBuilderConfig& config) noexcept
{
    using Made = IHostMemory*;
    return fencedBuild(
        *mDevice.device, network, config, "IBuilder::buildSerializedNetwork", Made{nullptr}, [&]() -> Result<Made> {
            std::shared_ptr<PlanMemory> const plan = TENON_TRY(build(network, config));
            return makeHandle<IHostMemory, HostMemory>(plan->bytes(), plan);
        });
}

IHostMemory* Builder::buildSerializedNetworkWithKernelText(
    INetworkDefinition& network, IBuilderConfig& config, IHostMemory*& kernelText) noexcept
{
    kernelText = nullptr; // Text is for engines of capability kSAFETY, which a build refuses.
    return buildSerializedNetwork(network, config);
}

bool Builder::isNetworkSupported(INetworkDefinition const& network, IBuilderConfig const& config) const noexcept
{
    return fencedDone(mReporting.log(), "IBuilder::isNetworkSupported", [&]() -> Result<Done> {
        GraphRequest request = graphRequest(BuilderConfig::of(config), nullptr, false);
        request.keepsAddresses = true; // Nobody reads the weights.
        TENON_TRY(Network::of(network).toGraph(request));
        return Done{};
    });
}

ILogger* Builder::getLogger() const noexcept
{
    return mReporting.log().logger();
}

void Builder::setMaxBatchSize(int32_t batchSize) noexcept
{
    if (batchSize < 1)
        mReporting.log().error(badArgument("IBuilder::setMaxBatchSize: {} is below 1", batchSize));
    else
        mMaxBatch = batchSize;
}

int32_t Builder::getMaxBatchSize() const noexcept
{
    return mMaxBatch.value_or(1);
}

bool Builder::setMaxThreads(int32_t maxThreads) noexcept
{
    if (maxThreads < 1)
        return mReporting.fail(badArgument("IBuilder::setMaxThreads: {} is below 1", maxThreads));
    mMaxThreads = maxThreads;
    return true;
}

int32_t Builder::getMaxThreads() const noexcept
{
    return std::max(mMaxThreads.load(), 1);
}

IPluginRegistry& Builder::getPluginRegistry() noexcept
{
    return mPlugins;
}

ICudaEngine* Builder::buildEngineWithConfig(INetworkDefinition& network, IBuilderConfig& config) noexcept
{
    using Made = ICudaEngine*;
    auto const make = [&]() -> Result<Made> {
        if (BuilderConfig::of(config).has(BuilderFlag::kVERSION_COMPATIBLE)) // Rule G8.
            return badConfig("BuilderFlag::kVERSION_COMPATIBLE: the flag is for plans: use buildSerializedNetwork()");
        // The engine runs in the pages that the plan was written to, for which no large ones were asked.
        std::shared_ptr<PlanMemory> const blob = TENON_TRY(build(network, config));
        LoadRequest request{
            blob->bytes(), blob, mReporting, mDevice, mAllocator, mMaxThreads, &mPlugins.plugins(), shared_from_this()};
        request.allowsHostCode = true; // It comes from this very build.
        return TENON_TRY(deserializeEngine(request));
    };
    return fencedBuild(*mDevice.device, network, config, "IBuilder::buildEngineWithConfig", Made{nullptr}, make);
}

bool Builder::buildSerializedNetworkToStream(
    INetworkDefinition& network, IBuilderConfig& config, IStreamWriter& writer) noexcept
{
    auto const write = [&]() -> Result<bool> {
        std::shared_ptr<PlanMemory> const plan = TENON_TRY(build(network, config));
        auto const size = static_cast<int64_t>(plan->bytes().size());
        int64_t const written = writer.write(plan->bytes().data(), size);
        if (written != size)
            return errorOf(ErrorCode::kFAILED_EXECUTION, "the stream writer took {} of {} bytes", written, size);
        return true;
    };
    return fencedBuild(*mDevice.device, network, config, "IBuilder::buildSerializedNetworkToStream", false, write);
}

} // namespace tenon::api
