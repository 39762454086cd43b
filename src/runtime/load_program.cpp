// loadProgram: kernels with the weights that they run on.
#include "runtime/loaded_program.h"

#include "base/step_role.h"
#include "plan/lookup.h"
#include "runtime/engine_state.h"
#include "runtime/streamed_kernel.h"

#include <algorithm>
#include <cstring>

namespace tenon
{

namespace
{
//! The user's allocator, where kernels of the host can use what it gives.
class PackedWeightMemory final : public KernelMemory
{
  public:
    explicit PackedWeightMemory(EngineOptions const& options)
        : mSource{options.device, options.allocator}
    {
        if (!options.device->usesHostMemory())
            mSource = {options.device, nullptr, nullptr, Place::kHost};
    }
    Result<std::shared_ptr<void>> allocate(size_t bytes) const override
    {
        auto memory = std::make_shared<DeviceMemory>(TENON_TRY(
            DeviceMemory::allocate(mSource, static_cast<int64_t>(bytes), "weights that are packed while loading")));
        void* const data = memory->data();
        return std::shared_ptr<void>{std::move(memory), data};
    }

  private:
    MemorySource mSource;
};

//! Ones, so that kernels which look at their weights while they are loaded find nothing wrong with them.
std::shared_ptr<void const> placeholder(DType type, uint64_t bytes)
{
    std::shared_ptr<uint8_t[]> memory{new uint8_t[bytes]()};
    auto const fill = [&](auto one) {
        for (uint64_t at = 0; at + sizeof(one) <= bytes; at += sizeof(one))
            std::memcpy(memory.get() + at, &one, sizeof(one));
    };
    if (type == DType::kFLOAT)
        fill(1.0F);
    else if (type == DType::kHALF)
        fill(uint16_t{0x3C00});
    else if (type == DType::kBF16)
        fill(uint16_t{0x3F80});
    return memory;
}

class ProgramLoader
{
  public:
    ProgramLoader(EngineState const& engine, std::vector<PlanWeight> weights, LoadedProgram const* before)
        : mEngine{engine},
          mPlan{*engine.plan},
          mProgram{*engine.program},
          mBefore{before},
          mMemory{std::make_shared<PackedWeightMemory>(engine.options)}
    {
        mMade.weights = std::move(weights);
        mMade.generation = before == nullptr ? 0 : before->generation + 1;
    }

    Result<std::shared_ptr<LoadedProgram const>> load()
    {
        for (PlanWeight& weight : mMade.weights)
            if (weight.isStripped())
            {
                weight.owner = placeholder(weight.dtype, weight.bytes);
                weight.data = weight.owner.get();
                mMade.lacking.push_back(&weight - mMade.weights.data());
            }
        TENON_TRY(pageWeights());
        TENON_TRY(loadWeights());
        TENON_TRY(loadKernels());
        for (size_t i = 0; i < mMade.pages.size(); ++i)
            if (mMade.pages[i] != nullptr) // Kernels may have looked at it.
                mMade.pages[i]->drop(mMade.weights[i].data, mMade.weights[i].bytes);
        return std::shared_ptr<LoadedProgram const>{std::make_shared<LoadedProgram>(std::move(mMade))};
    }

  private:
    //! Which weights the program reads on the device; others are there for the portable graph alone, or for the host.
    std::vector<bool> namedWeights() const
    {
        std::vector<bool> named(mMade.weights.size(), false);
        for (PlanStep const& step : mProgram.steps)
            for (int32_t const input : step.inputs)
                if (input >= 0 && place(input).kind == PlanTensorKind::kWeight
                    && mProgram.tensors[asSize(input)].place == Place::kDevice)
                    named[asSize(place(input).index)] = true;
        return named;
    }

    //! Streamed weights lie where the plan does, or, where a refit or a planner made them, in pages of their own.
    Result<Done> pageWeights()
    {
        if (mEngine.weightBudget == nullptr)
            return Done{};
        mMade.pages.resize(mMade.weights.size());
        for (size_t i = 0; i < mMade.weights.size(); ++i)
        {
            PlanWeight& weight = mMade.weights[i];
            if (!mEngine.weightBudget->isStreamable(i))
                continue;
            if (mPlan.pages != nullptr && mPlan.pages->holds(weight.data))
                mMade.pages[i] = mPlan.pages;
            else if (mBefore != nullptr && mBefore->weights[i].data == weight.data)
                mMade.pages[i] = mBefore->pages[i];
            else
            {
                ByteView const given{static_cast<uint8_t const*>(weight.data), weight.bytes};
                auto const pages = TENON_TRY(pagedCopy(given, mEngine.options.temporaryFolder));
                weight.data = pages->bytes().data();
                weight.owner = mMade.pages[i] = pages;
            }
        }
        return Done{};
    }

    //! Null: all that the step reads stays.
    std::shared_ptr<StreamedWeights const> streamedBy(PlanStep const& step) const
    {
        std::vector<StreamedWeights::Part> parts;
        for (int32_t const input : step.inputs)
        {
            if (input < 0 || place(input).kind != PlanTensorKind::kWeight || mEngine.weightBudget == nullptr)
                continue;
            size_t const index = asSize(place(input).index);
            PlanWeight const& weight = mMade.weights[index];
            if (mEngine.weightBudget->isStreamable(index))
                parts.push_back({index, mMade.pages[index], weight.data, weight.bytes});
        }
        if (parts.empty())
            return nullptr;
        return std::make_shared<StreamedWeights>(
            *mEngine.weightBudget, std::move(parts), mEngine.options.temporaryFolder, mMemory);
    }

    //! Where they lie when kernels can read that, else in one piece of the device's memory.
    Result<Done> loadWeights()
    {
        Device& device = mEngine.device();
        std::vector<bool> const named = namedWeights();
        auto const alignment = static_cast<uint64_t>(device.alignment());
        std::vector<uint64_t> offsets;
        uint64_t bytes{0};
        for (size_t i = 0; i < named.size(); ++i)
        {
            offsets.push_back(bytes);
            if (named[i])
                bytes += (std::max<uint64_t>(mMade.weights[i].bytes, 1) + alignment - 1) / alignment * alignment;
        }
        if (!device.usesHostMemory())
            mMade.uploaded = TENON_TRY(DeviceMemory::allocate(
                {&device, mEngine.options.allocator}, static_cast<int64_t>(bytes), "the weights"));
        for (size_t i = 0; i < named.size(); ++i)
        {
            PlanWeight const& weight = mMade.weights[i];
            void const* address = named[i] ? weight.data : nullptr;
            if (named[i] && !device.usesHostMemory())
            {
                void* const to = static_cast<char*>(mMade.uploaded.data()) + offsets[i];
                TENON_TRY(device.copyFromHost(to, weight.data, weight.bytes, kApartStream));
                address = to;
            }
            mMade.addresses.push_back(address);
        }
        return Done{};
    }

    Result<Done> loadKernels()
    {
        // With symbols anywhere, what is known now is constant.
        std::vector<Span> const any(mProgram.symbols.size(), Span{INT64_MIN, INT64_MAX});
        std::vector<uint8_t> const given(mProgram.symbols.size(), 1);
        std::vector<Span> const registers = evaluateAll(mEngine, any, DataSymbols::kAnywhere, given);
        for (PlanCode const& code : mPlan.code)
            mCode.push_back({code.name, code.form, code.target, {static_cast<uint8_t const*>(code.data), code.bytes}});
        for (PlanStep const& step : mProgram.steps)
        {
            if (mBefore != nullptr && keeps(step))
            {
                mMade.kernels.push_back(mBefore->kernels[mMade.kernels.size()]);
                continue;
            }
            KernelSource source{step.kernel, step.args, {}, step.outputs.size(), step.name, step.produces.size()};
            if (step.graphNode >= 0)
                source.fields = mPlan.graph.nodes[asSize(step.graphNode)].fields;
            source.plugins = mEngine.options.plugins;
            source.place = step.place;
            std::shared_ptr<StreamedWeights const> const weights = streamedBy(step);
            source.memory = weights != nullptr ? weights : mMemory;
            source.code = step.code < 0 ? nullptr : &mCode[asSize(step.code)];
            for (int32_t const input : step.inputs)
                source.weights.push_back(weightArg(input, registers));
            auto kernel = mEngine.device().load(source);
            if (!kernel)
                return std::move(kernel).error().in("[layer '" + step.name + "']");
            if (weights != nullptr)
                mMade.kernels.push_back(streamed(*std::move(kernel), weights));
            else
                mMade.kernels.push_back(*std::move(kernel));
        }
        return Done{};
    }

    //! Kernels of custom layers hold objects that contexts have copies of; others go with their weights.
    bool keeps(PlanStep const& step) const
    {
        return isCustom(roleOf(step)) || std::ranges::none_of(step.inputs, [&](int32_t tensor) {
            if (tensor < 0 || place(tensor).kind != PlanTensorKind::kWeight)
                return false;
            size_t const weight = asSize(place(tensor).index);
            return mBefore->weights[weight].data != mMade.weights[weight].data;
        });
    }

    //! Empty for operands that are not constants, and for views of constants whose extents are not constant.
    WeightArg weightArg(int32_t tensor, std::vector<Span> const& registers) const
    {
        if (tensor < 0 || place(tensor).kind != PlanTensorKind::kWeight)
            return {};
        PlanWeight const& weight = mMade.weights[asSize(place(tensor).index)];
        PlanTensor const& view = mProgram.tensors[asSize(tensor)];
        WeightArg arg{weight.data, weight.bytes, view.dtype, {}, weight.packing};
        for (int32_t const reg : view.extents)
        {
            if (!registers[asSize(reg)].isKnown())
                return {};
            arg.extents.push_back(registers[asSize(reg)].lo);
        }
        int64_t const bytes = bytesOf(arg.dtype, view.layout, arg.extents);
        bool const fits = bytes >= 0 && static_cast<uint64_t>(bytes) <= weight.bytes;
        bool const same = arg.extents == weight.extents;
        return (weight.packing.empty() ? fits : same) ? arg : WeightArg{};
    }

    TensorPlace const& place(int32_t tensor) const
    {
        return mEngine.places[asSize(tensor)];
    }

    EngineState const& mEngine;
    Plan const& mPlan;
    Program const& mProgram;
    LoadedProgram const* mBefore;
    LoadedProgram mMade;
    std::vector<CodeArg> mCode;
    std::shared_ptr<KernelMemory const> mMemory;
};
} // namespace

Result<std::shared_ptr<LoadedProgram const>> loadProgram(
    EngineState const& engine, std::vector<PlanWeight> weights, LoadedProgram const* before)
{
    return ProgramLoader{engine, std::move(weights), before}.load();
}

} // namespace tenon
