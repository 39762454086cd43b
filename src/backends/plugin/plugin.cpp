// Custom layers in plans: offers, kernels over a device's runner, and the tables.
#include "backends/plugin/plugin.h"

#include "backends/plugin/runner.h"
#include "plugins/cpu_body.h"

#include <optional>

namespace tenon
{

namespace custom
{
namespace
{
//! Kernel "plugin": a custom layer with an object behind it.
class ObjectKernel final : public Kernel
{
  public:
    ObjectKernel(Runner const& runner, EngineObject object)
        : mRunner{runner},
          mObject{std::move(object)}
    {
    }
    ~ObjectKernel() override
    {
        auto const inside = mRunner.inside();
        mObject.reset();
    }
    ObjectKernel(ObjectKernel const&) = delete;
    ObjectKernel& operator=(ObjectKernel const&) = delete;
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        TENON_TRY(mObject->facts().ports.check(inputs, outputs));
        return mRunner.standIn(static_cast<size_t>(mObject->facts().workspace));
    }
    Result<std::unique_ptr<Attached>> attach(ContextResources const& resources) override
    {
        return mRunner.step(*mObject, resources);
    }
    Result<std::optional<Bytes>> storedFields() override
    {
        auto const inside = mRunner.inside();
        return std::optional{TENON_TRY(mObject->storedFields())};
    }

  private:
    Runner const& mRunner;
    std::optional<EngineObject> mObject; //!< There until the end; it goes inside.
};

Result<std::unique_ptr<Kernel>> loadObject(KernelSource const& source, Runner const& runner)
{
    auto const inside = runner.inside();
    return std::unique_ptr<Kernel>{std::make_unique<ObjectKernel>(runner, TENON_TRY(EngineObject::restore(source)))};
}

//! Kernel "compiled_plugin": a custom layer whose code the plan carries.
class CompiledKernel final : public Kernel
{
  public:
    CompiledKernel(std::shared_ptr<CompiledLayer const> layer, std::shared_ptr<OpenedCode const> code)
        : mLayer{std::move(layer)},
          mCode{std::move(code)}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        return mCode->step(mLayer, TENON_TRY(launchOf(*mLayer, inputs, outputs)));
    }

  private:
    std::shared_ptr<CompiledLayer const> mLayer;
    std::shared_ptr<OpenedCode const> mCode;
};

Result<std::unique_ptr<Kernel>> loadCompiled(KernelSource const& source, Runner const& runner)
{
    CompiledLayer layer = TENON_TRY(CompiledLayer::load(source));
    auto code = TENON_TRY(runner.open(layer.code, layer.kernel().name));
    layer.code = {}; // It goes with the source.
    return std::unique_ptr<Kernel>{
        std::make_unique<CompiledKernel>(std::make_shared<CompiledLayer>(std::move(layer)), std::move(code))};
}

std::variant<std::vector<Offer>, Refusal> offerObject(Problem const& problem)
{
    if (problem.fields<CustomLayer>().kernel)
        return refuse("plugin", "the custom layer has a kernel and no object");
    return offerPorts(problem, "plugin");
}

std::variant<std::vector<Offer>, Refusal> offerCompiled(Problem const& problem)
{
    if (!problem.fields<CustomLayer>().kernel)
        return refuse("compiled_plugin", "the custom layer has an object and no kernel");
    return offerPorts(problem, "compiled_plugin");
}

//! Whose memory the work is done in, where a device has its own.
bool isHosts(CustomLayer const& fields)
{
    if (fields.kernel)
        return fields.kernel->form == CodeForm::kHostObject;
    return fields.live != nullptr && plugins::runsOnHostAlone(*fields.live);
}

using OffersOf = std::variant<std::vector<Offer>, Refusal> (*)(Problem const& problem);

template <OffersOf offers>
std::variant<std::vector<Offer>, Refusal> offerOnGpu(Problem const& problem)
{
    if (isHosts(problem.fields<CustomLayer>()))
        return refuse("enqueue on the GPU", "its body is the host's");
    return offers(problem);
}

template <OffersOf offers>
std::variant<std::vector<Offer>, Refusal> offerBesideGpu(Problem const& problem)
{
    if (!isHosts(problem.fields<CustomLayer>()))
        return refuse("enqueue on the host", "its body is the GPU's");
    return offers(problem);
}

// The node's fields say everything else.
Result<KernelSpec> buildObject(Problem const&, Offer const&)
{
    return KernelSpec{.kernel = "plugin", .args = {}, .packed = {}};
}

Result<KernelSpec> buildCompiled(Problem const& problem, Offer const&)
{
    return KernelSpec{
        .kernel = "compiled_plugin", .args = {}, .packed = {}, .code = problem.fields<CustomLayer>().kernel->code};
}

constexpr Candidate kCandidates[]{
    {.layer = CustomLayer::kName, .name = "compiled_plugin", .offers = offerCompiled, .build = buildCompiled},
    {.layer = CustomLayer::kName, .name = "plugin", .offers = offerObject, .build = buildObject},
};

constexpr Candidate kCudaCandidates[]{
    {.layer = CustomLayer::kName,
        .name = "compiled_plugin",
        .offers = offerOnGpu<offerCompiled>,
        .build = buildCompiled},
    {.layer = CustomLayer::kName, .name = "plugin", .offers = offerOnGpu<offerObject>, .build = buildObject},
};

constexpr Candidate kBesideCudaCandidates[]{
    {.layer = CustomLayer::kName,
        .name = "compiled_plugin",
        .offers = offerBesideGpu<offerCompiled>,
        .build = buildCompiled},
    {.layer = CustomLayer::kName, .name = "plugin", .offers = offerBesideGpu<offerObject>, .build = buildObject},
};

constexpr KernelEntry kHostKernels[]{
    {"compiled_plugin", [](KernelSource const& source) { return loadCompiled(source, hostRunner()); }},
    {"plugin", [](KernelSource const& source) { return loadObject(source, hostRunner()); }},
};

constexpr CudaKernelEntry kCudaKernels[]{
    {"compiled_plugin",
        [](KernelSource const& source, CudaDevice const& device) { return loadCompiled(source, cudaRunner(device)); }},
    {"plugin",
        [](KernelSource const& source, CudaDevice const& device) { return loadObject(source, cudaRunner(device)); }},
};

std::unique_ptr<Prepared> timedOnHost(plugins::TimedObject object)
{
    return hostRunner().timedStep(std::move(object));
}
} // namespace
} // namespace custom

std::span<Candidate const> pluginCandidates() noexcept
{
    return custom::kCandidates;
}

std::span<Candidate const> cudaPluginCandidates() noexcept
{
    return custom::kCudaCandidates;
}

std::span<Candidate const> besideCudaPluginCandidates() noexcept
{
    return custom::kBesideCudaCandidates;
}

std::span<KernelEntry const> hostPluginKernels() noexcept
{
    return custom::kHostKernels;
}

std::span<CudaKernelEntry const> cudaPluginKernels() noexcept
{
    return custom::kCudaKernels;
}

plugins::StepOf timedStepOf(Device const& device, plugins::Plugin& plugin)
{
    if (device.runsHostCode())
        return &custom::timedOnHost;
    return device.name() != "cuda" || plugins::runsOnHostAlone(plugin) ? nullptr : &custom::timedOnCuda;
}

} // namespace tenon
