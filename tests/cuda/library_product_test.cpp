// Products by cuBLASLt on the fake library: what it is told, what it is given, and what happens where it fails.
#include "backend/layer_args.h"
#include "backends/cuda/cublas_lt.h"
#include "backends/rows.h"
#include "device/measure.h"
#include "devices/fake_cuda/fake_cuda.h"
#include "ir/host_tensor.h"
#include "layers/convolution.h"
#include "layers/matrix_multiply.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

namespace tenon::test
{

namespace
{
using nvinfer1::MatrixOperation;
using testing::HasSubstr;

//! out[z, i, j] = 2 · sum over k of a[z, i, k] · b[k, j], plus bias[j]; of whole numbers, which add up in any order.
struct ProductCase
{
    std::vector<int64_t> a{3, 10, 24};
    std::vector<int64_t> b{1, 24, 17};
    size_t shift{0}; //!< Elements by which a stands off an address that is aligned.
    int64_t tactic{0};
    int32_t gpu{0};
    std::vector<EpilogueStep> steps{}; //!< Each sum takes one more tensor like the output.
    float unit{1.0F};                  //!< All numbers are multiples of it.
    float alpha{2.0F};
    std::string candidate{"cublaslt"};
};

std::vector<float> numbers(int64_t count, int step, float unit = 1.0F)
{
    std::vector<float> all(static_cast<size_t>(count));
    for (size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<float>(static_cast<int>(i) * step % 7 - 3) * unit;
    return all;
}

std::vector<std::vector<int64_t>> extentsOf(ProductCase const& of)
{
    std::vector<std::vector<int64_t>> extents{of.a, of.b, {of.b[2]}};
    int64_t const extras = Epilogue{of.steps}.extraInputs();
    extents.insert(extents.end(), static_cast<size_t>(extras), {of.a[0], of.a[1], of.b[2]});
    return extents;
}

//! Of operand i, in the order of the layer.
std::vector<float> contentsOf(ProductCase const& of, size_t i)
{
    constexpr std::array<int, 5> kSteps{3, 5, 1, 2, 4};
    return numbers(volumeOf(extentsOf(of)[i]), kSteps[i], of.unit);
}

MatrixMultiply layerOf(ProductCase const& of)
{
    MatrixMultiply layer;
    layer.alpha = of.alpha;
    layer.epilogue.steps = of.steps;
    return layer;
}

std::vector<float> expectedOf(ProductCase const& of)
{
    std::vector<HostTensor> operands;
    for (std::vector<int64_t> const& extents : extentsOf(of))
    {
        std::vector<float> const contents = contentsOf(of, operands.size());
        operands.push_back(HostTensor::fromBytes(DType::kFLOAT, extents, contents.data()));
    }
    HostTensors views;
    for (HostTensor const& operand : operands)
        views.push_back(&operand);
    std::vector<double> const reals = layerOf(of).reference(views)->front().reals;
    return {reals.begin(), reals.end()};
}

class Memory
{
  public:
    Memory(Device& device, size_t count)
        : mDevice{device},
          data{static_cast<float*>(device.allocate(count * sizeof(float)))}
    {
    }
    ~Memory()
    {
        mDevice.release(data);
    }
    Memory(Memory const&) = delete;
    Memory& operator=(Memory const&) = delete;

  private:
    Device& mDevice;

  public:
    float* data;
};

Result<std::vector<float>> multiply(ProductCase const& of)
{
    auto const all = allBackends();
    BackendEntry const& entry = *std::ranges::find(all, std::string_view{"cuda"}, &BackendEntry::name);
    Device& device = entry.device(of.gpu);
    Graph graph;
    std::vector<std::vector<int64_t>> const extents = extentsOf(of);
    std::vector<ValueId> values;
    for (auto const& each : extents)
        values.push_back(graph.addInput(fmt::format("in{}", values.size()), {DType::kFLOAT, shapeOf(each)}));
    NodeId const node = TENON_TRY(graph.addNode(makeLayer(layerOf(of)), "layer", values));
    Target const target = entry.target(of.gpu);
    Problem const problem{&graph, &graph.node(node), {}, &target};
    Backend const backend = entry.backend();
    std::vector<Offer> const offers = backend.offers(problem).accepted;
    auto const offer = std::ranges::find_if(
        offers, [&](Offer const& each) { return each.candidate == of.candidate && each.tactic == of.tactic; });
    if (offer == offers.end())
        return badArgument("no offer of {} with tactic {}", of.candidate, of.tactic);
    KernelSpec const spec = TENON_TRY(backend.build(problem, *offer));
    std::unique_ptr<Kernel> const kernel = TENON_TRY(
        device.load({.kernel = spec.kernel, .args = spec.args, .weights = std::vector<WeightArg>(extents.size())}));
    std::vector<TensorArg> in;
    for (auto const& each : extents)
        in.push_back({DType::kFLOAT, Layout::kLinear, each});
    TensorArg const out{DType::kFLOAT, Layout::kLinear, {of.a[0], of.a[1], of.b[2]}};
    auto const prepared = TENON_TRY(kernel->prepare(in, {&out, 1}, 1));
    std::vector<float> got(static_cast<size_t>(volumeOf(out.extents)));
    Memory const c{device, got.size()};
    Memory const scratch{device, prepared->scratchBytes() / sizeof(float) + 1};
    auto const fill = [&](float* to, std::vector<float> const& from) {
        return device.copyFromHost(to, from.data(), from.size() * sizeof(float), kApartStream);
    };
    std::vector<std::unique_ptr<Memory>> memory;
    std::vector<void const*> inputs;
    for (size_t i = 0; i < extents.size(); ++i)
    {
        size_t const shift = i == 0 ? of.shift : 0;
        std::vector<float> const contents = contentsOf(of, i);
        memory.push_back(std::make_unique<Memory>(device, contents.size() + shift));
        inputs.push_back(memory.back()->data + shift);
        TENON_TRY(fill(memory.back()->data + shift, contents));
    }
    TENON_TRY(fill(c.data, std::vector<float>(got.size(), -77.0F)));
    void* outputs[]{c.data};
    Launch launch;
    launch.prepared = prepared.get();
    launch.call = {.inputs = inputs.data(), .outputs = outputs, .scratch = scratch.data};
    launch.inputCount = inputs.size();
    launch.outputCount = 1;
    RunFailure failure;
    TENON_TRY(device.run({&launch, 1}, {.stream = kApartStream}, failure));
    TENON_TRY(device.copyToHost(got.data(), c.data, got.size() * sizeof(float), kApartStream));
    return got;
}

void expectRight(ProductCase const& of)
{
    auto const got = multiply(of);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_THAT(*got, testing::Pointwise(testing::FloatNear(1e-4F), expectedOf(of)));
}

//! One run of an offer on random float16 numbers.
Result<Done> runOnce(BackendEntry const& entry, Problem const& problem, Offer const& offer,
    std::vector<std::vector<int64_t>> const& extents)
{
    Device& device = entry.device(0);
    KernelSpec const spec = TENON_TRY(entry.backend().build(problem, offer));
    std::unique_ptr<Kernel> const kernel = TENON_TRY(
        device.load({.kernel = spec.kernel, .args = spec.args, .weights = std::vector<WeightArg>(extents.size())}));
    TrialOperands operands{device};
    std::vector<TensorArg> in;
    for (size_t i = 0; i < extents.size(); ++i)
    {
        in.push_back({DType::kHALF, offer.inputs[i], extents[i]});
        TENON_TRY(operands.addInput(in.back()));
    }
    TensorArg const out{DType::kHALF, offer.outputs[0], problem.typicalExtents(problem.output())};
    TENON_TRY(operands.addOutput(out));
    auto const prepared = TENON_TRY(kernel->prepare(in, {&out, 1}, 1));
    Launch const launch = TENON_TRY(operands.launch(*prepared));
    RunFailure failure;
    TENON_TRY(device.run({&launch, 1}, {.stream = kApartStream}, failure));
    return Done{};
}

//! Products that the library itself has computed so far.
int64_t libraryProducts()
{
    return tenonFakeCallsOf("cublasLtMatmul");
}

//! That a convolution of float16 is one product of the library's, or that the candidate refuses it with these words.
void expectProduct(Convolution const& layer, std::vector<std::vector<int64_t>> const& extents,
    std::string const& candidate, std::string const& objection)
{
    auto const all = allBackends();
    BackendEntry const& entry = *std::ranges::find(all, std::string_view{"cuda"}, &BackendEntry::name);
    Target const target = entry.target(0);
    Graph graph;
    std::vector<ValueId> values;
    for (auto const& each : extents)
        values.push_back(graph.addInput(fmt::format("in{}", values.size()), {DType::kHALF, shapeOf(each)}));
    auto const node = graph.addNode(makeLayer(layer), "layer", values);
    ASSERT_TRUE(node) << node.error().message;
    Problem const problem{&graph, &graph.node(*node), {}, &target};
    Offers const offers = entry.backend().offers(problem);
    auto const offer = std::ranges::find(offers.accepted, candidate, &Offer::candidate);
    if (!objection.empty())
    {
        EXPECT_EQ(offer, offers.accepted.end());
        auto const refusal = std::ranges::find(offers.refused, candidate, &Refusal::candidate);
        ASSERT_NE(refusal, offers.refused.end());
        EXPECT_THAT(refusal->reason, HasSubstr(objection));
        return;
    }
    ASSERT_NE(offer, offers.accepted.end());
    int64_t const before = libraryProducts();
    auto const done = runOnce(entry, problem, *offer, extents);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(libraryProducts(), before + 1);
}
} // namespace

TEST(LibraryProduct, eachProposalOfTheLibrarysIsATactic)
{
    for (int64_t tactic = 0; tactic < 8; ++tactic) // The fake has three: the others are its last again.
    {
        int64_t const before = libraryProducts();
        expectRight({.tactic = tactic});
        EXPECT_EQ(libraryProducts(), before + 1) << tactic; // One b for all of a: one product.
    }
}

TEST(LibraryProduct, epiloguesAreInTheLibrarysKernelAsFarAsItCan)
{
    auto const launchesOf = [](std::vector<EpilogueStep> const& steps) {
        int64_t const before = libraryProducts();
        int64_t const launches = tenonFakeCallsOf("cuLaunchKernel");
        expectRight({.steps = steps});
        EXPECT_EQ(libraryProducts(), before + 1);
        return tenonFakeCallsOf("cuLaunchKernel") - launches;
    };
    EpilogueStep const add{EpilogueKind::kAdd};
    EpilogueStep const relu{EpilogueKind::kRelu};
    EXPECT_EQ(launchesOf({relu}), 0);
    EXPECT_EQ(launchesOf({add}), 0);
    EXPECT_EQ(launchesOf({add, relu}), 0);
    EXPECT_EQ(launchesOf({{EpilogueKind::kGeluTanh}}), 0);
    EXPECT_EQ(launchesOf({{EpilogueKind::kGeluErf}}), 1); // The library's is another one.
    EXPECT_EQ(launchesOf({relu, add}), 1);
    EXPECT_EQ(launchesOf({add, relu, add, {EpilogueKind::kSilu}}), 1);
}

TEST(LibraryProduct, cudnnHasTheEpiloguesThatCublasltLacks)
{
    auto const executions = [] { return tenonFakeCallsOf("cudnnBackendExecute"); };
    constexpr int64_t kRounding{8}; // Its products of float32 round operands, and are those tactics alone.
    ProductCase of{.b = {1, 24, 16},
        .tactic = kRounding,
        .steps = {{EpilogueKind::kGeluErf}, {EpilogueKind::kAdd}},
        .alpha = 1.0F,
        .candidate = "cudnn"};
    int64_t const before = executions();
    int64_t const launches = tenonFakeCallsOf("cuLaunchKernel");
    expectRight(of);
    of.a = {3, 10, 24};
    of.b = {3, 24, 16}; // A batch.
    of.tactic = kRounding + 2;
    expectRight(of);
    EXPECT_EQ(executions(), before + 2);
    EXPECT_EQ(tenonFakeCallsOf("cuLaunchKernel"), launches);
    of.shift = 1; // An address that it does not take, and columns that fill no packs: cuBLASLt does these.
    expectRight(of);
    of.shift = 0;
    of.b = {1, 24, 17};
    expectRight(of);
    EXPECT_EQ(executions(), before + 2);
    of.alpha = 2.0F;
    EXPECT_FALSE(multiply(of));
    of.alpha = 1.0F;
    of.tactic = 0;
    EXPECT_FALSE(multiply(of)) << "it would round operands that must not be";
    of = {.tactic = kRounding, .alpha = 1.0F, .candidate = "cudnn"};
    of.steps = {{EpilogueKind::kAdd}, {EpilogueKind::kGeluTanh}};
    EXPECT_FALSE(multiply(of)) << "it is not offered where cuBLASLt does all in one kernel";
}

TEST(LibraryProduct, operandsAreRoundedToTf32OnlyByTacticsOfTheirOwn)
{
    constexpr float kUnit{1.0F + 1.0F / 4096.0F}; // One digit more than TF32 has.
    constexpr int64_t kRounding{8};
    expectRight({.unit = kUnit});
    auto const rounded = multiply({.tactic = kRounding, .unit = kUnit});
    ASSERT_TRUE(rounded) << rounded.error().message;
    std::vector<float> const exact = expectedOf({.unit = kUnit});
    EXPECT_NE(*rounded, exact);
    EXPECT_THAT(*rounded, testing::Pointwise(testing::FloatNear(0.5F), exact));
}

TEST(LibraryProduct, tacticsThatRoundAreOfferedWhereTheTargetAllowsThem)
{
    auto const all = allBackends();
    BackendEntry const& entry = *std::ranges::find(all, std::string_view{"cuda"}, &BackendEntry::name);
    Target target = entry.target(0);
    ASSERT_TRUE(target.rates.hasTf32);
    for (auto const& [type, isAllowed, expected] : std::vector<std::tuple<DType, bool, int64_t>>{
             {DType::kFLOAT, true, 16}, {DType::kFLOAT, false, 8}, {DType::kHALF, true, 8}})
    {
        target.rates.hasTf32 = isAllowed;
        Graph graph;
        ValueId const a = graph.addInput("a", {type, shapeOf({4, 6})});
        ValueId const b = graph.addInput("b", {type, shapeOf({6, 5})});
        auto const node = graph.addNode(makeLayer(MatrixMultiply{}), "layer", {a, b});
        ASSERT_TRUE(node) << node.error().message;
        Offers const offers = entry.backend().offers({&graph, &graph.node(*node), {}, &target});
        EXPECT_EQ(std::ranges::count(offers.accepted, std::string{"cublaslt"}, &Offer::candidate), expected);
    }
}

TEST(LibraryProduct, addressesThatAreNotAlignedHaveAnAlgorithmOfTheirOwn)
{
    int64_t const before = libraryProducts();
    expectRight({.shift = 1});
    expectRight({.shift = 4});
    EXPECT_EQ(libraryProducts(), before + 2);
}

TEST(LibraryProduct, convolutionsOfSinglePixelsAreProducts)
{
    for (int32_t const size : {1, 3})
    {
        Convolution layer;
        layer.nbOutputMaps = 16;
        layer.kernelSize = {2, {size, size}};
        expectProduct(layer, {{2, 8, 6, 5}, {16, 8, size, size}, {16}}, "cublaslt",
            size == 1 ? "" : "windows of single elements");
    }
}

TEST(LibraryProduct, convolutionsOfWindowsSideBySideAreProducts)
{
    using enum nvinfer1::PaddingMode;
    // A width of 7 is no multiple of windows: rounded up, the last one reaches beyond it.
    std::vector<std::tuple<int32_t, nvinfer1::PaddingMode, std::string>> const cases{{2, kEXPLICIT_ROUND_DOWN, ""},
        {1, kEXPLICIT_ROUND_DOWN, "side by side"}, {2, kEXPLICIT_ROUND_UP, "beyond the input"},
        {2, kSAME_UPPER, "beyond the input"}};
    for (auto const& [stride, mode, objection] : cases)
    {
        Convolution layer;
        layer.paddingMode = mode;
        layer.nbOutputMaps = 16;
        layer.kernelSize = {2, {2, 2}};
        layer.stride = {2, {stride, 2}};
        expectProduct(layer, {{2, 3, 8, 7}, {16, 3, 2, 2}, {16}}, "patches", objection);
    }
}

TEST(LibraryProduct, withoutDepthIsOurOwn)
{
    int64_t const before = libraryProducts();
    expectRight({.a = {2, 3, 0}, .b = {1, 0, 5}});
    EXPECT_EQ(libraryProducts(), before);
}

TEST(LibraryProduct, whatFailsBeforeTheRunIsDoneByOurOwnKernel)
{
    for (char const* const name :
        {"cublasLtCreate", "cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute", "cublasLtMatrixLayoutCreate",
            "cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceSetAttribute", "cublasLtMatmulAlgoGetHeuristic"})
    {
        SCOPED_TRACE(name);
        constexpr int kInvalidValue{7};
        int64_t const before = libraryProducts();
        tenonFakeFailAll(name, kInvalidValue);
        expectRight({.gpu = 1}); // Whose handle nobody has made yet.
        EXPECT_STREQ(tenonFakeFailed(), name);
        tenonFakeFailAll(nullptr, 0);
        EXPECT_EQ(libraryProducts(), before);
    }
    int64_t const before = libraryProducts();
    expectRight({.gpu = 1});
    EXPECT_EQ(libraryProducts(), before + 1);
}

TEST(LibraryProduct, whatFailsInTheRunIsToldByItsName)
{
    constexpr int kInvalidValue{7};
    tenonFakeFailAll("cublasLtMatmul", kInvalidValue);
    auto const got = multiply({});
    tenonFakeFailAll(nullptr, 0);
    ASSERT_FALSE(got);
    EXPECT_THAT(got.error().message, HasSubstr("cublasLtMatmul: CUBLAS_STATUS_INVALID_VALUE (7)"));
    expectRight({});
}

TEST(LibraryProduct, aLibraryThatIsMissingOrTooOldIsSaid)
{
    auto const none = cuda::openCublasLt({"libnot-there.so.13"});
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().message, HasSubstr("cuBLASLt is not there (libnot-there.so.13)"));
    auto const other = cuda::openCublasLt({"libm.so.6"});
    ASSERT_FALSE(other);
    EXPECT_THAT(other.error().message, HasSubstr("it lacks cublasLtCreate"));
}

} // namespace tenon::test
