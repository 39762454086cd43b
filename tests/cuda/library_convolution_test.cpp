// Convolutions by cuDNN on the fake library: what it is told, what it refuses, and what happens where it fails.
#include "backend/layer_args.h"
#include "backends/cuda/convolution_shape.h"
#include "backends/cuda/cuda.h"
#include "backends/cuda/cudnn.h"
#include "backends/rows.h"
#include "devices/fake_cuda/fake_cuda.h"
#include "ir/host_tensor.h"
#include "layers/convolution.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

namespace tenon::test
{

namespace
{
using testing::HasSubstr;

BackendEntry const& cudaRow()
{
    static auto const all = allBackends();
    return *std::ranges::find(all, std::string_view{"cuda"}, &BackendEntry::name);
}

//! x [2, channels, 6, 5] by a filter of 3 × 3 that is a constant, with bias and steps.
struct DnnCase
{
    int64_t channels{8};
    int64_t maps{16};
    std::vector<EpilogueStep> steps{};
    int64_t tactic{0};
    size_t shift{0}; //!< Elements by which x stands off an address that is aligned.
    int32_t gpu{0};
    std::string packing{"*"}; //!< Of the filter as it is loaded; "*": as it was built.
    size_t missing{0};        //!< Bytes that the filter has too few.
};

HostTensor wholeNumbers(std::vector<int64_t> extents, int step)
{
    HostTensor tensor{DType::kFLOAT, std::move(extents)};
    for (int64_t i = 0; i < tensor.count(); ++i)
        tensor.set(i, static_cast<double>(i * step % 7 - 3));
    return tensor;
}

//! A run of one offer, and what the layer's reference gives.
class DnnRun
{
  public:
    explicit DnnRun(DnnCase of)
        : mOf{std::move(of)}
    {
        mLayer.nbOutputMaps = mOf.maps;
        mLayer.kernelSize = {2, {3, 3}};
        mLayer.prePadding = {2, {1, 1}};
        mLayer.postPadding = {2, {1, 1}};
        mLayer.epilogue.steps = mOf.steps;
        mTensors = {wholeNumbers({2, mOf.channels, 6, 5}, 3), wholeNumbers({mOf.maps, mOf.channels, 3, 3}, 5),
            wholeNumbers({mOf.maps}, 1)};
        for (int32_t i = 0; i < mLayer.epilogue.extraInputs(); ++i)
            mTensors.push_back(wholeNumbers({2, mOf.maps, 6, 5}, 2 + i));
        std::vector<ValueId> values;
        for (size_t i = 0; i < mTensors.size(); ++i)
            values.push_back(i == 1
                    ? mGraph.addConstant("filter", mTensors[i].toConstant())
                    : mGraph.addInput(fmt::format("in{}", i), {DType::kFLOAT, shapeOf(mTensors[i].extents)}));
        mNode = *mGraph.addNode(makeLayer(mLayer), "layer", values);
    }
    ~DnnRun()
    {
        for (void* const memory : mMemory)
            device().release(memory);
    }
    DnnRun(DnnRun const&) = delete;
    DnnRun& operator=(DnnRun const&) = delete;

    Offers offers() const
    {
        return cudaRow().backend().offers({&mGraph, &mGraph.node(mNode), {}, &mTarget});
    }
    Result<KernelSpec> spec() const
    {
        Problem const problem{&mGraph, &mGraph.node(mNode), {}, &mTarget};
        std::vector<Offer> const accepted = cudaRow().backend().offers(problem).accepted;
        auto const offer = std::ranges::find_if(
            accepted, [&](Offer const& each) { return each.candidate == "cudnn" && each.tactic == mOf.tactic; });
        if (offer == accepted.end())
            return badArgument("no offer of cuDNN's with tactic {}", mOf.tactic);
        return cudaRow().backend().build(problem, *offer);
    }
    Result<std::vector<float>> run()
    {
        KernelSpec const built = TENON_TRY(spec());
        return runSpec(built);
    }
    Result<std::vector<float>> runSpec(KernelSpec const& built)
    {
        std::vector<WeightArg> weights(mTensors.size());
        std::shared_ptr<Constant const> const plain = mTensors[1].toConstant();
        PackedWeight const* const packed = built.packed.empty() ? nullptr : &built.packed.front();
        bool const isPacked = packed != nullptr && !mOf.packing.empty();
        void const* const data = isPacked ? packed->data->data : plain->data;
        auto const bytes = static_cast<size_t>(plain->bytes());
        weights[1] = {data, bytes - mOf.missing, DType::kFLOAT, plain->extents,
            mOf.packing == "*" ? std::string_view{isPacked ? packed->packing : ""} : std::string_view{mOf.packing}};
        auto const kernel = TENON_TRY(device().load({.kernel = built.kernel, .args = built.args, .weights = weights}));
        std::vector<TensorArg> in;
        std::vector<void const*> addresses;
        for (size_t i = 0; i < mTensors.size(); ++i)
        {
            bool const isImage = mTensors[i].extents.size() == 4 && i != 1;
            in.push_back({DType::kFLOAT, isImage ? Layout::kChannelsLast : Layout::kLinear, mTensors[i].extents});
            addresses.push_back(i == 1 ? TENON_TRY(upload(data, bytes, 0))
                                       : TENON_TRY(upload(mTensors[i], isImage, i == 0 ? mOf.shift : 0)));
        }
        TensorArg const out{DType::kFLOAT, Layout::kChannelsLast, {2, mOf.maps, 6, 5}};
        auto const prepared = TENON_TRY(kernel->prepare(in, {&out, 1}, 1));
        std::vector<float> got(static_cast<size_t>(volumeOf(out.extents)));
        void* outputs[]{allocate(got.size() * sizeof(float))};
        Launch launch;
        launch.prepared = prepared.get();
        launch.call = {
            .inputs = addresses.data(), .outputs = outputs, .scratch = allocate(prepared->scratchBytes() + 1)};
        launch.inputCount = in.size();
        launch.outputCount = 1;
        RunFailure failure;
        TENON_TRY(device().run({&launch, 1}, {.stream = kApartStream}, failure));
        TENON_TRY(device().copyToHost(got.data(), outputs[0], got.size() * sizeof(float), kApartStream));
        return got;
    }
    //! Channels last, as it is computed.
    std::vector<float> expected() const
    {
        HostTensors views;
        for (HostTensor const& tensor : mTensors)
            views.push_back(&tensor);
        return channelsLast(mLayer.reference(views)->front());
    }

  private:
    Device& device() const
    {
        return cudaRow().device(mOf.gpu);
    }
    void* allocate(size_t bytes)
    {
        mMemory.push_back(device().allocate(bytes));
        return mMemory.back();
    }
    Result<void const*> upload(void const* data, size_t bytes, size_t shift)
    {
        auto* const to = static_cast<float*>(allocate(bytes + shift * sizeof(float))) + shift;
        TENON_TRY(device().copyFromHost(to, data, bytes, kApartStream));
        return static_cast<void const*>(to);
    }
    Result<void const*> upload(HostTensor const& tensor, bool isImage, size_t shift)
    {
        std::vector<float> numbers;
        if (isImage)
            numbers = channelsLast(tensor);
        else
            numbers.assign(tensor.reals.begin(), tensor.reals.end());
        return upload(numbers.data(), numbers.size() * sizeof(float), shift);
    }
    static std::vector<float> channelsLast(HostTensor const& tensor)
    {
        std::vector<float> turned;
        int64_t const pixels = tensor.extents[2] * tensor.extents[3];
        for (int64_t n = 0; n < tensor.extents[0]; ++n)
            for (int64_t pixel = 0; pixel < pixels; ++pixel)
                for (int64_t c = 0; c < tensor.extents[1]; ++c)
                    turned.push_back(static_cast<float>(tensor.real((n * tensor.extents[1] + c) * pixels + pixel)));
        return turned;
    }

    DnnCase mOf;
    Convolution mLayer;
    std::vector<HostTensor> mTensors;
    Graph mGraph;
    NodeId mNode{kNone};
    Target mTarget{cudaRow().target(0)};
    std::vector<void*> mMemory;
};

void expectConvolved(DnnCase of)
{
    DnnRun run{std::move(of)};
    auto const got = run.run();
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_THAT(*got, testing::Pointwise(testing::FloatNear(1e-4F), run.expected()));
}

int64_t executions()
{
    return tenonFakeCallsOf("cudnnBackendExecute");
}
} // namespace

TEST(LibraryConvolution, eachPlanOfTheLibrarysIsATactic)
{
    for (int64_t tactic = 0; tactic < 8; ++tactic) // Few of the fake's may be taken: the last one stands for the rest.
    {
        SCOPED_TRACE(tactic);
        int64_t const before = executions();
        expectConvolved({.tactic = tactic});
        EXPECT_EQ(executions(), before + 1);
    }
}

TEST(LibraryConvolution, enginesThatRoundAreTakenByTacticsOfTheirOwn)
{
    DnnRun const run{DnnCase{}};
    Offers const offers = run.offers();
    EXPECT_EQ(std::ranges::count(offers.accepted, std::string{"cudnn"}, &Offer::candidate), 16);
    int64_t const before = executions();
    expectConvolved({.tactic = 8});
    EXPECT_EQ(executions(), before + 1);
}

TEST(LibraryConvolution, whatTheLibraryHasOperationsForIsInItsKernel)
{
    int64_t const launches = tenonFakeCallsOf("cuLaunchKernel");
    expectConvolved({.steps = {{EpilogueKind::kAdd}, {EpilogueKind::kRelu}}});
    expectConvolved(
        {.steps = {{EpilogueKind::kClip, 0.0F, 6.0F}, {EpilogueKind::kMultiply}, {EpilogueKind::kLeakyRelu, 0.1F}}});
    EXPECT_EQ(tenonFakeCallsOf("cuLaunchKernel"), launches);
}

TEST(LibraryConvolution, theRestIsAKernelOfOursBehindIt)
{
    std::vector<EpilogueStep> const steps{
        {EpilogueKind::kRelu}, {EpilogueKind::kHardSwish, 0.2F, 0.5F}, {EpilogueKind::kAdd}};
    int64_t const before = executions();
    int64_t const launches = tenonFakeCallsOf("cuLaunchKernel");
    expectConvolved({.steps = steps});
    expectConvolved({.channels = 5, .maps = 7, .steps = steps}); // Nothing is fused with channels that fill no packs.
    EXPECT_EQ(executions(), before + 2);
    EXPECT_EQ(tenonFakeCallsOf("cuLaunchKernel"), launches + 2);
}

TEST(LibraryConvolution, addressesThatAreNotAlignedAreForOurKernel)
{
    int64_t const before = executions();
    expectConvolved({.steps = {{EpilogueKind::kAdd}, {EpilogueKind::kRelu}}, .shift = 1});
    EXPECT_EQ(executions(), before);
    expectConvolved({.shift = 4});
    EXPECT_EQ(executions(), before + 1);
}

TEST(LibraryConvolution, whatFailsBeforeTheRunIsDoneByOurKernel)
{
    for (char const* const name : {"cudnnCreate", "cudnnBackendCreateDescriptor", "cudnnBackendSetAttribute",
             "cudnnBackendFinalize", "cudnnBackendGetAttribute"})
    {
        SCOPED_TRACE(name);
        constexpr int kInternalError{4000};
        int64_t const before = executions();
        tenonFakeFailAll(name, kInternalError);
        expectConvolved({.steps = {{EpilogueKind::kRelu}}, .gpu = 1}); // Whose handle nobody has made yet.
        EXPECT_STREQ(tenonFakeFailed(), name);
        tenonFakeFailAll(nullptr, 0);
        EXPECT_EQ(executions(), before);
    }
    int64_t const before = executions();
    expectConvolved({.gpu = 1});
    EXPECT_EQ(executions(), before + 1);
}

TEST(LibraryConvolution, whatFailsInTheRunIsToldByItsName)
{
    for (char const* const name : {"cudnnSetStream", "cudnnBackendExecute"})
    {
        DnnRun run{DnnCase{}};
        constexpr int kBadParameter{2000};
        tenonFakeFailAll(name, kBadParameter);
        auto const got = run.run();
        tenonFakeFailAll(nullptr, 0);
        ASSERT_FALSE(got);
        EXPECT_THAT(got.error().message, HasSubstr(fmt::format("{}: CUDNN_STATUS_BAD_PARAM (2000)", name)));
    }
    expectConvolved({});
}

TEST(LibraryConvolution, filtersArePackedReversiblyOrTakenAsTheyAre)
{
    DnnRun run{DnnCase{}};
    auto const spec = run.spec();
    ASSERT_TRUE(spec) << spec.error().message;
    ASSERT_EQ(spec->packed.size(), 1U);
    PackedWeight const& packed = spec->packed.front();
    auto const back =
        unpackCudaWeight(packed.packing, packed.data->dtype, packed.data->extents, packed.data->data, packed.bytes);
    ASSERT_TRUE(back) << back.error().message;
    auto const plain = wholeNumbers(packed.data->extents, 5).toConstant();
    EXPECT_EQ(std::memcmp((*back)->data, plain->data, packed.bytes), 0);
    EXPECT_NE(std::memcmp(packed.data->data, plain->data, packed.bytes), 0);
    int64_t const before = executions();
    expectConvolved({.packing = ""}); // Row-major, as in a plan for another machine.
    EXPECT_EQ(executions(), before);
}

TEST(LibraryConvolution, plansThatLieAreRefused)
{
    auto const messageOf = [](DnnCase of) {
        DnnRun run{std::move(of)};
        auto const got = run.run();
        return got ? std::string{"it ran"} : got.error().message;
    };
    EXPECT_THAT(messageOf({.packing = "columns16"}), HasSubstr("packed as 'columns16'"));
    EXPECT_THAT(messageOf({.missing = 4}), HasSubstr("bytes where"));
    DnnRun run{DnnCase{}};
    auto spec = run.spec();
    ASSERT_TRUE(spec);
    auto args = decodeLayerArgs(spec->args);
    ASSERT_TRUE(args);
    for (int32_t const tactic : {-1, 16, 1 << 30})
    {
        struct Choices
        {
            int32_t tactic{0};
            static constexpr auto fields()
            {
                return std::tuple{field(1, "tactic", &Choices::tactic)};
            }
        };
        LayerArgs lying = *args;
        lying.choices = stored(Choices{tactic});
        spec->args = encodeLayerArgs(lying);
        auto const got = run.runSpec(*spec);
        ASSERT_FALSE(got) << tactic;
        EXPECT_THAT(got.error().message, HasSubstr(fmt::format("tactic {}", tactic)));
    }
    std::vector<float> const few(4);
    EXPECT_FALSE(unpackCudaWeight(cuda::kFilterPacking, DType::kFLOAT, {2, 2, 3}, few.data(), sizeof few));
    EXPECT_FALSE(unpackCudaWeight(cuda::kFilterPacking, DType::kFLOAT, {2, 2}, few.data(), 4 * sizeof(float)));
    EXPECT_FALSE(
        unpackCudaWeight(cuda::kFilterPacking, DType::kFLOAT, {INT64_MAX, 2, 2}, few.data(), 4 * sizeof(float)));
}

TEST(LibraryConvolution, aLibraryThatIsMissingOrTooOldIsSaid)
{
    auto const none = cuda::openCudnn({"libnot-there.so.9"});
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().message, HasSubstr("cuDNN 9 is not there (libnot-there.so.9)"));
    auto const other = cuda::openCudnn({"libm.so.6"});
    ASSERT_FALSE(other);
    EXPECT_THAT(other.error().message, HasSubstr("it lacks cudnnCreate"));
}

} // namespace tenon::test
