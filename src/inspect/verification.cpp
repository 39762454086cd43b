// Verification: inputs, the observed run, and the comparison of each step.
#include "inspect/verification.h"

#include "base/dims.h"
#include "base/half.h"
#include "base/out_of_memory.h"
#include "inspect/step_reference.h"
#include "plan/lookup.h"
#include "runtime/context.h"
#include "runtime/device_memory.h"

#include <cmath>
#include <cstring>
#include <exception>
#include <map>
#include <random>

namespace tenon::inspect
{

namespace
{
struct Tolerance
{
    double absolute;
    double relative;
};

//! Tolerances that the user gave hold as they are.
bool isStrict(VerifyOptions const& options)
{
    return options.absolute != 0.0 || options.relative != 0.0;
}

constexpr int64_t kElementsPerEdge{1000};

Tolerance toleranceOf(DType type, VerifyOptions const& options)
{
    if (isStrict(options))
        return {options.absolute, options.relative};
    if (type == kFloat64)
        return {1e-12, 1e-12};
    switch (type)
    {
    case DType::kFLOAT: return {1e-5, 1e-4};
    case DType::kHALF: return {2.5e-3, 1e-3};
    case DType::kBF16: return {2e-2, 1e-2};
    default: return {0.0, 0.0};
    }
}

//! Where large terms cancel, a sum in float32 is off by a part of what it added up, not of what is left. Computed when
//! an element asks first.
class TermSums
{
  public:
    TermSums(StepReference& reference, ObservedStep const& step, bool isWanted)
        : mReference{reference},
          mStep{step},
          mIsOpen{isWanted}
    {
    }
    //! What rounding may make of element i of the output; 0 where the layer is no sum of products.
    double roundingOf(int64_t i)
    {
        if (mIsOpen)
            mSums = mReference.magnitudes(mStep);
        mIsOpen = false;
        double const sum = mSums && i < mSums->count() ? mSums->real(i) : 0.0;
        return std::isfinite(sum) ? kShare * sum : 0.0;
    }

  private:
    static constexpr double kShare{16.0 / (1 << 24)}; //!< Units of the last place of float32.
    StepReference& mReference;
    ObservedStep const& mStep;
    bool mIsOpen;
    std::optional<HostTensor> mSums;
};

//! Memory of one I/O tensor.
using Buffer = std::vector<uint8_t>;

Buffer randomContents(DType type, std::vector<int64_t> const& extents, std::mt19937& generator)
{
    HostTensor host{type, extents};
    std::normal_distribution<double> normal;
    std::uniform_int_distribution<int64_t> whole{0, type == DType::kBOOL ? 1 : 99};
    for (int64_t i = 0; i < host.count(); ++i)
        if (host.isReal())
            host.set(i, normal(generator));
        else
            host.setInteger(i, whole(generator));
    Buffer bytes(static_cast<size_t>(bytesOf(type, host.count())));
    host.toBytes(bytes.data());
    return bytes;
}

//! Takes any size that a run asks for.
class GrowingOutput final : public nvinfer1::IOutputAllocator
{
  public:
    void setDevice(Device& device) noexcept
    {
        mDevice = &device;
    }
    void* reallocateOutput(char const*, void*, uint64_t size, uint64_t) noexcept override
    {
        auto memory = DeviceMemory::allocate({mDevice, nullptr}, static_cast<int64_t>(size), "an output");
        if (!memory)
            return nullptr;
        mMemory = *std::move(memory);
        return mMemory.data();
    }
    void notifyShape(char const*, nvinfer1::Dims64 const&) noexcept override {}

  private:
    Device* mDevice{nullptr};
    DeviceMemory mMemory;
};

class Verifier
{
  public:
    Verifier(std::shared_ptr<Engine> engine, BackendEntry const& backend, VerifyOptions const& options)
        : mEngine{*engine},
          mOwner{std::move(engine)},
          mReference{mEngine.plan(), mEngine.weights(), backend, mEngine.device()},
          mOptions{options}
    {
    }

    Result<VerifyReport> run(std::vector<VerifyInput> const& given)
    {
        std::unique_ptr<Context> context = TENON_TRY(Context::create(mOwner, MemoryStrategy::kSTATIC));
        TENON_TRY(setInputs(*context, given));
        for (int32_t io = mEngine.inputCount(); io < mEngine.ioCount(); ++io)
        {
            mOutputs[io].setDevice(mEngine.device());
            TENON_TRY(context->setOutputAllocator(mEngine.io(io).name.c_str(), &mOutputs[io]));
        }
        bool isOver{false};
        bool isCancelled{false};
        auto const steps = static_cast<int32_t>(mEngine.program().steps.size());
        Observer const observer = [&](ObservedStep const& step) {
            mReport.steps.push_back(compareFenced(step));
            isOver = mOptions.firstOnly && mReport.first.has_value();
            isCancelled = mOptions.progress && !mOptions.progress(static_cast<int32_t>(mReport.steps.size()), steps);
            return !isOver && !isCancelled;
        };
        Result<Done> ran = context->runObserved(observer, true);
        if (isCancelled)
            return errorOf(ErrorCode::kUNSPECIFIED_ERROR, "the verification was cancelled");
        if (!ran && !isOver)
            return std::move(ran).error();
        return std::move(mReport);
    }

  private:
    Result<Done> setInputs(Context& context, std::vector<VerifyInput> const& given)
    {
        std::mt19937 generator{mOptions.seed};
        for (VerifyInput const& input : given)
            TENON_TRY(mEngine.ioOf(input.name.c_str()));
        for (int32_t io = 0; io < mEngine.inputCount(); ++io)
        {
            PlanIO const& tensor = mEngine.io(io);
            VerifyInput input{.name = tensor.name};
            for (VerifyInput const& each : given)
                if (each.name == tensor.name)
                    input = each;
            char const* name = tensor.name.c_str();
            nvinfer1::Dims64 const shape = input.shape
                ? *input.shape
                : TENON_TRY(mEngine.profileShape(name, 0, nvinfer1::OptProfileSelector::kOPT));
            TENON_TRY(context.setInputShape(name, shape));
            void const* data = input.data;
            if (data == nullptr)
            {
                mInputs[io] = TENON_TRY(contentsFor(io, shape, generator));
                data = mInputs[io].data();
            }
            if (!tensor.isShape && !mEngine.device().usesHostMemory())
                data = TENON_TRY(upload(io, bytesOf(tensor.dtype, volumeOf(extentsOf(shape))), data));
            TENON_TRY(context.setInputAddress(name, data));
        }
        return Done{};
    }

    Result<void const*> upload(int32_t io, int64_t bytes, void const* data)
    {
        DeviceMemory& memory = mUploaded[io];
        memory =
            TENON_TRY(DeviceMemory::allocate({&mEngine.device(), nullptr}, std::max<int64_t>(bytes, 1), "an input"));
        TENON_TRY(mEngine.device().copyFromHost(memory.data(), data, static_cast<size_t>(bytes), kApartStream));
        return static_cast<void const*>(memory.data());
    }

    Result<Buffer> contentsFor(int32_t io, nvinfer1::Dims64 const& shape, std::mt19937& generator)
    {
        try
        {
            return made(mEngine.io(io), shape, generator);
        }
        catch (OutOfMemory const& problem)
        {
            return errorOf(
                ErrorCode::kFAILED_ALLOCATION, "[tensor '{}'] out of memory: {}", mEngine.io(io).name, problem.what());
        }
    }

    Result<Buffer> made(PlanIO const& tensor, nvinfer1::Dims64 const& shape, std::mt19937& generator)
    {
        if (!tensor.isShape)
            return randomContents(tensor.dtype, extentsOf(shape), generator);
        std::span<int64_t const> const values =
            TENON_TRY(mEngine.profileValues(tensor.name.c_str(), 0, nvinfer1::OptProfileSelector::kOPT));
        HostTensor host{tensor.dtype, extentsOf(shape)};
        for (size_t i = 0; i < values.size(); ++i)
            host.setInteger(static_cast<int64_t>(i), values[i]);
        Buffer bytes(static_cast<size_t>(bytesOf(tensor.dtype, host.count())));
        host.toBytes(bytes.data());
        return bytes;
    }

    //! Observers run on the team, which exceptions must not leave; a plan that lies can raise them.
    VerifiedStep compareFenced(ObservedStep const& step)
    {
        try
        {
            return compare(step);
        }
        catch (std::exception const& problem)
        {
            VerifiedStep verified{.name = step.step->name};
            verified.layer = mReference.layerOf(step);
            verified.why = problem.what();
            note(step, verified, {step.index, verified.layer});
            return verified;
        }
    }

    VerifiedStep compare(ObservedStep const& step)
    {
        VerifiedStep verified{.name = step.step->name};
        verified.layer = mReference.layerOf(step);
        if (isCustom(roleOf(*step.step)))
        {
            verified.why = "a custom layer: only its author's code knows what it computes";
            return verified;
        }
        if (mReference.isRandom(step))
        {
            verified.why = "random numbers, which are others in each run";
            return verified;
        }
        if (std::optional<ValueOutOfRange> value = mReference.valueOutOfRange(step))
            mReport.outOfRange.push_back(*std::move(value));
        Result<std::vector<HostTensor>> const wanted = mReference.evaluate(step);
        if (!wanted)
        {
            verified.why = wanted.error().message;
            verified.ok = false;
            note(step, verified, {step.index, verified.layer});
            return verified;
        }
        for (size_t i = 0; i < step.outputs.size() && i < (*wanted).size(); ++i)
            compareOutput(step, i, (*wanted)[i], verified);
        if (verified.ok && roleOf(*step.step) == StepRole::kReference) // Comparing it proves nothing.
            verified.why = "its kernel is the reference itself";
        return verified;
    }

    void note(ObservedStep const&, VerifiedStep& verified, Divergence divergence)
    {
        verified.ok = false;
        if (!mReport.first)
            mReport.first = std::move(divergence);
    }

    void compareOutput(ObservedStep const& step, size_t output, HostTensor const& want, VerifiedStep& verified)
    {
        if (!step.outputs[output].present || step.outputData[output] == nullptr)
            return;
        auto const position = static_cast<int32_t>(output);
        auto const read = linearTensor(mEngine.device(), step.outputs[output], step.outputData[output]);
        if (!read)
        {
            note(step, verified, {step.index, verified.layer, position, -1, 0.0, 0.0});
            verified.why = read.error().message;
            return;
        }
        HostTensor const& got = *read;
        if (got.extents != want.extents)
        {
            note(step, verified, {step.index, verified.layer, position, -1, 0.0, 0.0});
            verified.why = "extents differ from the reference's";
            return;
        }
        Tolerance const tolerance =
            StepReference::isCopy(step) ? Tolerance{0.0, 0.0} : toleranceOf(got.dtype, mOptions);
        TermSums terms{mReference, step, output == 0 && !isStrict(mOptions)};
        // On an edge between two numbers float32 may fall to the other side; many of them do not lie on edges.
        double const edge = isStrict(mOptions) ? 0.0 : mReference.roundingStep(step);
        int64_t edges = edge > 0.0 ? got.count() / kElementsPerEdge + 1 : 0;
        for (int64_t i = 0; i < got.count(); ++i)
        {
            double const a = got.real(i);
            double const b = want.real(i);
            if (a == b || (std::isnan(a) && std::isnan(b)))
                continue;
            double const error = std::abs(a - b);
            double allowed = tolerance.absolute + tolerance.relative * std::abs(b);
            if (error > allowed)
                allowed += terms.roundingOf(i);
            if (error > allowed && error <= allowed + edge && edges-- > 0)
                continue;
            verified.maxError = std::max(verified.maxError, error);
            verified.worst = std::max(verified.worst, allowed > 0.0 ? error / allowed : INFINITY);
            if (!(error <= allowed) && verified.ok)
                note(step, verified, {step.index, verified.layer, position, i, a, b});
        }
    }

    Engine& mEngine;
    std::shared_ptr<Engine> mOwner;
    StepReference mReference;
    VerifyOptions const& mOptions;
    std::map<int32_t, Buffer> mInputs;
    std::map<int32_t, GrowingOutput> mOutputs;
    std::map<int32_t, DeviceMemory> mUploaded; //!< Inputs of devices that cannot read the host's memory.
    VerifyReport mReport;
};
} // namespace

Result<VerifyReport> verifyEngine(std::shared_ptr<Engine> engine, BackendEntry const& backend,
    std::vector<VerifyInput> const& inputs, VerifyOptions const& options)
{
    return Verifier{std::move(engine), backend, options}.run(inputs);
}

} // namespace tenon::inspect
