// Kernels of the toy device.
#include "support/toy_device.h"

#include "device/host/host_kernel.h"

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <new>

namespace tenon::test
{

namespace
{
using Args = std::span<TensorArg const>;

int64_t countOf(TensorArg const& arg)
{
    int64_t count{1};
    for (int64_t const extent : arg.extents)
        count *= extent;
    return count;
}

bool isPlain(TensorArg const& arg, DType dtype)
{
    return arg.present && arg.dtype == dtype && arg.layout == Layout::kLinear;
}

Result<Done> runNegate(Call const& call, int64_t count, float)
{
    for (int64_t i = 0; i < count; ++i)
        static_cast<int32_t*>(call.outputs[0])[i] = -static_cast<int32_t const*>(call.inputs[0])[i];
    return Done{};
}

class Pointwise final : public HostPrepared
{
  public:
    using Function = Result<Done> (*)(Call const& call, int64_t count, float factor);
    Pointwise(Function function, int64_t count, float factor)
        : mFunction{function},
          mCount{count},
          mFactor{factor}
    {
        ++ToyDevice::livePrepared();
    }
    ~Pointwise() override
    {
        --ToyDevice::livePrepared();
    }
    bool isCollective() const noexcept override
    {
        return false;
    }
    size_t scratchBytes() const noexcept override
    {
        return mFunction == &runNegate ? 0 : 80; // No multiple of the alignment, and none.
    }
    Result<Done> run(Call const& call, Lane const&) const override
    {
        if (size_t const bytes = scratchBytes(); bytes > 0)
            std::memset(call.scratch, 0x5A, bytes); // Scratch must be ours to write.
        return mFunction(call, mCount, mFactor);
    }

  private:
    Function mFunction;
    int64_t mCount;
    float mFactor;
};

Result<Done> runAdd(Call const& call, int64_t count, float)
{
    auto const* a = static_cast<float const*>(call.inputs[0]);
    auto const* b = static_cast<float const*>(call.inputs[1]);
    for (int64_t i = 0; i < count; ++i)
        static_cast<float*>(call.outputs[0])[i] = a[i] + b[i];
    return Done{};
}

Result<Done> runScale(Call const& call, int64_t count, float factor)
{
    for (int64_t i = 0; i < count; ++i)
        static_cast<float*>(call.outputs[0])[i] = static_cast<float const*>(call.inputs[0])[i] * factor;
    return Done{};
}

Result<Done> runNonZero(Call const& call, int64_t count, float)
{
    auto* const out = static_cast<int32_t*>(call.outputs[0]);
    int64_t found{0};
    for (int64_t i = 0; i < count; ++i)
        if (static_cast<float const*>(call.inputs[0])[i] != 0.0F)
            out[found++] = static_cast<int32_t>(i);
    call.produced[0] = found;
    return Done{};
}

Result<Done> runFail(Call const&, int64_t, float)
{
    return badArgument("this kernel always fails");
}

Result<Done> runFailingAdd(Call const& call, int64_t count, float factor)
{
    TENON_TRY(runAdd(call, count, factor));
    return runFail(call, count, factor);
}

struct GateState
{
    std::mutex mutex;
    std::condition_variable changed;
    bool isShut{false};
    bool isReached{false};
};

GateState& gate()
{
    static GateState state;
    return state;
}

Result<Done> runWait(Call const& call, int64_t count, float)
{
    std::unique_lock lock{gate().mutex};
    gate().isReached = true;
    gate().changed.notify_all();
    gate().changed.wait(lock, [] { return !gate().isShut; });
    return runScale(call, count, 1.0F);
}

struct Spec
{
    std::string_view name;
    Pointwise::Function function;
    size_t inputs;
    DType in;
    DType out;
    bool produces{false};
};

constexpr Spec kSpecs[]{
    {"add", runAdd, 2, DType::kFLOAT, DType::kFLOAT},
    {"scale", runScale, 1, DType::kFLOAT, DType::kFLOAT},
    {"nonzero", runNonZero, 1, DType::kFLOAT, DType::kINT32, true},
    {"negate", runNegate, 1, DType::kINT32, DType::kINT32},
    {"fail", runFail, 1, DType::kFLOAT, DType::kFLOAT},
    {"failing_add", runFailingAdd, 2, DType::kFLOAT, DType::kFLOAT},
    {"wait", runWait, 1, DType::kFLOAT, DType::kFLOAT},
};

class ToyKernel final : public Kernel
{
  public:
    ToyKernel(Spec const& spec, float factor)
        : mSpec{spec},
          mFactor{factor}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(Args inputs, Args outputs, int32_t) const override
    {
        ++ToyDevice::prepareCount();
        if (inputs.size() != mSpec.inputs || outputs.size() != 1 || !isPlain(outputs[0], mSpec.out))
            return badArgument("{} wants {} inputs and one output of its type", mSpec.name, mSpec.inputs);
        for (TensorArg const& input : inputs)
            if (!isPlain(input, mSpec.in) || countOf(input) != countOf(outputs[0])
                || (!mSpec.produces && input.extents != outputs[0].extents))
                return badArgument("{} wants operands of one shape", mSpec.name);
        return std::shared_ptr<Prepared const>{
            std::make_shared<Pointwise>(mSpec.function, countOf(outputs[0]), mFactor)};
    }

  private:
    Spec const& mSpec;
    float mFactor;
};

//! Writes values that stand in the shape program.
class ShapeValues final : public Kernel
{
  public:
    class Ready final : public HostPrepared
    {
      public:
        explicit Ready(std::vector<int64_t> values)
            : mValues{std::move(values)}
        {
        }
        bool isCollective() const noexcept override
        {
            return false;
        }
        Result<Done> run(Call const& call, Lane const&) const override
        {
            std::memcpy(call.outputs[0], mValues.data(), mValues.size() * sizeof(int64_t));
            return Done{};
        }

      private:
        std::vector<int64_t> mValues;
    };

    Result<std::shared_ptr<Prepared const>> prepare(Args inputs, Args outputs, int32_t) const override
    {
        ++ToyDevice::prepareCount();
        if (inputs.size() != 1 || outputs.size() != 1 || !isPlain(outputs[0], DType::kINT64)
            || outputs[0].extents != std::vector<int64_t>{static_cast<int64_t>(inputs[0].extents.size())})
            return badArgument("shape_values wants a list and room for it");
        return std::shared_ptr<Prepared const>{std::make_shared<Ready>(inputs[0].extents)};
    }
};
} // namespace

std::atomic<int64_t>& ToyDevice::livePrepared()
{
    static std::atomic<int64_t> count{0};
    return count;
}

void KernelGate::shut()
{
    std::scoped_lock const lock{gate().mutex};
    gate().isShut = true;
    gate().isReached = false;
}

void KernelGate::open()
{
    std::scoped_lock const lock{gate().mutex};
    gate().isShut = false;
    gate().changed.notify_all();
}

void KernelGate::awaitKernel()
{
    std::unique_lock lock{gate().mutex};
    gate().changed.wait(lock, [] { return gate().isReached; });
}

std::atomic<int64_t>& ToyDevice::prepareCount()
{
    static std::atomic<int64_t> count{0};
    return count;
}

void* ToyDevice::allocate(size_t bytes) noexcept
{
    constexpr size_t kHead{64}; // Holds the size.
    auto* const memory = static_cast<char*>(::operator new (bytes + kHead, std::align_val_t{64}, std::nothrow));
    if (memory == nullptr)
        return nullptr;
    std::memcpy(memory, &bytes, sizeof(bytes));
    liveBytes += static_cast<int64_t>(bytes);
    return memory + kHead;
}

void ToyDevice::release(void* memory) noexcept
{
    auto* const head = static_cast<char*>(memory) - 64;
    size_t bytes{0};
    std::memcpy(&bytes, head, sizeof(bytes));
    liveBytes -= static_cast<int64_t>(bytes);
    ::operator delete (head, std::align_val_t{64});
}

Result<std::unique_ptr<Kernel>> ToyDevice::load(KernelSource const& source) const
{
    if (source.outputs != 1)
        return badArgument("kernel '{}' has one output", source.kernel);
    if (source.kernel == "shape_values")
        return std::unique_ptr<Kernel>{std::make_unique<ShapeValues>()};
    float factor{1.0F};
    if (!source.args.empty())
    {
        ByteReader in{source.args};
        TENON_TRY(in.raw(factor));
    }
    if (source.code != nullptr)
        factor = source.code->bytes.front();
    for (Spec const& spec : kSpecs)
        if (spec.name == source.kernel)
            return std::unique_ptr<Kernel>{std::make_unique<ToyKernel>(spec, factor)};
    return badArgument("the toy device has no kernel '{}'", source.kernel);
}

Result<Done> ToyDevice::runNow(std::span<Launch const> launches, RunOptions const& options, RunFailure& failure)
{
    PacedCheck check{options.mayContinue};
    for (Launch const& launch : launches)
    {
        auto done = hostPrepared(*launch.prepared).runAlone(launch.call);
        if (!done)
        {
            failure = {launch.step, done.error()};
            return done;
        }
        if (options.observer != nullptr && !(*options.observer)(launch, 1.0))
            break;
        if (check.mustStop())
            return errorOf(ErrorCode::kFAILED_EXECUTION, "the run was cancelled");
    }
    return Done{};
}

} // namespace tenon::test
