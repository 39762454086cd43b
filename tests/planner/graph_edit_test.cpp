// Edits of graphs that fail, and what goes wrong while planning: both leave things as they were and name the layer.
#include "ir/field_text.h"
#include "ir/patch.h"
#include "ir/text.h"
#include "layers/element_wise.h"
#include "layers/non_zero.h"
#include "layers/top_k.h"
#include "layers/unary.h"
#include "support/layer_text.h"

#include "backend/check_shapes.h"

#include <gtest/gtest.h>

namespace tenon::test
{

namespace
{
std::shared_ptr<Constant const> numbers()
{
    float const values[]{1.5F, -2.0F, 0.25F};
    return makeConstant(DType::kFLOAT, {3}, values);
}

TEST(GraphEdits, aPatchThatFailsLeavesNothingBehind)
{
    Result<Graph> graph = parseGraph(R"(
input %x : float32[N=1..8,4]
%a = Unary(%x) {Operation=0}
%b = Unary(%a) {Operation=1}
output %b
)",
        parseLayer);
    ASSERT_TRUE(graph) << graph.error().message;
    std::string const before = print(*graph);
    size_t const values = graph->valueCount();
    int32_t const symbols = graph->symbols().size();
    Node const& node = graph->node(graph->order().back());

    Patch patch{*graph, node};
    ValueId const found = patch.add(NonZero{}, {node.input(0)}); // Makes a symbol.
    ValueId const constant = patch.constant("c", numbers());
    patch.replace(node.output(), patch.add(ElementWise{}, {found, constant}));
    Result<std::vector<NodeId>> const applied = applyPatch(*graph, patch);
    ASSERT_FALSE(applied);
    EXPECT_NE(applied.error().message.find("rewriting 'b'"), std::string::npos) << applied.error().message;
    EXPECT_EQ(graph->valueCount(), values);
    EXPECT_EQ(graph->symbols().size(), symbols);
    EXPECT_EQ(print(*graph), before);
    EXPECT_EQ(graph->readerCount(node.input(0)), 1);

    Patch good{*graph, node};
    good.replace(node.output(), good.add(Unary{nvinfer1::UnaryOperation::kABS}, {node.input(0)}));
    EXPECT_TRUE(applyPatch(*graph, good)) << "ids are used again";
}

//! Makes a symbol before it finds what is wrong.
struct LateRefusal
{
    static constexpr std::string_view kName{"LateRefusal"};
    int32_t unused{0};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Unused", &LateRefusal::unused)};
    }
    Result<TensorType> infer(Inputs const& in) const
    {
        return badConfig("an extent of {} is refused", in.dataExtent(0, in.type(0).shape[0]).show());
    }
};

TEST(GraphEdits, aNodeThatFailsLeavesNoSymbols)
{
    Result<Graph> graph = parseGraph("input %x : float32[N=1..8,4]\noutput %x\n", parseLayer);
    ASSERT_TRUE(graph);
    int32_t const symbols = graph->symbols().size();
    EXPECT_FALSE(graph->addNode(makeLayer(LateRefusal{}), "late", {graph->inputs().front()}));
    EXPECT_EQ(graph->symbols().size(), symbols);
}

TEST(CheckShapes, errorsNameTheTensorAndLeaveTheLayerToTheCaller)
{
    TopK layer;
    layer.k = 5;
    layer.reduceAxes = 2;
    LayerPtr const top = makeLayer(layer);
    TensorArg const scores{DType::kBOOL, Layout::kLinear, {2, 8}, true, "scores"};
    TensorArg const best{DType::kFLOAT, Layout::kLinear, {2, 5}, true, "best"};
    TensorArg const where{DType::kINT32, Layout::kLinear, {2, 5}, true, "where"};
    TensorArg const outputs[]{best, where};
    Result<Done> const checked = checkShapes({*top, {&scores, 1}, outputs, {}, 0});
    ASSERT_FALSE(checked);
    std::string const& message = checked.error().message;
    EXPECT_EQ(message.find("TopK, input 0 'scores': "), 0U) << message;

    TensorArg const real{DType::kFLOAT, Layout::kLinear, {2, 8}, true, "scores"};
    TensorArg const wrong[]{{DType::kFLOAT, Layout::kLinear, {2, 6}, true, "best"}, where};
    EXPECT_TRUE(checkShapes({*top, {&real, 1}, outputs, {}, 0}));
    Result<Done> const output = checkShapes({*top, {&real, 1}, wrong, {}, 0});
    ASSERT_FALSE(output);
    EXPECT_EQ(output.error().message.find("output 0 'best' is given as"), 0U) << output.error().message;
}

TEST(CheckShapes, extentsWhoseProductWrapsAreRefused)
{
    TensorArg const wraps{DType::kFLOAT, Layout::kLinear, {int64_t{1} << 32, int64_t{1} << 32}, true, "huge"};
    Result<Done> const checked = checkExtents(wraps);
    ASSERT_FALSE(checked);
    EXPECT_NE(checked.error().message.find("'huge'"), std::string::npos) << checked.error().message;
    EXPECT_TRUE(checkExtents({DType::kFLOAT, Layout::kLinear, {int64_t{1} << 23, 0, int64_t{1} << 23}}));
}

TEST(FieldText, inputNumbersThatNothingHoldsAreErrors)
{
    Result<Expr> const read = parseExpr("x99999999999");
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find("x99999999999"), std::string::npos) << read.error().message;
    EXPECT_FALSE(parseExpr("x1y"));
    EXPECT_TRUE(parseExpr("add(x1,x0)"));
}

TEST(LayerMessages, unknownNamesAreLeftOut)
{
    HostTensor flags{DType::kBOOL, {2, 8}};
    TopK layer;
    layer.k = 5;
    layer.reduceAxes = 2;
    Result<std::vector<HostTensor>> const made = layer.reference({&flags});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message.find("TopK, input 0: "), 0U) << made.error().message;
}

} // namespace
} // namespace tenon::test
