// Large products by own tiles: what they are offered for, what the driver is told, and what happens where it fails.
#include "backends/rows.h"
#include "devices/fake_cuda/fake_cuda.h"
#include "ir/host_tensor.h"
#include "layers/convolution.h"
#include "layers/matrix_multiply.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace tenon::test
{

namespace
{
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

BackendEntry const& cudaEntry()
{
    auto const all = allBackends();
    return *std::ranges::find(all, std::string_view{"cuda"}, &BackendEntry::name);
}

struct LargeSize
{
    int64_t rows{4096};
    int64_t depth{768};
    int64_t columns{3072};
    int64_t batch{1}; //!< Of the right operand.
    DType type{DType::kHALF};
    std::string architecture{"sm_90"};
};

//! Tactics of large tiles for [batch, rows, depth] by [batch, depth, columns].
std::vector<int64_t> largeTactics(LargeSize const& of)
{
    Graph graph;
    ValueId const a = graph.addInput("a", {of.type, shapeOf({of.batch, of.rows, of.depth})});
    ValueId const b = graph.addInput("b", {of.type, shapeOf({of.batch, of.depth, of.columns})});
    auto const node = graph.addNode(makeLayer(MatrixMultiply{}), "layer", {a, b});
    EXPECT_TRUE(node);
    Target target = cudaEntry().target(0);
    target.architecture = of.architecture;
    std::vector<int64_t> tactics;
    for (Offer const& offer : cudaEntry().backend().offers({&graph, &graph.node(*node), {}, &target}).accepted)
        if (offer.candidate == "large tiles")
            tactics.push_back(offer.tactic);
    return tactics;
}

//! One run of a product of zeros by tactic 0, whose left operand stands so many bytes off an address that is aligned.
Result<Done> multiplyOnce(size_t shift)
{
    constexpr int64_t kRows{20};
    constexpr int64_t kWidth{16}; // Depth and columns.
    constexpr size_t kBytes{4096};
    Device& device = cudaEntry().device(0);
    Graph graph;
    TensorType const a{DType::kHALF, shapeOf({kRows, kWidth})};
    TensorType const b{DType::kHALF, shapeOf({kWidth, kWidth})};
    std::vector<ValueId> const values{graph.addInput("a", a), graph.addInput("b", b)};
    NodeId const node = TENON_TRY(graph.addNode(makeLayer(MatrixMultiply{}), "layer", values));
    Target const target = cudaEntry().target(0);
    Offer offer;
    offer.candidate = "large tiles";
    offer.inputs.assign(2, Layout::kLinear);
    offer.outputs = {Layout::kLinear};
    KernelSpec const spec = TENON_TRY(cudaEntry().backend().build({&graph, &graph.node(node), {}, &target}, offer));
    std::unique_ptr<Kernel> const kernel =
        TENON_TRY(device.load({.kernel = spec.kernel, .args = spec.args, .weights = std::vector<WeightArg>(2)}));
    std::vector<TensorArg> const in{
        {DType::kHALF, Layout::kLinear, {kRows, kWidth}}, {DType::kHALF, Layout::kLinear, {kWidth, kWidth}}};
    TensorArg const out{DType::kHALF, Layout::kLinear, {kRows, kWidth}};
    auto const prepared = TENON_TRY(kernel->prepare(in, {&out, 1}, 1));
    std::vector<std::byte> const zeros(kBytes);
    std::vector<std::byte*> memory;
    for (size_t const bytes : {kBytes, kBytes, kBytes, prepared->scratchBytes() + 1})
        memory.push_back(static_cast<std::byte*>(device.allocate(bytes)));
    for (size_t i = 0; i < 3; ++i)
        TENON_TRY(device.copyFromHost(memory[i], zeros.data(), kBytes, kApartStream));
    void const* inputs[]{memory[0] + shift, memory[1]};
    void* outputs[]{memory[2]};
    Launch launch;
    launch.prepared = prepared.get();
    launch.call = {.inputs = inputs, .outputs = outputs, .scratch = memory[3]};
    launch.inputCount = 2;
    launch.outputCount = 1;
    RunFailure failure;
    auto const done = device.run({&launch, 1}, {.stream = kApartStream}, failure);
    for (std::byte* const each : memory)
        device.release(each);
    if (!done)
        return done.error();
    return Done{};
}
} // namespace

TEST(LargeProduct, tilesAreOfferedThatLeaveFewMultiprocessorsIdle)
{
    EXPECT_THAT(largeTactics({}), ElementsAre(0, 1, 2));
    EXPECT_THAT(largeTactics({.depth = 3072, .columns = 768}), ElementsAre(1, 2)) << "192 tiles of 128, 128 of 192";
    EXPECT_THAT(largeTactics({.rows = 12288, .depth = 4096, .columns = 1024}), ElementsAre(0)) << "1024 is no 6 · 192";
    EXPECT_THAT(largeTactics({.type = DType::kBF16}), ElementsAre(0, 1, 2));
}

TEST(LargeProduct, whatTheKernelCannotIsRefused)
{
    EXPECT_THAT(largeTactics({.rows = 100}), IsEmpty()) << "does not fill a GPU";
    EXPECT_THAT(largeTactics({.columns = 3076}), IsEmpty()) << "rows of no multiple of 16 bytes";
    EXPECT_THAT(largeTactics({.depth = 772}), IsEmpty());
    EXPECT_THAT(largeTactics({.batch = 2}), IsEmpty());
    EXPECT_THAT(largeTactics({.type = DType::kFLOAT}), IsEmpty());
    EXPECT_THAT(largeTactics({.architecture = "sm_89"}), IsEmpty());
    EXPECT_THAT(largeTactics({.architecture = "sm_100"}), IsEmpty()) << "has other instructions";
}

TEST(LargeProduct, theDriverDescribesEachMatrix)
{
    int64_t const before = tenonFakeCallsOf("cuTensorMapEncodeTiled");
    auto const done = multiplyOnce(0);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(tenonFakeCallsOf("cuTensorMapEncodeTiled"), before + 3);
}

TEST(LargeProduct, addressesThatAreNotAlignedAreForTheLibrary)
{
    int64_t const before = tenonFakeCallsOf("cuTensorMapEncodeTiled");
    auto const done = multiplyOnce(2);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(tenonFakeCallsOf("cuTensorMapEncodeTiled"), before);
}

TEST(LargeProduct, whatTheDriverRefusesIsToldByItsName)
{
    constexpr int kInvalidValue{1};
    tenonFakeFailAll("cuTensorMapEncodeTiled", kInvalidValue);
    auto const done = multiplyOnce(0);
    tenonFakeFailAll(nullptr, 0);
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message, HasSubstr("cuTensorMapEncodeTiled"));
}

} // namespace tenon::test
