// Products by cuBLASLt on the fake library: what it is told, what it is given, and what happens where it fails.
#include "backend/layer_args.h"
#include "backends/cuda/cublas_lt.h"
#include "backends/rows.h"
#include "device/measure.h"
#include "devices/fake_cuda/fake_cuda.h"
#include "layers/convolution.h"
#include "layers/matrix_multiply.h"

#include <gmock/gmock.h>

#include <algorithm>

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
};

std::vector<float> numbers(int64_t count, int step)
{
    std::vector<float> all(static_cast<size_t>(count));
    for (size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<float>(static_cast<int>(i) * step % 7 - 3);
    return all;
}

std::vector<float> expectedOf(ProductCase const& of)
{
    std::vector<float> const a = numbers(volumeOf(of.a), 3);
    std::vector<float> const b = numbers(volumeOf(of.b), 5);
    std::vector<float> const bias = numbers(of.b[2], 1);
    auto const depth = static_cast<size_t>(of.a[2]);
    auto const columns = static_cast<size_t>(of.b[2]);
    std::vector<float> out(static_cast<size_t>(of.a[0] * of.a[1]) * columns);
    for (size_t i = 0; i < out.size(); ++i)
    {
        float sum{0.0F};
        for (size_t k = 0; k < depth; ++k)
            sum += a[i / columns * depth + k] * b[k * columns + i % columns];
        out[i] = 2.0F * sum + bias[i % columns];
    }
    return out;
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
    MatrixMultiply layer;
    layer.alpha = 2.0F;
    Graph graph;
    std::vector<std::vector<int64_t>> const extents{of.a, of.b, {of.b[2]}};
    std::vector<ValueId> values;
    for (auto const& each : extents)
        values.push_back(graph.addInput(fmt::format("in{}", values.size()), {DType::kFLOAT, shapeOf(each)}));
    NodeId const node = TENON_TRY(graph.addNode(makeLayer(layer), "layer", values));
    Target const target = entry.target(of.gpu);
    Problem const problem{&graph, &graph.node(node), {}, &target};
    Backend const backend = entry.backend();
    std::vector<Offer> const offers = backend.offers(problem).accepted;
    auto const offer = std::ranges::find_if(
        offers, [&](Offer const& each) { return each.candidate == "cublaslt" && each.tactic == of.tactic; });
    if (offer == offers.end())
        return badArgument("no offer of cuBLASLt's with tactic {}", of.tactic);
    KernelSpec const spec = TENON_TRY(backend.build(problem, *offer));
    std::unique_ptr<Kernel> const kernel =
        TENON_TRY(device.load({.kernel = spec.kernel, .args = spec.args, .weights = std::vector<WeightArg>(3)}));
    std::vector<TensorArg> in;
    for (auto const& each : extents)
        in.push_back({DType::kFLOAT, Layout::kLinear, each});
    TensorArg const out{DType::kFLOAT, Layout::kLinear, {of.a[0], of.a[1], of.b[2]}};
    auto const prepared = TENON_TRY(kernel->prepare(in, {&out, 1}, 1));
    std::vector<float> const expected = expectedOf(of);
    Memory const a{device, static_cast<size_t>(volumeOf(of.a)) + of.shift};
    Memory const b{device, static_cast<size_t>(volumeOf(of.b))};
    Memory const bias{device, static_cast<size_t>(of.b[2])};
    Memory const c{device, expected.size()};
    Memory const scratch{device, prepared->scratchBytes() / sizeof(float) + 1};
    auto const fill = [&](float* to, std::vector<float> const& from) {
        return device.copyFromHost(to, from.data(), from.size() * sizeof(float), kApartStream);
    };
    TENON_TRY(fill(a.data + of.shift, numbers(volumeOf(of.a), 3)));
    TENON_TRY(fill(b.data, numbers(volumeOf(of.b), 5)));
    TENON_TRY(fill(bias.data, numbers(of.b[2], 1)));
    TENON_TRY(fill(c.data, std::vector<float>(expected.size(), -77.0F)));
    void const* inputs[]{a.data + of.shift, b.data, bias.data};
    void* outputs[]{c.data};
    Launch launch;
    launch.prepared = prepared.get();
    launch.call = {.inputs = inputs, .outputs = outputs, .scratch = scratch.data};
    launch.inputCount = 3;
    launch.outputCount = 1;
    RunFailure failure;
    TENON_TRY(device.run({&launch, 1}, {.stream = kApartStream}, failure));
    std::vector<float> got(expected.size());
    TENON_TRY(device.copyToHost(got.data(), c.data, got.size() * sizeof(float), kApartStream));
    return got;
}

void expectRight(ProductCase const& of)
{
    auto const got = multiply(of);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(*got, expectedOf(of));
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
} // namespace

TEST(LibraryProduct, eachProposalOfTheLibrarysIsATactic)
{
    for (int64_t tactic = 0; tactic < 4; ++tactic) // The fake has three: the fourth is its last again.
    {
        int64_t const before = libraryProducts();
        expectRight({.tactic = tactic});
        EXPECT_EQ(libraryProducts(), before + 1) << tactic; // One b for all of a: one product.
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
    auto const all = allBackends();
    BackendEntry const& entry = *std::ranges::find(all, std::string_view{"cuda"}, &BackendEntry::name);
    Target const target = entry.target(0);
    for (int32_t const size : {1, 3})
    {
        Convolution layer;
        layer.nbOutputMaps = 16;
        layer.kernelSize = {2, {size, size}};
        Graph graph;
        std::vector<std::vector<int64_t>> const extents{{2, 8, 6, 5}, {16, 8, size, size}, {16}};
        std::vector<ValueId> values;
        for (auto const& each : extents)
            values.push_back(graph.addInput(fmt::format("in{}", values.size()), {DType::kHALF, shapeOf(each)}));
        auto const node = graph.addNode(makeLayer(layer), "layer", values);
        ASSERT_TRUE(node) << node.error().message;
        Problem const problem{&graph, &graph.node(*node), {}, &target};
        Offers const offers = entry.backend().offers(problem);
        auto const offer = std::ranges::find(offers.accepted, std::string{"cublaslt"}, &Offer::candidate);
        if (size == 3)
        {
            EXPECT_EQ(offer, offers.accepted.end());
            auto const refusal = std::ranges::find(offers.refused, std::string{"cublaslt"}, &Refusal::candidate);
            ASSERT_NE(refusal, offers.refused.end());
            EXPECT_THAT(refusal->reason, HasSubstr("windows of single elements"));
            continue;
        }
        ASSERT_NE(offer, offers.accepted.end());
        int64_t const before = libraryProducts();
        auto const done = runOnce(entry, problem, *offer, extents);
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_EQ(libraryProducts(), before + 1);
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
