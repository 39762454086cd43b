// Products of few rows with weights: what they are offered for, what the driver is told, and what is taken off
// their times.
#include "backends/rows.h"
#include "cuda/fake_device.h"
#include "device/cuda/cuda_kernel.h"
#include "ir/host_tensor.h"
#include "layers/matrix_multiply.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace tenon::test
{

namespace
{
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

BackendEntry const& gpuEntry()
{
    auto const all = allBackends();
    return *std::ranges::find(all, std::string_view{"cuda"}, &BackendEntry::name);
}

struct EarlySize
{
    int64_t rows{128};
    int64_t depth{768};
    int64_t columns{3072};
    DType type{DType::kHALF};
    std::string architecture{"sm_90"};
    bool isConstant{true};
};

//! [rows, depth] by [depth, columns], the latter zeros that are weights, as a graph.
struct EarlyGraph
{
    Graph graph;
    NodeId node{};

    explicit EarlyGraph(EarlySize const& of)
    {
        ValueId const a = graph.addInput("a", {of.type, shapeOf({of.rows, of.depth})});
        HostTensor const zeros{of.type, {of.depth, of.columns}};
        ValueId const b = of.isConstant ? graph.addConstant("b", zeros.toConstant())
                                        : graph.addInput("b", {of.type, shapeOf({of.depth, of.columns})});
        auto const made = graph.addNode(makeLayer(MatrixMultiply{}), "layer", {a, b});
        EXPECT_TRUE(made);
        node = *made;
    }
};

Offers offersFor(EarlySize const& of)
{
    EarlyGraph const made{of};
    Target target = gpuEntry().target(0);
    target.architecture = of.architecture;
    return gpuEntry().backend().offers({&made.graph, &made.graph.node(made.node), {}, &target});
}

std::vector<int64_t> earlyTactics(EarlySize const& of)
{
    std::vector<int64_t> tactics;
    for (Offer const& offer : offersFor(of).accepted)
        if (offer.candidate == "early tiles")
            tactics.push_back(offer.tactic);
    return tactics;
}

std::string refusalOf(EarlySize const& of)
{
    for (Refusal const& refusal : offersFor(of).refused)
        if (refusal.candidate == "early tiles")
            return refusal.reason;
    return {};
}

//! A product of zeros by tactic 0.
class ZeroProduct
{
  public:
    static constexpr int64_t kRows{20};
    static constexpr int64_t kColumns{16};

    static Result<std::unique_ptr<ZeroProduct>> ofDepth(int64_t depth)
    {
        auto made = std::unique_ptr<ZeroProduct>{new ZeroProduct};
        TENON_TRY(made->make(depth));
        return made;
    }
    ZeroProduct(ZeroProduct const&) = delete;
    ZeroProduct& operator=(ZeroProduct const&) = delete;
    ~ZeroProduct()
    {
        for (std::byte* const each : mMemory)
            mDevice.release(each);
    }
    //! With rows that stand so many bytes off an address that is aligned.
    Result<Done> run(size_t shift) const
    {
        void const* inputs[]{mMemory[0] + shift, mMemory[1]};
        void* outputs[]{mMemory[2]};
        Launch launch;
        launch.prepared = mPrepared.get();
        launch.call = {.inputs = inputs, .outputs = outputs, .scratch = mMemory[3]};
        launch.inputCount = 2;
        launch.outputCount = 1;
        RunFailure failure;
        static_cast<void>(TENON_TRY(mDevice.run({&launch, 1}, {.stream = kApartStream}, failure)));
        return Done{};
    }

  private:
    ZeroProduct() = default;
    Result<Done> make(int64_t depth)
    {
        EarlyGraph const made{{.rows = kRows, .depth = depth, .columns = kColumns}};
        Target const target = gpuEntry().target(0);
        Offer offer;
        offer.candidate = "early tiles";
        offer.inputs.assign(2, Layout::kLinear);
        offer.outputs = {Layout::kLinear};
        KernelSpec const spec =
            TENON_TRY(gpuEntry().backend().build({&made.graph, &made.graph.node(made.node), {}, &target}, offer));
        EXPECT_EQ(spec.packed.size(), 1U) << "columns are to lie behind each other";
        size_t const bytes = 2 * static_cast<size_t>(kRows * (depth + kColumns));
        std::vector<std::byte> const zeros(bytes);
        for (size_t i = 0; i < 3; ++i)
        {
            mMemory.push_back(static_cast<std::byte*>(mDevice.allocate(bytes)));
            TENON_TRY(mDevice.copyFromHost(mMemory[i], zeros.data(), bytes, kApartStream));
        }
        std::vector<WeightArg> weights(2);
        PackedWeight const& packed = spec.packed.front();
        weights[1] = {mMemory[1], packed.bytes, DType::kHALF, packed.data->extents, packed.packing};
        mKernel = TENON_TRY(mDevice.load({.kernel = spec.kernel, .args = spec.args, .weights = weights}));
        std::vector<TensorArg> const in{
            {DType::kHALF, Layout::kLinear, {kRows, depth}}, {DType::kHALF, Layout::kLinear, {depth, kColumns}}};
        TensorArg const out{DType::kHALF, Layout::kLinear, {kRows, kColumns}};
        mPrepared = TENON_TRY(mKernel->prepare(in, {&out, 1}, 1));
        mMemory.push_back(static_cast<std::byte*>(mDevice.allocate(mPrepared->scratchBytes() + 1)));
        return Done{};
    }

    Device& mDevice{gpuEntry().device(0)};
    std::vector<std::byte*> mMemory;
    std::unique_ptr<Kernel> mKernel;
    std::shared_ptr<Prepared const> mPrepared;
};

Result<Done> multiplyEarly(size_t shift)
{
    return TENON_TRY(ZeroProduct::ofDepth(ZeroProduct::kColumns))->run(shift);
}

//! A step that does nothing, of whose time runs do not see so much.
class PartlyHidden final : public CudaPrepared
{
  public:
    explicit PartlyHidden(double hidden)
        : mHidden{hidden}
    {
    }
    double hidden() const noexcept override
    {
        return mHidden;
    }
    Result<Done> launch(CudaCall const&) const override
    {
        return Done{};
    }

  private:
    double mHidden;
};

double timeOf(PartlyHidden const& step)
{
    Launch launch;
    launch.prepared = &step;
    double seen{-1.0};
    StepObserver const observer = [&](Launch const&, double microseconds) {
        seen = microseconds;
        return true;
    };
    RunFailure failure;
    EXPECT_TRUE(fake().run({&launch, 1}, {.stream = kApartStream, .observer = &observer, .timesOnly = true}, failure));
    return seen;
}
} // namespace

TEST(EarlyProduct, theDriverDescribesRowsAndWeights)
{
    int64_t const before = tenonFakeCallsOf("cuTensorMapEncodeTiled");
    auto const done = multiplyEarly(0);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(tenonFakeCallsOf("cuTensorMapEncodeTiled"), before + 2);
}

TEST(EarlyProduct, addressesThatAreNotAlignedAreForTheLibrary)
{
    int64_t const before = tenonFakeCallsOf("cuTensorMapEncodeTiled");
    auto const done = multiplyEarly(2);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(tenonFakeCallsOf("cuTensorMapEncodeTiled"), before);
}

//! They share a kernel, whose limit is that of all of them: a ring of ten stages takes more than one of a single stage.
TEST(EarlyProduct, shallowProductsLeaveDeepOnesTheirSharedMemory)
{
    constexpr int64_t kDeep{1024};
    auto const deep = ZeroProduct::ofDepth(kDeep);
    ASSERT_TRUE(deep) << deep.error().message;
    auto const shallow = ZeroProduct::ofDepth(ZeroProduct::kColumns);
    ASSERT_TRUE(shallow) << shallow.error().message;
    auto const done = (*deep)->run(0);
    ASSERT_TRUE(done) << done.error().message;
}

TEST(EarlyProduct, trialsTakeOffWhatRunsDoNotSee)
{
    constexpr double kSeconds{1e8};
    EXPECT_GT(timeOf(PartlyHidden{-kSeconds}), kSeconds * 0.99);
    EXPECT_EQ(timeOf(PartlyHidden{kSeconds}), 0.0);
}

TEST(EarlyProduct, tilesAreOfferedForFewRows)
{
    EXPECT_THAT(earlyTactics({}), Not(IsEmpty()));
    EXPECT_THAT(earlyTactics({.rows = 17, .type = DType::kBF16}), Not(IsEmpty()));
    EXPECT_THAT(refusalOf({.rows = 16}), HasSubstr("17 rows and more"));
    EXPECT_THAT(refusalOf({.rows = 4096}), HasSubstr("more rows"));
}

TEST(EarlyProduct, whatTheKernelCannotIsRefusedByItsReason)
{
    EXPECT_THAT(refusalOf({.isConstant = false}), HasSubstr("constant right operands"));
    EXPECT_THAT(refusalOf({.depth = 772}), HasSubstr("multiples of 8"));
    EXPECT_THAT(refusalOf({.columns = 3076}), HasSubstr("multiples of 8"));
    EXPECT_THAT(refusalOf({.type = DType::kFLOAT}), HasSubstr("half precision"));
    EXPECT_THAT(refusalOf({.architecture = "sm_89"}), HasSubstr("compute capability 9.0"));
    EXPECT_THAT(refusalOf({.architecture = "sm_100"}), HasSubstr("compute capability 9.0"));
}

} // namespace tenon::test
