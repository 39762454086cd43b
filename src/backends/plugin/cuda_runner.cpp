// CUDA's runner: enqueue() with the GPU's memory and the run's stream, called by the thread that puts the run there.
#include "backends/plugin/cuda_code.h"
#include "backends/plugin/cuda_handles.h"
#include "backends/plugin/cuda_work.h"
#include "backends/plugin/runner.h"
#include "device/user_code.h"
#include "plugins/cpu_body.h"

#include <algorithm>
#include <map>
#include <optional>

namespace tenon::custom
{

namespace
{
class CudaStandIn final : public CudaPrepared
{
  public:
    explicit CudaStandIn(size_t workspace)
        : mWorkspace{workspace}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mWorkspace;
    }
    Result<Done> launch(CudaCall const&) const override
    {
        return errorOf(ErrorCode::kINTERNAL_ERROR, "a plugin runs in a context only");
    }

  private:
    size_t mWorkspace;
};

class CudaObjectStep final : public CudaPrepared, public Attached
{
  public:
    CudaObjectStep(CudaDevice const& device, std::shared_ptr<CudaHandles const> handles, ContextObject object)
        : mDevice{device},
          mHandles{std::move(handles)},
          mObject{std::move(object)},
          mInputs(mObject->ports().inputs + 1, nullptr)
    {
    }
    ~CudaObjectStep() override
    {
        cuda::Current const current{mDevice};
        mObject.reset();
    }
    CudaObjectStep(CudaObjectStep const&) = delete;
    CudaObjectStep& operator=(CudaObjectStep const&) = delete;
    Prepared const& prepared() const noexcept override
    {
        return *this;
    }
    Result<Done> reshape(std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) override
    {
        UserCode const inside{*this};
        cuda::Current const current{mDevice};
        return mObject->reshape(inputs, outputs);
    }
    bool hearsAddresses() const noexcept override
    {
        return mObject->hearsAddresses();
    }
    bool isRepeatable() const noexcept override
    {
        return false; // It is the user's, who counts on being called.
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        PluginPorts const& ports = mObject->ports();
        std::copy_n(at.call.inputs, ports.inputs, mInputs.begin());
        TENON_TRY(takeOverOnGpu(at, mObject->takeOvers(), mInputs.data()));
        {
            UserCode const inside{*this};
            plugins::OnGpu const there{at.device.index()};
            TENON_TRY(plugins::runItself(mObject->plugin(),
                {mInputs.data(), at.call.outputs, at.call.scratch, static_cast<cudaStream_t>(at.stream)}));
        }
        return tellSizes(at, ports, false);
    }

  private:
    CudaDevice const& mDevice;
    std::shared_ptr<CudaHandles const> mHandles; //!< The object may use them until it is gone. Null: it gets none.
    std::optional<ContextObject> mObject;        //!< There until the end; it goes while its GPU is current.
    mutable std::vector<void const*> mInputs;    //!< Of the run at hand; a context runs one at a time.
};

class CudaTimedStep final : public CudaPrepared
{
  public:
    explicit CudaTimedStep(plugins::TimedObject object)
        : mObject{std::move(object)}
    {
    }
    size_t scratchBytes() const noexcept override
    {
        return mObject.workspace;
    }
    bool isRepeatable() const noexcept override
    {
        return false;
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        plugins::TimingPhase const phase;
        plugins::OnGpu const there{at.device.index()};
        return plugins::runItself(
            mObject.plugin, {at.call.inputs, at.call.outputs, at.call.scratch, static_cast<cudaStream_t>(at.stream)});
    }

  private:
    plugins::TimedObject mObject;
};

class InsideCuda final : public Inside
{
  public:
    explicit InsideCuda(CudaDevice const& device)
        : mCurrent{device}
    {
    }

  private:
    cuda::Current mCurrent;
};

//! Generations that are given handles of libraries.
constexpr bool getsHandles(plugins::Generation generation) noexcept
{
    return generation != plugins::Generation::kV2 && generation != plugins::Generation::kV3;
}

class CudaRunner final : public Runner
{
  public:
    explicit CudaRunner(CudaDevice const& device)
        : mDevice{device}
    {
    }
    std::unique_ptr<Inside const> inside() const override
    {
        return std::make_unique<InsideCuda>(mDevice);
    }
    std::shared_ptr<Prepared const> standIn(size_t workspace) const override
    {
        return std::make_shared<CudaStandIn>(workspace);
    }
    Result<std::unique_ptr<Attached>> step(EngineObject& object, ContextResources const& resources) const override
    {
        cuda::Current const current{mDevice}; // Plugins make what they need of the GPU.
        std::shared_ptr<CudaHandles const> handles;
        if (getsHandles(object.facts().ports.fields.generation))
            handles = TENON_TRY(CudaHandles::of(mDevice, resources));
        ContextObject copy =
            TENON_TRY(object.attach(resources, handles == nullptr ? plugins::LibraryHandles{} : handles->all()));
        return std::unique_ptr<Attached>{
            std::make_unique<CudaObjectStep>(mDevice, std::move(handles), std::move(copy))};
    }
    std::unique_ptr<Prepared> timedStep(plugins::TimedObject object) const override
    {
        return timedOnCuda(std::move(object));
    }
    Result<std::shared_ptr<OpenedCode const>> open(CodeArg const& code, std::string const& kernel) const override
    {
        return openOnGpu(mDevice, code, kernel);
    }

  private:
    CudaDevice const& mDevice;
};
} // namespace

std::unique_ptr<Prepared> timedOnCuda(plugins::TimedObject object)
{
    return std::make_unique<CudaTimedStep>(std::move(object));
}

Runner const& cudaRunner(CudaDevice const& device)
{
    static std::mutex mutex;
    static auto* const all = new std::map<CudaDevice const*, CudaRunner>; // As long as devices: until the process ends.
    std::scoped_lock const lock{mutex};
    return all->try_emplace(&device, device).first->second;
}

} // namespace tenon::custom
