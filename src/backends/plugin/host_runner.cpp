// The host's runner: enqueue() or the CPU's body of an object, and code of a plan loaded into this process.
#include "backends/plugin/runner.h"
#include "device/host/host_kernel.h"
#include "device/user_code.h"
#include "plugins/cpu_body.h"
#include "plugins/kernel_code.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tenon::custom
{

namespace
{
//! `given` has the addresses of the inputs, and gets those that the layer works on.
void takeOver(std::span<TakeOver const> all, void* const* outputs, void const** given)
{
    for (TakeOver const& each : all)
    {
        void* const shared = outputs[each.output];
        if (shared != given[each.input])
            std::memmove(shared, given[each.input], each.bytes);
        given[each.input] = shared;
    }
}

//! What the layer has written to a size tensor.
int64_t sizeAt(Call const& call, PluginPorts const& ports, size_t i)
{
    void const* const at = call.outputs[ports.fields.sizeOutputs[i]];
    return ports.isWideSize(i) ? *static_cast<int64_t const*>(at) : *static_cast<int32_t const*>(at);
}

class HostStandIn final : public HostPrepared
{
  public:
    explicit HostStandIn(size_t workspace)
        : mWorkspace{workspace}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mWorkspace;
    }
    bool isCollective() const noexcept override
    {
        return false;
    }
    Result<Done> run(Call const&, Lane const&) const override
    {
        return errorOf(ErrorCode::kINTERNAL_ERROR, "a plugin runs in a context only");
    }

  private:
    size_t mWorkspace;
};

class HostObjectStep final : public HostPrepared, public Attached
{
  public:
    explicit HostObjectStep(ContextObject object)
        : mObject{std::move(object)},
          mBody{plugins::findCpuBody(mObject.plugin())},
          mInputs(mObject.ports().inputs + 1, nullptr)
    {
    }
    Prepared const& prepared() const noexcept override
    {
        return *this;
    }
    Result<Done> reshape(std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) override
    {
        UserCode const inside{*this};
        return mObject.reshape(inputs, outputs);
    }
    bool hearsAddresses() const noexcept override
    {
        return mObject.hearsAddresses();
    }
    bool isCollective() const noexcept override
    {
        return false;
    }
    Result<Done> run(Call const& call, Lane const&) const override
    {
        PluginPorts const& ports = mObject.ports();
        std::copy_n(call.inputs, ports.inputs, mInputs.begin());
        takeOver(mObject.takeOvers(), call.outputs, mInputs.data());
        plugins::Work const work{mInputs.data(), call.outputs, call.scratch, static_cast<cudaStream_t>(call.stream)};
        UserCode const inside{*this};
        TENON_TRY(
            plugins::runOnHost(mBody, mObject.plugin(), mObject.descs(), static_cast<int32_t>(ports.inputs), work));
        for (size_t i = 0; i < ports.dataDependent; ++i)
            call.produced[i] = sizeAt(call, ports, i);
        return Done{};
    }

  private:
    ContextObject mObject;
    CpuBody mBody;                            //!< Null: the plugin's own enqueue().
    mutable std::vector<void const*> mInputs; //!< Of the run at hand; a context runs one at a time.
};

class HostTimedStep final : public HostPrepared
{
  public:
    explicit HostTimedStep(plugins::TimedObject object)
        : mObject{std::move(object)},
          mBody{plugins::findCpuBody(mObject.plugin)}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mObject.workspace;
    }
    bool isCollective() const noexcept override
    {
        return false;
    }
    Result<Done> run(Call const& call, Lane const&) const override
    {
        plugins::TimingPhase const phase;
        return plugins::runOnHost(mBody, mObject.plugin, mObject.descs, mObject.inputs,
            {call.inputs, call.outputs, call.scratch, static_cast<cudaStream_t>(call.stream)});
    }

  private:
    plugins::TimedObject mObject;
    CpuBody mBody;
};

class HostCompiledStep final : public HostPrepared
{
  public:
    HostCompiledStep(std::shared_ptr<CompiledLayer const> layer, CompiledLaunch launch,
        std::shared_ptr<plugins::KernelCode const> code, tenon_kernel function)
        : mLayer{std::move(layer)},
          mLaunch{std::move(launch)},
          mCode{std::move(code)},
          mFunction{function}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mLaunch.sharedBytes;
    }
    bool isCollective() const noexcept override
    {
        return false;
    }
    Result<Done> run(Call const& call, Lane const&) const override
    {
        PluginPorts const& ports = mLayer->ports;
        std::array<void const*, CustomLayer::kMaxInputs> inputs{};
        std::copy_n(call.inputs, ports.inputs, inputs.begin());
        takeOver(mLaunch.takeOvers, call.outputs, inputs.data());
        if (!mLaunch.isEmpty())
        {
            tenon_launch const launch = launchWith(call.scratch);
            mFunction(&launch, inputs.data(), call.outputs, mLaunch.arguments.data());
        }
        for (size_t i = 0; i < ports.dataDependent; ++i)
        {
            if (mLaunch.isEmpty())
                std::memset(call.outputs[ports.fields.sizeOutputs[i]], 0,
                    ports.isWideSize(i) ? sizeof(int64_t) : sizeof(int32_t));
            call.produced[i] = sizeAt(call, ports, i);
        }
        return Done{};
    }

  private:
    tenon_launch launchWith(void* scratch) const
    {
        tenon_launch launch{};
        std::ranges::copy(mLaunch.grid, launch.grid);
        std::ranges::copy(mLaunch.block, launch.block);
        launch.shared_bytes = mLaunch.sharedBytes;
        launch.shared = mLaunch.sharedBytes == 0 ? nullptr : scratch;
        return launch;
    }

    std::shared_ptr<CompiledLayer const> mLayer;
    CompiledLaunch mLaunch;
    std::shared_ptr<plugins::KernelCode const> mCode; //!< Must outlive the run.
    tenon_kernel mFunction;
};

class HostCode final : public OpenedCode
{
  public:
    HostCode(std::shared_ptr<plugins::KernelCode const> code, tenon_kernel function)
        : mCode{std::move(code)},
          mFunction{function}
    {
    }
    Result<std::shared_ptr<Prepared const>> step(
        std::shared_ptr<CompiledLayer const> layer, CompiledLaunch launch) const override
    {
        return std::shared_ptr<Prepared const>{
            std::make_shared<HostCompiledStep>(std::move(layer), std::move(launch), mCode, mFunction)};
    }

  private:
    std::shared_ptr<plugins::KernelCode const> mCode;
    tenon_kernel mFunction;
};

class HostRunner final : public Runner
{
  public:
    std::unique_ptr<Inside const> inside() const override
    {
        return nullptr;
    }
    std::shared_ptr<Prepared const> standIn(size_t workspace) const override
    {
        return std::make_shared<HostStandIn>(workspace);
    }
    Result<std::unique_ptr<Attached>> step(EngineObject& object, ContextResources const& resources) const override
    {
        return std::unique_ptr<Attached>{
            std::make_unique<HostObjectStep>(TENON_TRY(object.attach(resources, plugins::LibraryHandles{})))};
    }
    std::unique_ptr<Prepared> timedStep(plugins::TimedObject object) const override
    {
        return std::make_unique<HostTimedStep>(std::move(object));
    }
    Result<std::shared_ptr<OpenedCode const>> open(CodeArg const& code, std::string const& kernel) const override
    {
        if (code.form != CodeForm::kHostObject)
            return badArgument("{} is a {} for {}, which no CPU runs", code.name, nameOf(code.form), code.target);
        auto opened = plugins::KernelCode::load(code.bytes);
        if (!opened)
            return std::move(opened).error().in(std::string{code.name});
        auto const function = (*opened)->function(kernel);
        if (!function)
            return Error{function.error()}.in(std::string{code.name});
        return std::shared_ptr<OpenedCode const>{std::make_shared<HostCode>(*std::move(opened), *function)};
    }
};
} // namespace

Runner const& hostRunner() noexcept
{
    static HostRunner const only;
    return only;
}

} // namespace tenon::custom
