// DeviceRun: options of the plan, bindings of a run, and faults that an observer puts into what steps have made.
#include "random/device_run.h"

#include "backend/backend_table.h"
#include "passes/runner.h"
#include "planner/planner.h"
#include "runtime/context.h"

#include <algorithm>
#include <cstring>

namespace tenon::test
{

namespace
{
using Dims = nvinfer1::Dims64;

BackendEntry const& cpuEntry()
{
    return *std::ranges::find(allBackends(), std::string_view{"cpu"}, &BackendEntry::name);
}

Dims dimsOf(std::vector<int64_t> const& extents)
{
    Dims dims{};
    for (int64_t const extent : extents)
        dims.d[dims.nbDims++] = extent;
    return dims;
}

//! Extents of a shape at an end of the symbols' ranges.
Dims endOf(Shape const& shape, SymbolTable const& symbols, bool isHigh)
{
    Dims dims{};
    for (ShapeExpr const& extent : shape)
    {
        Range const range = extent.range(symbols);
        dims.d[dims.nbDims++] = isHigh ? range.max : range.min;
    }
    return dims;
}

PlanOptions optionsOf(Graph const& graph)
{
    PlanOptions options;
    PlanProfile profile;
    for (ValueId const input : graph.inputs())
    {
        Value const& value = graph.value(input);
        auto const position = static_cast<int32_t>(options.io.size());
        Dims const low = endOf(value.type.shape, graph.symbols(), false);
        Dims const high = endOf(value.type.shape, graph.symbols(), true);
        Dims dims = high;
        for (int32_t axis = 0; axis < dims.nbDims; ++axis)
            if (low.d[axis] != high.d[axis])
                dims.d[axis] = -1;
        profile.inputs.push_back({position, low, high, high});
        options.io.push_back({.name = value.name, .dtype = value.type.dtype, .dims = dims});
    }
    for (GraphOutput const& output : graph.outputs())
    {
        TensorType const& type = graph.typeOf(output.value);
        Dims dims{type.rank(), {}};
        for (int32_t axis = 0; axis < dims.nbDims; ++axis)
            dims.d[axis] = type.shape[static_cast<size_t>(axis)].constant().value_or(-1);
        options.io.push_back({.name = output.name, .isInput = false, .dtype = type.dtype, .dims = dims});
    }
    options.profiles.push_back(std::move(profile));
    return options;
}

//! Any size that a run asks for.
class AnyOutput final : public nvinfer1::IOutputAllocator
{
  public:
    void* reallocateOutput(char const*, void*, uint64_t size, uint64_t) noexcept override
    {
        mMemory.resize(size + 1);
        return mMemory.data();
    }
    void notifyShape(char const*, Dims const& dims) noexcept override
    {
        mExtents.assign(dims.d, dims.d + std::max(dims.nbDims, 0));
    }
    HostTensor read(DType type) const
    {
        return HostTensor::fromBytes(type, mExtents, mMemory.data());
    }

  private:
    std::vector<uint8_t> mMemory;
    std::vector<int64_t> mExtents;
};

//! Real numbers become a hundredth larger; of others a hundredth are off by one.
void spoil(TensorArg const& arg, void* data)
{
    HostTensor tensor = HostTensor::fromBytes(arg.dtype, arg.extents, data);
    constexpr int64_t kEvery{100};
    for (int64_t i = 0; i < tensor.count(); ++i)
        if (tensor.isReal())
            tensor.set(i, tensor.real(i) * 1.01);
        else if (i % kEvery == tensor.count() / 2 % kEvery)
            tensor.setInteger(i, arg.dtype == DType::kBOOL ? 1 - tensor.integer(i) : tensor.integer(i) - 1);
    tensor.toBytes(data);
}

class CpuRun final : public DeviceRun
{
  public:
    CpuRun(Plan plan, std::shared_ptr<Engine> engine)
        : mPlan{std::move(plan)},
          mEngine{std::move(engine)}
    {
    }
    Plan const& plan() const noexcept override
    {
        return mPlan;
    }
    Result<std::vector<HostTensor>> run(std::vector<HostTensor> const& inputs, std::string const& faulty) override
    {
        std::unique_ptr<Context> const context = TENON_TRY(Context::create(mEngine, MemoryStrategy::kSTATIC));
        std::vector<std::vector<uint8_t>> memory;
        for (size_t i = 0; i < inputs.size(); ++i)
        {
            HostTensor const& tensor = inputs[i];
            memory.emplace_back(static_cast<size_t>(bytesOf(tensor.dtype, tensor.count())) + 1);
            tensor.toBytes(memory.back().data());
            char const* const name = mEngine->io(static_cast<int32_t>(i)).name.c_str();
            TENON_TRY(context->setInputShape(name, dimsOf(tensor.extents)));
            TENON_TRY(context->setInputAddress(name, memory.back().data()));
        }
        std::vector<AnyOutput> outputs(static_cast<size_t>(mEngine->ioCount() - mEngine->inputCount()));
        for (size_t i = 0; i < outputs.size(); ++i)
            TENON_TRY(context->setOutputAllocator(outputName(i), &outputs[i]));
        if (faulty.empty())
            TENON_TRY(context->enqueue(nullptr));
        else
            TENON_TRY(context->runObserved([&](ObservedStep const& step) {
                for (size_t i = 0; step.step->kernel == faulty && i < step.outputs.size(); ++i)
                    if (step.outputs[i].present && step.outputData[i] != nullptr)
                        spoil(step.outputs[i], step.outputData[i]);
                return true;
            }));
        std::vector<HostTensor> results;
        for (size_t i = 0; i < outputs.size(); ++i)
            results.push_back(outputs[i].read(mEngine->io(mEngine->inputCount() + static_cast<int32_t>(i)).dtype));
        return results;
    }

  private:
    char const* outputName(size_t i) const
    {
        return mEngine->io(mEngine->inputCount() + static_cast<int32_t>(i)).name.c_str();
    }

    Plan mPlan;
    std::shared_ptr<Engine> mEngine;
};
} // namespace

Result<std::unique_ptr<DeviceRun>> DeviceRun::make(Graph&& graph, DeviceOptions const& options)
{
    BackendEntry const& cpu = cpuEntry();
    Target const target = cpu.target(0);
    PlanOptions const planning = optionsOf(graph);
    OptimizeOptions optimizing;
    optimizing.limits = target.fusion;
    optimizing.fusion = options.fusion;
    optimizing.verify = true;
    TENON_TRY(optimize(graph, optimizing));
    Plan plan = TENON_TRY(makePlan(graph, cpu.backend(), target, planning));
    if (options.isStored)
    {
        auto const blob = std::make_shared<Bytes const>(TENON_TRY(writePlan(plan)));
        plan = TENON_TRY(readPlan(*blob, blob));
    }
    EngineOptions running;
    running.device = &cpu.device(0);
    running.threads = options.threads;
    std::shared_ptr<Engine> engine = TENON_TRY(Engine::create(std::make_shared<Plan const>(plan), running));
    return std::unique_ptr<DeviceRun>{std::make_unique<CpuRun>(std::move(plan), std::move(engine))};
}

} // namespace tenon::test
