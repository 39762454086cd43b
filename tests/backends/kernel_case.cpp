// KernelCase: building a one-layer graph, taking each offer through build, load, prepare and run.
#include "backends/kernel_case.h"

#include "base/isa.h"
#include "support/allocation_count.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

namespace tenon::test
{

BackendEntry const& backendUnderTest()
{
    char const* const wanted = std::getenv("TENON_TEST_BACKEND");
    auto const all = allBackends();
    auto const found = std::ranges::find(all, std::string_view{wanted == nullptr ? "" : wanted}, &BackendEntry::name);
    if (wanted != nullptr && found == all.end())
        std::abort(); // The cases would pass on another backend.
    return found == all.end() ? *std::ranges::find(all, std::string_view{"cpu"}, &BackendEntry::name) : *found;
}

namespace
{
//! Kernels that the present test has run on another backend than the CPU's: a case that finds none there has shown
//! nothing, and fails.
class KernelCount final : public ::testing::EmptyTestEventListener
{
  public:
    //! Of the present test, from its first case on.
    static KernelCount& ofTest()
    {
        static KernelCount* const instance = [] {
            auto* const made = new KernelCount;
            ::testing::UnitTest::GetInstance()->listeners().Append(made); // Which owns it from now on.
            return made;
        }();
        return *instance;
    }
    void begun()
    {
        mHasCases = true;
    }
    void ran()
    {
        ++mCount;
    }
    void OnTestEnd(::testing::TestInfo const& test) override
    {
        bool const isEmpty = mHasCases && mCount == 0 && backendUnderTest().name == "cuda";
        mHasCases = false;
        mCount = 0;
        if (isEmpty && test.result()->Passed())
            ADD_FAILURE() << "no kernel of " << backendUnderTest().name
                          << " took part: such cases stand in tests/cuda_exclusions.toml";
    }

  private:
    bool mHasCases{false};
    int64_t mCount{0};
};

//! The numbers of std::mt19937, by a class that no other file of the program makes, without optimisation as they do.
using Engine32 = std::mersenne_twister_engine<uint32_t, 32, 624, 397, 31, 0x9908b0df, 11, 0xffffffff, 7, 0x9d2c5680, 15,
    0xefc60000, 18, 1812433253>;

//! Begins anew with each test: what a case draws must not depend on the tests before it, some of which a machine leaves
//! out. Repeated, a test goes on with other numbers.
Engine32& engine()
{
    constexpr uint32_t kFirst{20240607};
    static Engine32 instance{kFirst};
    static testing::TestInfo const* drawing{nullptr};
    static std::map<testing::TestInfo const*, uint32_t> begun;
    if (testing::TestInfo const* const test = testing::UnitTest::GetInstance()->current_test_info(); test != drawing)
    {
        drawing = test;
        instance.seed(kFirst + begun[test]++);
    }
    return instance;
}

//! Memory of one tensor on the device, its end guarded by a pattern.
class Memory
{
  public:
    Memory(Device& device, size_t size)
        : mDevice{&device},
          mSize{size},
          mData{device.allocate(size + kGuard)}
    {
        EXPECT_NE(mData, nullptr);
        write(std::vector<uint8_t>(size + kGuard, kPattern));
    }
    Memory(Memory&& other) noexcept
        : mDevice{other.mDevice},
          mSize{other.mSize},
          mData{std::exchange(other.mData, nullptr)}
    {
    }
    ~Memory()
    {
        if (mData != nullptr)
            mDevice->release(mData);
    }
    void* data() const
    {
        return mData;
    }
    void write(std::vector<uint8_t> const& bytes)
    {
        auto const done = mDevice->copyFromHost(mData, bytes.data(), bytes.size(), kApartStream);
        EXPECT_TRUE(done) << (done ? "" : done.error().message);
    }
    std::vector<uint8_t> read() const
    {
        std::vector<uint8_t> bytes(mSize + kGuard);
        auto const done = mDevice->copyToHost(bytes.data(), mData, bytes.size(), kApartStream);
        EXPECT_TRUE(done) << (done ? "" : done.error().message);
        return bytes;
    }
    bool isIntact() const
    {
        std::vector<uint8_t> const bytes = read();
        return std::all_of(bytes.end() - kGuard, bytes.end(), [](uint8_t each) { return each == kPattern; });
    }

  private:
    static constexpr ptrdiff_t kGuard{64};
    static constexpr uint8_t kPattern{0xA5};

    Device* mDevice;
    size_t mSize;
    void* mData;
};

//! Element i of the row-major order stands at position places[i] of the layout.
std::vector<size_t> placesOf(Layout layout, std::vector<int64_t> const& extents)
{
    int64_t const channels = extents[1];
    int64_t const pixels = volumeOf({extents.begin() + 2, extents.end()});
    ElementOrder const order = elementOrder(layout, channels, pixels);
    std::vector<size_t> places(static_cast<size_t>(volumeOf(extents)));
    size_t* place = places.data();
    for (int64_t image = 0; image < extents[0]; ++image)
        for (int64_t channel = 0; channel < channels; ++channel)
            for (int64_t pixel = 0; pixel < pixels; ++pixel)
                *place++ = static_cast<size_t>(order.offset(image, channel, pixel));
    return places;
}

//! What stands at `places` of a row-major order's elements, or the elements that are to stand there.
template <typename T>
void permute(std::vector<T> const& from, std::vector<size_t> const& places, bool toLayout, std::vector<T>& result)
{
    for (size_t i = 0; i < places.size(); ++i)
        if (toLayout)
            result[places[i]] = from[i];
        else
            result[i] = from[places[i]];
}

HostTensor permuted(HostTensor const& tensor, Layout layout, bool toLayout)
{
    if (layout == Layout::kLinear || tensor.extents.size() < 3 || tensor.count() == 0)
        return tensor;
    HostTensor result{tensor.dtype, tensor.extents};
    std::vector<size_t> const places = placesOf(layout, tensor.extents);
    if (tensor.isReal())
        permute(tensor.reals, places, toLayout, result.reals);
    else
        permute(tensor.integers, places, toLayout, result.integers);
    return result;
}

std::vector<uint8_t> bytesOf(HostTensor const& tensor)
{
    std::vector<uint8_t> bytes(static_cast<size_t>(tenon::bytesOf(tensor.dtype, tensor.count())));
    tensor.toBytes(bytes.data());
    return bytes;
}

//! Proposals of a library differ in speed alone, and some take a second to prepare: the first will do here.
bool isFurtherProposal(Offer const& offer)
{
    return offer.tactic > 0
        && (offer.candidate == "cublaslt" || offer.candidate == "patches" || offer.candidate == "cudnn");
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

    bool reads(DType type) const
    {
        return std::ranges::any_of(mOperands, [&](Operand const& operand) { return operand.tensor.dtype == type; });
    }
    void run(std::string_view candidate)
    {
        KernelCount::ofTest().begun();
        if (mExpected.empty())
            return;
        std::vector<int64_t> const typical(static_cast<size_t>(mGraph.symbols().size()), 1);
        Target target = backendUnderTest().target(0);
        target.rates.hasTf32 = false; // Tolerances are those of float32.
        Problem const problem{&mGraph, &mGraph.node(mNode), typical, &target};
        Backend const backend = backendUnderTest().backend();
        Offers const offers = backend.offers(problem);
        std::string refusals;
        for (Refusal const& refusal : offers.refused)
            refusals += refusal.candidate + ": " + refusal.reason + "; ";
        bool isFound{false};
        for (Offer const& offer : offers.accepted)
        {
            isFound = isFound || offer.candidate == candidate;
            if (!offer.isView && offer.candidate != "reference" && offer.place == Place::kDevice
                && !isFurtherProposal(offer))
            {
                KernelCount::ofTest().ran();
                runOffer(backend, problem, offer);
            }
        }
        // Other backends have candidates of their own, which tests/cuda asks for.
        bool const isItsOwn = backendUnderTest().name == (candidate == "tensor cores" ? "cuda" : "cpu");
        EXPECT_TRUE(isFound || !isItsOwn) << "no offer of " << candidate << "; refused: " << refusals;
    }

    void runOffers(std::vector<Offer> const& offers)
    {
        if (mExpected.empty())
            return;
        std::vector<int64_t> const typical(static_cast<size_t>(mGraph.symbols().size()), 1);
        Target const target = backendUnderTest().target(0);
        for (Offer const& offer : offers)
            runOffer(backendUnderTest().backend(), {&mGraph, &mGraph.node(mNode), typical, &target}, offer);
    }

  private:
    void runOffer(Backend const& backend, Problem const& problem, Offer const& offer)
    {
        std::string trace = offer.candidate + " on " + std::string{backendUnderTest().name};
        if (backendUnderTest().name == "cpu")
            trace += " at " + std::string{nameOf(activeIsa())};
        trace += ":";
        for (Layout const layout : offer.inputs)
            trace += " " + std::string{nameOf(layout)};
        trace += fmt::format(" -> {}, tactic {}", nameOf(offer.outputs.at(0)), offer.tactic);
        SCOPED_TRACE(trace);
        Result<KernelSpec> spec = backend.build(problem, offer);
        ASSERT_TRUE(spec) << spec.error().message;
        // As built, and with all weights row-major, as a plan for another machine may hold them.
        bool const hasThreads = backendUnderTest().name != "cuda";
        for (bool const isPacked : {true, false})
            for (int32_t const threads :
                isPacked&& hasThreads ? std::vector<int32_t>{1, 2, 3} : std::vector<int32_t>{2})
                runSpec(*spec, offer, isPacked, threads);
        if (!offer.inPlace.empty())
            for (auto const& pair : offer.inPlace)
                runSpec(*spec, offer, true, 2, pair.second);
    }

    void runSpec(KernelSpec const& spec, Offer const& offer, bool isPacked, int32_t threads, int32_t inPlace = -1)
    {
        KernelSource source{
            .kernel = spec.kernel, .args = spec.args, .weights = {}, .outputs = mExpected.size(), .layer = "layer"};
        Device& device = backendUnderTest().device(0);
        std::vector<TensorArg> inputs;
        std::vector<Memory> memory;
        memory.reserve(2 * mOperands.size() + mExpected.size() + 1);
        std::vector<std::shared_ptr<Constant const>> constants;
        std::vector<void const*> inputAddresses;
        for (size_t i = 0; i < mOperands.size(); ++i)
        {
            Operand const& operand = mOperands[i];
            source.weights.emplace_back();
            inputAddresses.push_back(nullptr);
            inputs.push_back({operand.tensor.dtype, offer.inputs[i], operand.tensor.extents, !operand.isAbsent});
            if (operand.isAbsent)
                continue;
            std::vector<uint8_t> contents;
            if (operand.isConstant)
            {
                inputs[i].layout = Layout::kLinear;
                constants.push_back(operand.tensor.toConstant());
                WeightArg& arg = source.weights[i];
                arg = {constants.back()->data, static_cast<size_t>(constants.back()->bytes()), operand.tensor.dtype,
                    operand.tensor.extents, {}};
                for (PackedWeight const& packed : spec.packed)
                    if (isPacked && packed.input == static_cast<int32_t>(i))
                        arg = {
                            packed.data->data, packed.bytes, packed.data->dtype, packed.data->extents, packed.packing};
                auto const* const bytes = static_cast<uint8_t const*>(arg.data);
                contents.assign(bytes, bytes + arg.bytes);
            }
            else
            {
                contents = bytesOf(permuted(operand.tensor, offer.inputs[i], true));
            }
            memory.emplace_back(device, contents.size());
            memory.back().write(contents);
            inputAddresses[i] = memory.back().data();
        }
        std::vector<TensorArg> outputs;
        std::vector<void*> outputAddresses;
        std::vector<Memory*> outputMemory;
        for (size_t i = 0; i < mExpected.size(); ++i)
        {
            outputs.push_back({mExpected[i].dtype, offer.outputs[i], mExpected[i].extents});
            memory.emplace_back(device, static_cast<size_t>(outputs[i].bytes()));
            outputMemory.push_back(&memory.back());
            outputAddresses.push_back(memory.back().data());
        }
        for (size_t i = 0; inPlace >= 0 && i < memory.size(); ++i)
            if (memory[i].data() == inputAddresses[static_cast<size_t>(inPlace)])
            {
                outputMemory[0] = &memory[i];
                outputAddresses[0] = memory[i].data();
            }
        Result<std::unique_ptr<Kernel>> kernel = device.load(source);
        ASSERT_TRUE(kernel) << kernel.error().message;
        for (size_t i = 0; i < inputs.size(); ++i)
            if (offer.isUnread(i))
                inputs[i].extents = mOperands[i].tensor.integers;
        Result<std::shared_ptr<Prepared const>> prepared = (*kernel)->prepare(inputs, outputs, threads);
        ASSERT_TRUE(prepared) << prepared.error().message;
        Memory const scratch{device, (*prepared)->scratchBytes()};
        int64_t produced[8]{};
        Launch const launch{prepared->get(),
            Call{inputAddresses.data(), outputAddresses.data(), scratch.data(), produced}, 0, inputs.size(),
            outputs.size()};
        RunOptions options;
        options.stream = kApartStream;
        options.hostThreads = threads;
        RunFailure failure;
        auto const done = device.run({&launch, 1}, options, failure);
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_TRUE(scratch.isIntact()) << "wrote behind its scratch memory";
        for (size_t i = 0; i < mExpected.size(); ++i)
        {
            EXPECT_TRUE(outputMemory[i]->isIntact()) << "wrote behind output " << i;
            std::vector<uint8_t> const bytes = outputMemory[i]->read();
            HostTensor const got = permuted(
                HostTensor::fromBytes(mExpected[i].dtype, mExpected[i].extents, bytes.data()), offer.outputs[i], false);
            compare(got, mExpected[i],
                fmt::format("output {}, {} threads, {}{}", i, threads, isPacked ? "packed" : "row-major",
                    inPlace >= 0 ? ", in place" : ""));
        }
        if (backendUnderTest().name == "cpu") // Drivers of others allocate what they like.
            expectNoAllocations([&] { return static_cast<bool>(device.run({&launch, 1}, options, failure)); });
    }

    //! Runs once more: threads and their stacks are there by now.
    template <typename Run>
    static void expectNoAllocations(Run&& run)
    {
        int64_t const before = allocationCount();
        bool const done = run();
        int64_t const after = allocationCount();
        EXPECT_TRUE(done);
        EXPECT_EQ(after, before) << "a run allocates";
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
    Engine32& random = engine();
    int64_t const count = tensor.count();
    for (int64_t i = 0; i < count; ++i)
        tensor.set(i, distribution(random));
    return tensor;
}

namespace
{
//! The same operands with float32 ones rounded to another type; none where no operand has float32.
std::vector<Operand> operandsOf(DType type, std::vector<Operand> operands)
{
    bool isAny{false};
    for (Operand& operand : operands)
    {
        if (operand.isAbsent || operand.tensor.dtype != DType::kFLOAT)
            continue;
        isAny = true;
        HostTensor rounded{type, operand.tensor.extents};
        for (int64_t i = 0; i < rounded.count(); ++i)
            rounded.set(i, operand.tensor.real(i));
        operand.tensor = std::move(rounded);
    }
    return isAny ? operands : std::vector<Operand>{};
}

void expectInstance(Case& instance, std::string_view candidate)
{
    if (backendUnderTest().name != "cpu")
        return instance.run(candidate);
    for (Isa const isa : {Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Vnni, Isa::kAvx512Bf16, Isa::kAmx, Isa::kAmxFp16})
    {
        // Some are kernels of one type only.
        bool const isOfInt8 = isa == Isa::kAvx512Vnni || isa == Isa::kAmx;
        bool const isOfBfloats = isa == Isa::kAvx512Bf16 || isa == Isa::kAmx;
        bool const isOfHalves = isa >= Isa::kAmx;
        bool const isOfAll = isa <= Isa::kAvx512;
        if (detectedIsa() < isa
            || !(isOfAll || (isOfInt8 && instance.reads(DType::kINT8)) || (isOfBfloats && instance.reads(DType::kBF16))
                || (isOfHalves && instance.reads(DType::kHALF))))
            continue;
        capIsa(isa);
        instance.run(candidate);
        if (::testing::Test::HasFatalFailure())
            break;
    }
    capIsa(Isa::kAmxFp16);
}
} // namespace

void expectKernels(LayerPtr layer, std::vector<Operand> operands, std::string_view candidate, Tolerance tolerance,
    Types types, double partial)
{
    Case instance{layer, operands, tolerance};
    expectInstance(instance, candidate);
    if (types == Types::kFloatOnly || backendUnderTest().name == "ref")
        return;
    struct Half
    {
        DType type;
        double unit; //!< The largest relative error of rounding to it.
        Tolerance rounded;
    };
    constexpr Half kHalves[]{{DType::kHALF, 0x1p-11, {1e-3, 2.5e-3}}, {DType::kBF16, 0x1p-8, {1e-2, 2e-2}}};
    for (auto [type, unit, rounded] : kHalves)
    {
        if (backendUnderTest().name == "cuda")
            rounded.absolute += unit * partial;
        std::vector<Operand> const converted = operandsOf(type, operands);
        if (converted.empty())
            return;
        SCOPED_TRACE(nameOf(type));
        Case half{layer, converted, rounded};
        expectInstance(half, candidate);
    }
}

void expectOffers(LayerPtr layer, std::vector<Operand> operands, std::vector<Offer> const& offers, Tolerance tolerance)
{
    Case{std::move(layer), std::move(operands), tolerance}.runOffers(offers);
}

} // namespace tenon::test
