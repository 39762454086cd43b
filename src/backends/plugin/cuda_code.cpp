// Code of a plan for GPUs: a module each. A kernel's parameters are the addresses of the inputs, the extra arguments,
// and the addresses of the outputs; what compilers append (Triton's scratch memory) is given null.
#include "backends/plugin/cuda_code.h"

#include "backends/plugin/cuda_work.h"

#include <algorithm>

namespace tenon::custom
{

namespace
{
constexpr size_t kPlainShared{48 << 10}; //!< Bytes that a block may have without asking.
constexpr size_t kMaxAppended{4};        //!< Parameters behind those that a plugin knows of.

//! What a kernel is launched with, in this order.
struct Parameters
{
    size_t inputs{0};
    size_t arguments{0}; //!< Of type int32.
    size_t outputs{0};

    size_t count() const noexcept
    {
        return inputs + arguments + outputs;
    }
    bool isArgument(size_t index) const noexcept
    {
        return index >= inputs && index < inputs + arguments;
    }
};

//! An error where the driver would read other bytes than those that a parameter has.
Result<Done> checkBytes(Parameters const& given, size_t index, size_t bytes)
{
    size_t const has = given.isArgument(index) ? sizeof(int32_t) : sizeof(void*);
    if (bytes == has)
        return Done{};
    return badArgument("parameter {} of its kernel has {} bytes, and is given {} of {}", index, bytes,
        given.isArgument(index)    ? "an extra argument, an int32"
            : index < given.inputs ? "the address of an input"
                                   : "the address of an output",
        has);
}

//! A module of the driver's, and the kernel in it.
class GpuKernel
{
  public:
    explicit GpuKernel(CudaDevice const& device)
        : mDevice{device}
    {
    }
    ~GpuKernel()
    {
        cuda::Current const current{mDevice};
        if (mModule != nullptr)
            static_cast<void>(mDevice.api().cuModuleUnload(mModule));
    }
    GpuKernel(GpuKernel const&) = delete;
    GpuKernel& operator=(GpuKernel const&) = delete;

    Result<Done> load(CodeArg const& code, std::string const& kernel)
    {
        cuda::Current const current{mDevice};
        std::string image{reinterpret_cast<char const*>(code.bytes.data()), code.bytes.size()}; // Text ends with a 0.
        constexpr size_t kLogBytes{4096};
        std::string log(kLogBytes, '\0');
        cuda::JitOption names[]{cuda::kJitErrorLog, cuda::kJitErrorLogBytes};
        void* values[]{log.data(), reinterpret_cast<void*>(kLogBytes)};
        if (auto const status = mDevice.api().cuModuleLoadDataEx(&mModule, image.data(), 2, names, values);
            status != cuda::kSuccess)
        {
            mModule = nullptr;
            Error error = mDevice.noted(status, "cuModuleLoadDataEx").in(std::string{code.name});
            error.message += fmt::format("; it is {} for {}, and this GPU is {} {}", nameOf(code.form), code.target,
                mDevice.model().architecture(), log.c_str());
            return error;
        }
        if (auto const status = mDevice.api().cuModuleGetFunction(&mFunction, mModule, kernel.c_str());
            status != cuda::kSuccess)
            return mDevice.noted(status, fmt::format("cuModuleGetFunction of '{}'", kernel)).in(std::string{code.name});
        return Done{};
    }
    void* function() const noexcept
    {
        return mFunction;
    }
    //! Parameters that the kernel has beyond those `given`; an error where it has fewer, or of other sizes.
    Result<size_t> appended(Parameters const& given) const
    {
        if (mDevice.api().cuFuncGetParamInfo == nullptr) // Before CUDA 12.4 nobody tells.
            return size_t{0};
        cuda::Current const current{mDevice};
        size_t offset{0};
        size_t bytes{0};
        size_t count{0};
        size_t const known = given.count();
        for (; mDevice.api().cuFuncGetParamInfo(mFunction, count, &offset, &bytes) == cuda::kSuccess; ++count)
            if (count < known)
                TENON_TRY(checkBytes(given, count, bytes));
            else if (bytes != sizeof(void*) || count >= known + kMaxAppended)
                return badArgument("its kernel has more parameters than the {} that it is launched with", known);
        if (count < known)
            return badArgument("its kernel has {} parameters, and is launched with {}: the inputs, the extra "
                               "arguments, the outputs",
                count, known);
        return count - known;
    }
    //! The limit is the function's, for all shapes that are prepared: it only grows.
    Result<Done> allowShared(size_t bytes) const
    {
        std::scoped_lock const lock{mMutex};
        if (bytes <= mAllowed)
            return Done{};
        cuda::Current const current{mDevice};
        if (auto const status =
                mDevice.api().cuFuncSetAttribute(mFunction, cuda::kFunctionDynamicSharedBytes, static_cast<int>(bytes));
            status != cuda::kSuccess)
            return mDevice.noted(status, fmt::format("cuFuncSetAttribute for {} bytes of shared memory", bytes));
        mAllowed = bytes;
        return Done{};
    }

  private:
    CudaDevice const& mDevice;
    void* mModule{nullptr};
    void* mFunction{nullptr};
    mutable std::mutex mMutex; //!< Of the next one.
    mutable size_t mAllowed{kPlainShared};
};

class CudaCompiledStep final : public CudaPrepared
{
  public:
    CudaCompiledStep(
        std::shared_ptr<CompiledLayer const> layer, CompiledLaunch launch, std::shared_ptr<GpuKernel const> kernel)
        : mLayer{std::move(layer)},
          mLaunch{std::move(launch)},
          mKernel{std::move(kernel)}
    {
    }
    Result<Done> prepare()
    {
        PluginPorts const& ports = mLayer->ports;
        Parameters const given{ports.inputs, mLaunch.arguments.size(), ports.outputs};
        mAppended = TENON_TRY(mKernel->appended(given));
        if (given.count() + mAppended > kMaxParameters)
            return badArgument("its kernel has more than {} parameters", kMaxParameters);
        return mKernel->allowShared(mLaunch.sharedBytes);
    }
    bool isRepeatable() const noexcept override
    {
        return mLayer->ports.dataDependent == 0; // Sizes go to where the run at hand reads them.
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        PluginPorts const& ports = mLayer->ports;
        std::array<void const*, CustomLayer::kMaxInputs> inputs{};
        std::copy_n(at.call.inputs, ports.inputs, inputs.begin());
        TENON_TRY(takeOverOnGpu(at, mLaunch.takeOvers, inputs.data()));
        if (!mLaunch.isEmpty())
            TENON_TRY(put(at, inputs.data()));
        return tellSizes(at, ports, mLaunch.isEmpty());
    }

  private:
    static constexpr size_t kMaxParameters{512};

    Result<Done> put(CudaCall const& at, void const** inputs) const
    {
        PluginPorts const& ports = mLayer->ports;
        std::array<void*, kMaxParameters> parameters{};
        size_t count{0};
        for (size_t i = 0; i < ports.inputs; ++i)
            parameters[count++] = &inputs[i];
        for (int32_t const& argument : mLaunch.arguments)
            parameters[count++] = const_cast<int32_t*>(&argument); // Read alone.
        for (size_t i = 0; i < ports.outputs; ++i)
            parameters[count++] = const_cast<void**>(&at.call.outputs[i]);
        void* nothing{nullptr};
        for (size_t i = 0; i < mAppended; ++i)
            parameters[count++] = &nothing;
        auto const& [gridX, gridY, gridZ] = mLaunch.grid;
        auto const& [blockX, blockY, blockZ] = mLaunch.block;
        cuda::Code const code = at.api.cuLaunchKernel(mKernel->function(), gridX, gridY, gridZ, blockX, blockY, blockZ,
            static_cast<unsigned>(mLaunch.sharedBytes), at.stream, parameters.data(), nullptr);
        if (code != cuda::kSuccess)
            return at.device.noted(code, "cuLaunchKernel");
        return Done{};
    }

    std::shared_ptr<CompiledLayer const> mLayer;
    CompiledLaunch mLaunch;
    std::shared_ptr<GpuKernel const> mKernel; //!< Must outlive the run.
    size_t mAppended{0};
};

class CudaCode final : public OpenedCode
{
  public:
    explicit CudaCode(std::shared_ptr<GpuKernel const> kernel)
        : mKernel{std::move(kernel)}
    {
    }
    Result<std::shared_ptr<Prepared const>> step(
        std::shared_ptr<CompiledLayer const> layer, CompiledLaunch launch) const override
    {
        auto step = std::make_shared<CudaCompiledStep>(layer, std::move(launch), mKernel);
        if (auto ready = step->prepare(); !ready)
            return std::move(ready).error().in("plugin " + layer->ports.fields.identity().show());
        return std::shared_ptr<Prepared const>{std::move(step)};
    }

  private:
    std::shared_ptr<GpuKernel const> mKernel;
};
} // namespace

Result<std::shared_ptr<OpenedCode const>> openOnGpu(
    CudaDevice const& device, CodeArg const& code, std::string const& kernel)
{
    if (code.form == CodeForm::kHostObject)
        return badArgument("{} is a {} for {}, which no GPU runs", code.name, nameOf(code.form), code.target);
    auto loaded = std::make_shared<GpuKernel>(device);
    TENON_TRY(loaded->load(code, kernel));
    return std::shared_ptr<OpenedCode const>{std::make_shared<CudaCode>(std::move(loaded))};
}

} // namespace tenon::custom
