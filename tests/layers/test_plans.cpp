// Every case of every layer kind as a plan of each backend, saved and loaded again, with static and with dynamic
// extents: golden values from what the runtime runs.
#include "backend/backend_table.h"
#include "devices/guarded/guarded_device.h"
#include "planner/planner.h"
#include "runtime/context.h"
#include "support/cases.h"
#include "support/device.h"

#include <map>

#include <gtest/gtest.h>

namespace tenon::test
{
namespace
{

using Dims = nvinfer1::Dims64;

constexpr int64_t kSlack{5}; //!< A dynamic extent may grow by this.

Dims dimsOf(std::vector<int64_t> const& extents)
{
    Dims dims{};
    for (int64_t const extent : extents)
        dims.d[dims.nbDims++] = extent;
    return dims;
}

//! A graph of the one layer, and what a plan of it needs to know.
class CaseGraph
{
  public:
    //! `isDynamic`: the first extent of every input that the build does not know is a symbol.
    CaseGraph(LayerCase const& one, bool isDynamic)
    {
        PlanProfile profile;
        std::vector<ValueId> operands;
        for (std::optional<CaseInput> const& input : one.inputs)
        {
            std::string const name = fmt::format("input{}", operands.size());
            if (!input)
                operands.push_back(kNone);
            else if (input->isConstant)
                operands.push_back(mGraph.addConstant(name, input->tensor.toConstant()));
            else
                operands.push_back(addInput(name, input->tensor, isDynamic, profile));
        }
        Result<NodeId> const node = mGraph.addNode(one.layer, one.name, operands);
        if (!node)
        {
            mProblem = node.error().message;
            return;
        }
        addOutputs(mGraph.node(*node));
        mOptions.profiles.push_back(std::move(profile));
    }

    Result<Plan> plan(BackendEntry const& backend) const
    {
        if (!mProblem.empty())
            return badArgument("{}", mProblem);
        return makePlan(mGraph, backend.backend(), backend.target(0), mOptions);
    }
    bool isRefused() const noexcept
    {
        return !mProblem.empty();
    }

  private:
    ValueId addInput(std::string const& name, HostTensor const& tensor, bool isDynamic, PlanProfile& profile)
    {
        TensorType type{tensor.dtype, shapeOf(tensor.extents)};
        auto const position = static_cast<int32_t>(mOptions.io.size());
        Dims dims = dimsOf(tensor.extents);
        Dims low = dims;
        Dims high = dims;
        if (isDynamic && dims.nbDims > 0 && dims.d[0] > 1)
        {
            high.d[0] += kSlack;
            low.d[0] = 1;
            type.shape[0] = ShapeExpr::symbol(
                mGraph.symbols().find(SymbolKind::kInputExtent, position, 0, {}, {low.d[0], high.d[0]}));
            profile.inputs.push_back({position, low, dims, high});
            dims.d[0] = -1;
        }
        mOptions.io.push_back({.name = name, .dtype = tensor.dtype, .dims = dims});
        return mGraph.addInput(name, std::move(type));
    }

    void addOutputs(Node const& node)
    {
        for (size_t i = 0; i < node.outputs.size(); ++i)
        {
            std::string const name = fmt::format("output{}", i);
            TensorType const& type = mGraph.typeOf(node.outputs[i]);
            Dims dims{type.rank(), {}};
            for (int32_t k = 0; k < dims.nbDims; ++k)
                dims.d[k] = type.shape[static_cast<size_t>(k)].constant().value_or(-1);
            mGraph.markOutput(node.outputs[i], name);
            mOptions.io.push_back({.name = name, .isInput = false, .dtype = type.dtype, .dims = dims});
        }
    }

    Graph mGraph;
    PlanOptions mOptions;
    std::string mProblem;
};

//! The plan as a file would hold it.
Result<std::shared_ptr<Plan const>> savedAndLoaded(Plan const& plan)
{
    auto const blob = std::make_shared<Bytes const>(TENON_TRY(writePlan(plan)));
    return std::make_shared<Plan const>(TENON_TRY(readPlan(*blob, blob)));
}

//! Memory of one tensor, exactly as long as it says.
using Memory = DeviceArray<uint8_t>;

//! An output of any extents.
class Output final : public nvinfer1::IOutputAllocator
{
  public:
    void* reallocateOutput(char const*, void*, uint64_t size, uint64_t) noexcept override
    {
        mMemory = std::make_unique<Memory>(size);
        return mMemory->data();
    }
    void notifyShape(char const*, Dims const& dims) noexcept override
    {
        mExtents.assign(dims.d, dims.d + std::max(dims.nbDims, 0));
    }
    HostTensor read(DType type) const
    {
        std::vector<uint8_t> const bytes = mMemory->read();
        return HostTensor::fromBytes(type, mExtents, bytes.data());
    }

  private:
    std::unique_ptr<Memory> mMemory;
    std::vector<int64_t> mExtents;
};

class CaseRun
{
  public:
    CaseRun(LayerCase const& one, Context& context)
        : mCase{one},
          mContext{context}
    {
    }

    Result<std::vector<HostTensor>> run()
    {
        for (size_t i = 0; i < mCase.inputs.size(); ++i)
            if (mCase.inputs[i] && !mCase.inputs[i]->isConstant)
                TENON_TRY(setInput(fmt::format("input{}", i), mCase.inputs[i]->tensor));
        mOutputs.resize(mCase.outputs.size());
        for (size_t i = 0; i < mOutputs.size(); ++i)
            TENON_TRY(mContext.setOutputAllocator(fmt::format("output{}", i).c_str(), &mOutputs[i]));
        TENON_TRY(mContext.enqueue(deviceUnderTest().stream()));
        deviceUnderTest().synchronize(); // A case without outputs reads none.
        std::vector<HostTensor> results;
        for (size_t i = 0; i < mOutputs.size(); ++i)
            results.push_back(mOutputs[i].read(mCase.outputs[i].dtype));
        return results;
    }

  private:
    Result<Done> setInput(std::string const& name, HostTensor const& tensor)
    {
        std::vector<uint8_t> bytes(static_cast<size_t>(bytesOf(tensor.dtype, tensor.count())));
        tensor.toBytes(bytes.data());
        if (TENON_TRY(mContext.engine().isShapeIO(name.c_str())))
        {
            mOnHost.push_back(std::move(bytes)); // Where shape tensors live on every device (D3).
            TENON_TRY(mContext.setInputShape(name.c_str(), dimsOf(tensor.extents)));
            return mContext.setInputAddress(name.c_str(), mOnHost.back().data());
        }
        mMemory.push_back(std::make_unique<Memory>(bytes));
        TENON_TRY(mContext.setInputShape(name.c_str(), dimsOf(tensor.extents)));
        return mContext.setInputAddress(name.c_str(), mMemory.back()->data());
    }

    LayerCase const& mCase;
    Context& mContext;
    std::vector<std::unique_ptr<Memory>> mMemory;
    std::vector<std::vector<uint8_t>> mOnHost;
    std::vector<Output> mOutputs;
};

//! The device itself, or its kernels on guarded memory.
Device& underTest(Device& device)
{
    static std::map<Device*, GuardedDevice> guarded;
    return isGuarded() ? guarded.try_emplace(&device, device).first->second : device;
}

Result<std::vector<HostTensor>> runPlan(LayerCase const& one, std::shared_ptr<Plan const> plan, Device& device)
{
    EngineOptions options;
    options.device = &underTest(device);
    options.threads = 2;
    std::shared_ptr<Engine> const engine = TENON_TRY(Engine::create(std::move(plan), options));
    std::unique_ptr<Context> const context = TENON_TRY(Context::create(engine, MemoryStrategy::kSTATIC));
    return CaseRun{one, *context}.run();
}

void expectGolden(LayerCase const& one, BackendEntry const& backend, CaseGraph const& graph)
{
    Result<Plan> const plan = graph.plan(backend);
    ASSERT_TRUE(plan) << plan.error().message;
    Result<std::shared_ptr<Plan const>> const loaded = savedAndLoaded(*plan);
    ASSERT_TRUE(loaded) << loaded.error().message;
    Result<std::vector<HostTensor>> const got = runPlan(one, *loaded, backend.device(0));
    ASSERT_TRUE(got) << got.error().message;
    ASSERT_EQ(got->size(), one.outputs.size());
    for (size_t i = 0; i < got->size(); ++i)
    {
        std::optional<std::string> const difference = differenceOf((*got)[i], one.outputs[i]);
        EXPECT_FALSE(difference) << "output " << i << ": " << *difference;
    }
}

class CasePlans : public testing::TestWithParam<LayerCase>
{
};

TEST_P(CasePlans, agreeOnEveryBackendAfterSavingAndLoading)
{
    for (bool const isDynamic : {false, true})
    {
        CaseGraph const graph{GetParam(), isDynamic};
        if (isDynamic && graph.isRefused())
            continue; // The rules want this extent known while building; test_layers.cpp looks at the reason.
        for (BackendEntry const& backend : allBackends())
        {
            if (!backend.probe())
                continue; // No such device here; those that every machine has are in the table, too.
            SCOPED_TRACE(fmt::format("{}, {} extents", backend.name, isDynamic ? "dynamic" : "static"));
            expectGolden(GetParam(), backend, graph);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Golden, CasePlans, testing::ValuesIn(loadAllCases(TENON_LAYER_CASES)),
    [](testing::TestParamInfo<LayerCase> const& info) {
        std::string name = info.param.fullName();
        std::replace(name.begin(), name.end(), '-', 'm');
        return name;
    });

} // namespace
} // namespace tenon::test
