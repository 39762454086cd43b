// What becomes float16 or bfloat16 in a network of float32 that may be rounded.
#include "ir/aligned_constants.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/narrow_types.h"
#include "passes/rewrite.h"
#include "passes/runner.h"

#include "base/half_ranges.h"
#include "layers/element_wise.h"
#include "layers/matrix_multiply.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace tenon::test
{

namespace
{
//! Narrows the graph and cleans it up; the text without names.
std::string narrowed(std::string_view before, NarrowRequest const& request = {})
{
    Graph graph = parsed(before);
    static_cast<void>(narrowTypes(graph, request));
    OptimizeOptions cleaning;
    cleaning.isPortableOnly = true;
    EXPECT_TRUE(optimize(graph, cleaning));
    Result<Done> const sound = verify(graph);
    EXPECT_TRUE(sound) << sound.error().message;
    return print(graph, {.types = false, .names = false});
}
} // namespace

TEST(Narrow, productsAndWhatFollowsThemWithCastsAtTheBorder)
{
    EXPECT_EQ(narrowed(R"(
input %x : float32[N,4,8,8]
const %w : float32[4,4,1,1] = random(1)
%c = Convolution(%x, %w) {NbOutputMaps=4, KernelSizeNd=(1,1)}
%r = Activation(%c) {ActivationType=0}
%p = Pooling(%r) {WindowSizeNd=(2,2), StrideNd=(2,2)}
output %p
)"),
        normalForm(R"(
input %x : float32[N,4,8,8]
const %w : float16[4,4,1,1] = random(1)
%h = Cast(%x) {ToType=1}
%c = Convolution(%h, %w) {NbOutputMaps=4, KernelSizeNd=(1,1)}
%r = Activation(%c) {ActivationType=0}
%p = Pooling(%r) {WindowSizeNd=(2,2), StrideNd=(2,2)}
%y = Cast(%p) {ToType=0}
output %y
)"));
}

//! Where the device's int8 products give the type: what they read is dequantized to it, and what quantizes reads it.
TEST(Narrow, productsOfDequantizedOperandsWhereTheDeviceHasThem)
{
    constexpr std::string_view kText{R"(
input %q : int8[N,8]
const %s : float32[] = 0.125
const %w : int8[8,4] = random(1)
%x = Dequantize(%q, %s) {Axis=-2}
%k = Dequantize(%w, %s) {Axis=-2}
%y = MatrixMultiply(%x, %k)
%z = Quantize(%y, %s) {Axis=-2}
output %z
)"};
    EXPECT_EQ(narrowed(kText), normalForm(kText));
    EXPECT_EQ(narrowed(kText, {.narrowsQuantized = true}), normalForm(R"(
input %q : int8[N,8]
const %s : float32[] = 0.125
const %w : int8[8,4] = random(1)
%x = Dequantize(%q, %s) {Axis=-2, ToType=1}
%k = Dequantize(%w, %s) {Axis=-2, ToType=1}
%y = MatrixMultiply(%x, %k)
%z = Quantize(%y, %s) {Axis=-2}
output %z
)"));
}

TEST(Narrow, whatNoProductFeedsStays)
{
    constexpr std::string_view kText{R"(
input %x : float32[N,4]
input %y : float32[N,4]
%s = ElementWise(%x, %y) {Operation=0}
%r = Activation(%s) {ActivationType=1}
output %r
)"};
    EXPECT_EQ(narrowed(kText), normalForm(kText));
}

//! Tables of weights with long rows, and what is added; short rows may be coordinates, and of angles digits count.
TEST(Narrow, embeddings)
{
    EXPECT_EQ(narrowed(R"(
input %i : int64[N,16]
const %w : float32[100,64] = random(1)
const %p : float32[1,16,64] = random(2)
%e = Gather(%w, %i) {GatherAxis=0}
%s = ElementWise(%e, %p) {Operation=0}
output %s
)"),
        normalForm(R"(
input %i : int64[N,16]
const %w : float16[100,64] = random(1)
const %p : float16[1,16,64] = random(2)
%e = Gather(%w, %i) {GatherAxis=0}
%s = ElementWise(%e, %p) {Operation=0}
%y = Cast(%s) {ToType=0}
output %y
)"));
    for (std::string_view const kept : {R"(
input %i : int64[N,16]
const %w : float32[100,63] = random(1)
%e = Gather(%w, %i) {GatherAxis=0}
output %e
)",
             R"(
input %i : int64[N,16]
const %w : float32[100,64] = random(1)
%e = Gather(%w, %i) {GatherAxis=0}
%s = Unary(%e) {Operation=6}
output %s
)"})
        EXPECT_EQ(narrowed(kept), normalForm(kept));
}

TEST(Narrow, exponentialsPowersAndSquaresStayInFloat32)
{
    for (std::string const layer : {"Unary(%m) {Operation=0}", "ElementWise(%m, %m) {Operation=1}",
             "ElementWise(%m, %m) {Operation=6}", "Reduce(%m) {Operation=0, ReduceAxes=2, KeepDimensions=true}"})
    {
        std::string const head{"input %x : float32[N,4]\nconst %w : float32[4,6] = random(1)\n"};
        Graph graph = parsed(head + "%m = MatrixMultiply(%x, %w)\n%e = " + layer + "\noutput %e\n");
        EXPECT_EQ(narrowTypes(graph, {}), 1U) << layer; // The product alone.
        EXPECT_EQ(graph.typeOf(graph.outputs()[0].value).dtype, DType::kFLOAT);
        EXPECT_NE(graph.producerOf(graph.outputs()[0].value)->layer->name(), "Cast") << layer;
    }
}

TEST(Narrow, constantsKeepWhatTheyMean)
{
    auto const count = [](std::string const& layer, std::string const& value) {
        Graph graph = parsed("input %x : float32[N,4]\nconst %w : float32[4,4] = random(1)\nconst %k : float32[1,1] = "
            + value + "\n%m = MatrixMultiply(%x, %w)\n%e = " + layer + "\noutput %e\n");
        return narrowTypes(graph, {});
    };
    EXPECT_EQ(count("Scale(%m, _, _, %k) {Mode=0, hasPower=true}", "2"), 1U);
    EXPECT_EQ(count("ElementWise(%m, %k) {Operation=0}", "0.5"), 2U);
    EXPECT_EQ(count("ElementWise(%m, %k) {Operation=0}", "1e-9"), 1U);    // It would be nothing.
    EXPECT_EQ(count("ElementWise(%m, %k) {Operation=1}", "100000"), 1U);  // It would be infinity.
    EXPECT_EQ(count("ElementWise(%m, %k) {Operation=0}", "-3.4e38"), 2U); // A mask: the lowest number does.
}

//! A learned table that is added has an element near zero now and then; an epsilon is near zero as a whole.
TEST(Narrow, someElementsNextToNothingAmongOthersMayBeNothing)
{
    auto const count = [](int32_t operation, std::string const& elements) {
        Graph graph = parsed("input %x : float32[N,3]\nconst %w : float32[3,3] = random(1)\nconst %k : float32[1,3] = "
            + elements + "\n%m = MatrixMultiply(%x, %w)\n%e = ElementWise(%m, %k) {Operation="
            + std::to_string(operation) + "}\noutput %e\n");
        return narrowTypes(graph, {});
    };
    constexpr int32_t kSum{0};
    constexpr int32_t kProduct{1};
    EXPECT_EQ(count(kSum, "[0.5, 1e-9, -0.02]"), 2U);
    EXPECT_EQ(count(kSum, "[1e-9, -1e-10, 0]"), 1U);
    EXPECT_EQ(count(kSum, "[1e-9, 1e-6, 0]"), 1U); // The other has few digits left, too.
    EXPECT_EQ(count(kProduct, "[0.5, 1e-9, -0.02]"), 1U);
}

//! What a norm gives is cast once, for the product and for the sum behind it.
TEST(Narrow, operandsOfProductsAreCastOnceForSumsToo)
{
    Graph graph = parsed(R"(
input %x : float32[N,4]
const %w : float32[4,4] = random(1)
%n = Activation(%x) {ActivationType=2}
%m = MatrixMultiply(%n, %w)
%s = ElementWise(%m, %n) {Operation=0}
output %s
)");
    EXPECT_EQ(narrowTypes(graph, {}), 2U);
    std::string const text = print(graph, {.types = false, .names = false});
    EXPECT_EQ(text.find("65504"), std::string::npos) << text;
}

//! Positions times frequencies: of the angle 2,000.3 float16 has 2,000.
TEST(Narrow, anglesKeepTheirDigits)
{
    Graph graph = parsed(R"(
input %x : float32[N,8]
const %w : float32[8,8] = random(1)
%m = MatrixMultiply(%x, %w)
%j = Concatenation(%m, %m) {Axis=1}
%c = Unary(%j) {Operation=7}
output %c
)");
    EXPECT_EQ(narrowTypes(graph, {}), 0U);
}

TEST(Narrow, productsKeepWeightsThatAreTooLarge)
{
    for (std::string const weight : {"70000", "-70000", "65504", "1e-9"})
    {
        Graph graph = parsed("input %x : float32[N,4]\nconst %w : float32[4,4] = " + weight
            + "\n%m = MatrixMultiply(%x, %w)\noutput %m\n");
        EXPECT_EQ(narrowTypes(graph, {}), weight.ends_with("70000") ? 0U : 1U) << weight;
    }
}

TEST(Narrow, largeWeightsAtAnyAddressByAnyNumberOfThreads)
{
    constexpr size_t kRows{1024};
    constexpr size_t kColumns{520};
    std::vector<float> numbers(kRows * kColumns);
    for (size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = std::ldexp(static_cast<float>(i % 2048) - 1024.0F, static_cast<int>(i % 23) - 20);
    std::vector<uint8_t> file(numbers.size() * sizeof(float) + 4);
    auto const graphAt = [&](size_t shift) {
        std::memcpy(file.data() + shift, numbers.data(), numbers.size() * sizeof(float));
        Graph graph;
        ValueId const x = graph.addInput("x", {DType::kFLOAT, shapeOf({4, kRows})});
        ValueId const w = graph.addConstant(
            "w", std::make_shared<Constant>(Constant{DType::kFLOAT, {kRows, kColumns}, file.data() + shift, nullptr}));
        NodeId const made = *graph.addNode(makeLayer(MatrixMultiply{}), "m", {x, w});
        graph.markOutput(graph.node(made).output(), "y");
        return graph;
    };
    for (size_t const shift : {0U, 1U, 2U, 3U})
        for (int32_t const threads : {1, 3})
        {
            Graph graph = graphAt(shift);
            ASSERT_EQ(narrowTypes(graph, {.threads = threads}), 1U);
            bool isFound{false};
            for (NodeId const id : graph.order())
                if (Node const& node = graph.node(id); as<MatrixMultiply>(*node.layer) != nullptr)
                {
                    Constant const* const made = graph.constantOf(node.input(1));
                    ASSERT_NE(made, nullptr);
                    std::vector<uint16_t> expected(numbers.size());
                    roundFinite(DType::kHALF, numbers, expected.data());
                    EXPECT_EQ(std::memcmp(made->data, expected.data(), expected.size() * sizeof(uint16_t)), 0);
                    isFound = true;
                }
            EXPECT_TRUE(isFound);
        }
    numbers[numbers.size() - 3] = 70000.0F; // Also of the last part.
    Graph graph = graphAt(1);
    EXPECT_EQ(narrowTypes(graph, {.threads = 2}), 0U);
}

TEST(AlignConstants, whatIsReadAtABadAddressIsCopiedOnceAndStaysTheSame)
{
    std::vector<uint8_t> file(65);
    for (size_t i = 0; i < file.size(); ++i)
        file[i] = static_cast<uint8_t>(i);
    for (size_t const shift : {0U, 1U})
    {
        void const* const data = file.data() + shift;
        Graph graph;
        ValueId const x = graph.addInput("x", {DType::kINT32, shapeOf({4, 4})});
        auto const constant = [&](std::vector<int64_t> extents) {
            return graph.addConstant(
                "c", std::make_shared<Constant>(Constant{DType::kINT32, std::move(extents), data, nullptr}));
        };
        ElementWise const sum{.operation = nvinfer1::ElementWiseOperation::kSUM};
        ValueId const unread = constant({1, 4});
        ValueId const row = constant({1, 4});
        ValueId const all = constant({4, 4});
        NodeId const first = *graph.addNode(makeLayer(sum), "a", {x, row});
        NodeId const second = *graph.addNode(makeLayer(sum), "b", {graph.node(first).output(), all});
        graph.markOutput(graph.node(second).output(), "y");
        alignConstants(graph, 2);
        EXPECT_EQ(graph.constantOf(unread)->data, data);
        EXPECT_EQ(graph.constantOf(row)->data == data, shift == 0);
        EXPECT_EQ(graph.constantOf(row)->data, graph.constantOf(all)->data) << "the same memory";
        EXPECT_EQ(reinterpret_cast<uintptr_t>(graph.constantOf(all)->data) % sizeof(int32_t), 0U);
        EXPECT_EQ(std::memcmp(graph.constantOf(all)->data, data, 64), 0);
    }
}

TEST(Narrow, masksOfTheLowestNumberStayFinite)
{
    Graph graph = parsed(R"(
input %x : float32[N,4]
input %mask : float32[N,4]
const %w : float32[4,4] = random(1)
%m = MatrixMultiply(%x, %w)
%s = ElementWise(%m, %mask) {Operation=0}
%y = SoftMax(%s) {Axes=2}
output %y
)");
    EXPECT_EQ(narrowTypes(graph, {}), 3U);
    std::string const text = print(graph, {.types = false, .names = false});
    EXPECT_NE(text.find("-65504"), std::string::npos) << text;
}

TEST(Narrow, sparedLayersAndInt8ProductsStay)
{
    constexpr std::string_view kText{R"(
input %x : float32[N,4]
const %w : float32[4,4] = random(1)
const %s : float32[] = 0.1
%q = Quantize(%x, %s)
%d = Dequantize(%q, %s)
%m = MatrixMultiply(%d, %w)
%n = MatrixMultiply(%x, %w)
%y = ElementWise(%m, %n) {Operation=0}
output %y
)"};
    Graph graph = parsed(kText);
    EXPECT_EQ(narrowTypes(graph, {}), 2U); // The second product and the sum.
    Graph spared = parsed(kText);
    EXPECT_EQ(
        narrowTypes(spared, {.spares = [](Node const& node) { return node.layer->name() == "MatrixMultiply"; }}), 0U);
}

} // namespace tenon::test
