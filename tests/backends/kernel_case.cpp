// KernelCase: building a one-layer graph, taking each offer through build, load, prepare and run.
#include "backends/kernel_case.h"

#include "backends/cpu/cpu.h"
#include "backends/cpu/layer_kernel.h"
#include "base/isa.h"

#include <cmath>
#include <cstring>

namespace tenon::test
{

namespace
{
std::mt19937& engine()
{
    static std::mt19937 instance{20240607};
    return instance;
}

//! Memory of one tensor, its end guarded by a pattern.
struct Memory
{
    std::vector<uint8_t> bytes;
    size_t size{0};
    static constexpr size_t kGuard{64};
    static constexpr uint8_t kPattern{0xA5};

    explicit Memory(int64_t count)
        : bytes(static_cast<size_t>(count) + 2 * kGuard + 64, kPattern),
          size{static_cast<size_t>(count)}
    {
    }
    uint8_t* data()
    {
        auto const at = reinterpret_cast<uintptr_t>(bytes.data()) + 63;
        return reinterpret_cast<uint8_t*>(at / 64 * 64);
    }
    bool isIntact()
    {
        for (size_t i = 0; i < kGuard; ++i)
            if (data()[size + i] != kPattern)
                return false;
        return true;
    }
};

//! Element i of the row-major order stands at position place(i) of the layout.
std::vector<int64_t> placesOf(Layout layout, std::vector<int64_t> const& extents)
{
    std::vector<int64_t> const strides = cpu::stridesIn(layout, extents);
    std::vector<int64_t> const plain = stridesOf(extents);
    std::vector<int64_t> places(static_cast<size_t>(volumeOf(extents)));
    for (size_t i = 0; i < places.size(); ++i)
    {
        int64_t rest = static_cast<int64_t>(i);
        for (size_t axis = 0; axis < extents.size(); ++axis)
        {
            places[i] += rest / plain[axis] * strides[axis];
            rest %= plain[axis];
        }
    }
    return places;
}

HostTensor permuted(HostTensor const& tensor, Layout layout, bool toLayout)
{
    if (layout == Layout::kLinear || tensor.extents.size() < 3)
        return tensor;
    HostTensor result{tensor.dtype, tensor.extents};
    std::vector<int64_t> const places = placesOf(layout, tensor.extents);
    for (size_t i = 0; i < places.size(); ++i)
    {
        auto const from = toLayout ? static_cast<int64_t>(i) : places[i];
        auto const to = toLayout ? places[i] : static_cast<int64_t>(i);
        if (tensor.isReal())
            result.reals[static_cast<size_t>(to)] = tensor.reals[static_cast<size_t>(from)];
        else
            result.integers[static_cast<size_t>(to)] = tensor.integers[static_cast<size_t>(from)];
    }
    return result;
}

class Case
{
  public:
    Case(LayerPtr layer, std::vector<Operand> operands, Tolerance tolerance)
        : mLayer{std::move(layer)},
          mOperands{std::move(operands)},
          mTolerance{tolerance}
    {
        std::vector<ValueId> inputs;
        HostTensors host;
        for (size_t i = 0; i < mOperands.size(); ++i)
        {
            Operand const& operand = mOperands[i];
            host.push_back(operand.isAbsent ? nullptr : &operand.tensor);
            std::string const name = "input" + std::to_string(i);
            if (operand.isAbsent)
                inputs.push_back(kNone);
            else if (operand.isConstant)
                inputs.push_back(mGraph.addConstant(name, operand.tensor.toConstant()));
            else
                inputs.push_back(mGraph.addInput(name, {operand.tensor.dtype, shapeOf(operand.tensor.extents)}));
        }
        Result<NodeId> node = mGraph.addNode(mLayer, "layer", inputs);
        EXPECT_TRUE(node) << (node ? "" : node.error().message);
        if (!node)
            return;
        mNode = *node;
        Result<std::vector<HostTensor>> expected = mLayer->reference(host);
        EXPECT_TRUE(expected) << (expected ? "" : expected.error().message);
        if (expected)
            mExpected = *std::move(expected);
    }

    void run(std::string_view candidate)
    {
        if (mExpected.empty())
            return;
        Problem const problem{&mGraph, &mGraph.node(mNode), {}};
        Backend const backend = cpuBackend();
        Offers const offers = backend.offers(problem);
        std::string refusals;
        for (Refusal const& refusal : offers.refused)
            refusals += refusal.candidate + ": " + refusal.reason + "; ";
        bool isFound{false};
        for (Offer const& offer : offers.accepted)
        {
            isFound = isFound || offer.candidate == candidate;
            if (!offer.isView)
                runOffer(backend, problem, offer);
        }
        EXPECT_TRUE(isFound) << "no offer of " << candidate << "; refused: " << refusals;
    }

  private:
    void runOffer(Backend const& backend, Problem const& problem, Offer const& offer)
    {
        std::string trace = offer.candidate + " at " + std::string{nameOf(activeIsa())} + ":";
        for (Layout const layout : offer.inputs)
            trace += " " + std::string{nameOf(layout)};
        trace += " -> " + std::string{nameOf(offer.outputs.at(0))};
        SCOPED_TRACE(trace);
        Result<KernelSpec> spec = backend.build(problem, offer);
        ASSERT_TRUE(spec) << spec.error().message;
        // As built, and with all weights row-major, as a plan for another machine may hold them.
        for (bool const isPacked : {true, false})
            for (int32_t const threads : isPacked ? std::vector<int32_t>{1, 2, 3} : std::vector<int32_t>{2})
                runSpec(*spec, offer, isPacked, threads);
        if (!offer.inPlace.empty())
            for (auto const& pair : offer.inPlace)
                runSpec(*spec, offer, true, 2, pair.second);
    }

    void runSpec(KernelSpec const& spec, Offer const& offer, bool isPacked, int32_t threads, int32_t inPlace = -1)
    {
        KernelSource source{
            .kernel = spec.kernel, .args = spec.args, .weights = {}, .outputs = mExpected.size(), .layer = "layer"};
        std::vector<TensorArg> inputs;
        std::vector<std::shared_ptr<Constant const>> constants;
        std::vector<Memory> memory;
        memory.reserve(mOperands.size() + mExpected.size());
        std::vector<void const*> inputAddresses;
        for (size_t i = 0; i < mOperands.size(); ++i)
        {
            Operand const& operand = mOperands[i];
            source.weights.emplace_back();
            inputAddresses.push_back(nullptr);
            inputs.push_back({operand.tensor.dtype, offer.inputs[i], operand.tensor.extents, !operand.isAbsent});
            if (operand.isAbsent)
                continue;
            if (operand.isConstant)
            {
                inputs[i].layout = Layout::kLinear;
                constants.push_back(operand.tensor.toConstant());
                WeightArg arg{constants.back()->data, static_cast<size_t>(constants.back()->bytes()),
                    operand.tensor.dtype, operand.tensor.extents, {}};
                for (PackedWeight const& packed : spec.packed)
                    if (isPacked && packed.input == static_cast<int32_t>(i))
                        arg = {
                            packed.data->data, packed.bytes, packed.data->dtype, packed.data->extents, packed.packing};
                source.weights[i] = arg;
                inputAddresses[i] = arg.data;
                continue;
            }
            memory.emplace_back(inputs[i].bytes());
            permuted(operand.tensor, offer.inputs[i], true).toBytes(memory.back().data());
            inputAddresses[i] = memory.back().data();
        }
        std::vector<TensorArg> outputs;
        std::vector<void*> outputAddresses;
        std::vector<Memory*> outputMemory;
        for (size_t i = 0; i < mExpected.size(); ++i)
        {
            outputs.push_back({mExpected[i].dtype, offer.outputs[i], mExpected[i].extents});
            memory.emplace_back(outputs[i].bytes());
            outputMemory.push_back(&memory.back());
            outputAddresses.push_back(memory.back().data());
        }
        if (inPlace >= 0)
            outputAddresses[0] = const_cast<void*>(inputAddresses[static_cast<size_t>(inPlace)]);
        Device& device = cpuDevice();
        Result<std::unique_ptr<Kernel>> kernel = device.load(source);
        ASSERT_TRUE(kernel) << kernel.error().message;
        for (size_t i = 0; i < inputs.size(); ++i)
            if (offer.isUnread(i))
                inputs[i].extents = mOperands[i].tensor.integers;
        Result<std::shared_ptr<Prepared const>> prepared = (*kernel)->prepare(inputs, outputs, threads);
        ASSERT_TRUE(prepared) << prepared.error().message;
        Memory scratch{static_cast<int64_t>((*prepared)->scratchBytes())};
        int64_t produced[8]{};
        Launch const launch{
            prepared->get(), Call{inputAddresses.data(), outputAddresses.data(), scratch.data(), produced}, 0};
        RunOptions options;
        options.threads = threads;
        RunFailure failure;
        auto const done = device.run({&launch, 1}, options, failure);
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_TRUE(scratch.isIntact()) << "wrote behind its scratch memory";
        for (size_t i = 0; i < mExpected.size(); ++i)
        {
            EXPECT_TRUE(inPlace >= 0 || outputMemory[i]->isIntact()) << "wrote behind output " << i;
            HostTensor const got =
                permuted(HostTensor::fromBytes(mExpected[i].dtype, mExpected[i].extents, outputAddresses[i]),
                    offer.outputs[i], false);
            compare(got, mExpected[i],
                fmt::format("output {}, {} threads, {}{}", i, threads, isPacked ? "packed" : "row-major",
                    inPlace >= 0 ? ", in place" : ""));
        }
    }

    void compare(HostTensor const& got, HostTensor const& expected, std::string const& what) const
    {
        for (int64_t i = 0; i < expected.count(); ++i)
        {
            double const a = got.real(i);
            double const b = expected.real(i);
            bool const isSame = std::isnan(b)
                ? std::isnan(a)
                : a == b || std::fabs(a - b) <= mTolerance.absolute + mTolerance.relative * std::fabs(b);
            ASSERT_TRUE(isSame) << what << ": element " << i << " is " << a << " instead of " << b;
        }
    }

    LayerPtr mLayer;
    std::vector<Operand> mOperands;
    Tolerance mTolerance;
    Graph mGraph;
    NodeId mNode{kNone};
    std::vector<HostTensor> mExpected;
};
} // namespace

HostTensor randomTensor(std::vector<int64_t> extents, double low, double high, DType type)
{
    HostTensor tensor{type, std::move(extents)};
    std::uniform_real_distribution<double> distribution{low, high};
    for (int64_t i = 0; i < tensor.count(); ++i)
        tensor.set(i, distribution(engine()));
    return tensor;
}

void expectKernels(LayerPtr layer, std::vector<Operand> operands, std::string_view candidate, Tolerance tolerance)
{
    Case instance{std::move(layer), std::move(operands), tolerance};
    for (Isa const isa : {Isa::kAvx2, Isa::kAvx512})
    {
        if (detectedIsa() < isa)
            continue;
        capIsa(isa);
        instance.run(candidate);
        if (::testing::Test::HasFatalFailure())
            break;
    }
    capIsa(Isa::kAmx);
}

} // namespace tenon::test
