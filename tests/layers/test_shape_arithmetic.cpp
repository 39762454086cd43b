// Shape arithmetic of exported models stays symbolic: chains of layers on shape tensors, and what they give to the
// layers that read extents from them.
#include "ir/graph.h"
#include "layers/cast.h"
#include "layers/concatenation.h"
#include "layers/element_wise.h"
#include "layers/fill.h"
#include "layers/gather.h"
#include "layers/non_zero.h"
#include "layers/reduce.h"
#include "layers/resize.h"
#include "layers/select.h"
#include "layers/shape.h"
#include "layers/shuffle.h"
#include "layers/slice.h"
#include "layers/unary.h"
#include "layers/unsqueeze.h"

#include <gtest/gtest.h>

namespace tenon::test
{
namespace
{

using Op = nvinfer1::ElementWiseOperation;

//! A graph with one input [b, s, 768], b in [1, 8], s in [1, 512].
class ShapeArithmetic : public testing::Test
{
  protected:
    ShapeArithmetic()
    {
        int32_t const first = graph.symbols().find(SymbolKind::kInputExtent, 0, 0, "b", {1, 8});
        int32_t const second = graph.symbols().find(SymbolKind::kInputExtent, 0, 1, "s", {1, 512});
        b = ShapeExpr::symbol(first);
        s = ShapeExpr::symbol(second);
        x = graph.addInput("x", {DType::kFLOAT, {b, s, 768}});
    }
    template <typename L>
    ValueId add(L layer, std::vector<ValueId> inputs)
    {
        Result<NodeId> node = graph.addNode(makeLayer(std::move(layer)), fmt::format("n{}", next++), std::move(inputs));
        EXPECT_TRUE(node) << node.error().message;
        return node ? graph.node(*node).output() : kNone;
    }
    template <typename L>
    std::string errorOfAdding(L layer, std::vector<ValueId> inputs)
    {
        Result<NodeId> node = graph.addNode(makeLayer(std::move(layer)), "bad", std::move(inputs));
        return node ? std::string{} : node.error().message;
    }
    template <typename T = int64_t>
    ValueId constant(std::vector<T> values, std::vector<int64_t> extents = {-1}, DType type = DType::kINT64)
    {
        if (extents == std::vector<int64_t>{-1})
            extents = {static_cast<int64_t>(values.size())};
        return graph.addConstant(fmt::format("c{}", next++), makeConstant(type, std::move(extents), values.data()));
    }
    ValueId scalar(int64_t value)
    {
        return constant({value}, {});
    }
    ValueId element(Op op, ValueId left, ValueId right)
    {
        return add(ElementWise{op}, {left, right});
    }
    //! Extent `axis` of the input as a 1-D tensor, as exporters write it.
    ValueId extent(int64_t axis)
    {
        ValueId const picked = add(Gather{}, {add(ShapeLayer{}, {x}), scalar(axis)});
        return add(Unsqueeze{}, {picked, constant({0})});
    }
    Shape contentsOf(ValueId value)
    {
        std::optional<Shape> const& contents = graph.value(value).contents;
        EXPECT_TRUE(contents) << "values are not known";
        return contents.value_or(Shape{});
    }
    Shape shapeAt(ValueId value)
    {
        return graph.typeOf(value).shape;
    }

    Graph graph;
    ShapeExpr b;
    ShapeExpr s;
    ValueId x{kNone};
    int32_t next{0};
};

TEST_F(ShapeArithmetic, gatheredExtentsReshapeToHeads)
{
    ValueId const dims = add(Concatenation{}, {extent(0), extent(1), constant({12}), constant({-1})});
    EXPECT_EQ(contentsOf(dims), (Shape{b, s, 12, -1}));
    EXPECT_EQ(shapeAt(add(Shuffle{}, {x, dims})), (Shape{b, s, 12, 64}));
}

TEST_F(ShapeArithmetic, minusOneTakesTheRestOfDynamicExtents)
{
    EXPECT_EQ(shapeAt(add(Shuffle{}, {x, constant({-1, 768})})), (Shape{b * s, 768}));
    EXPECT_EQ(shapeAt(add(Shuffle{}, {x, constant({0, 0, 12, -1})})), (Shape{b, s, 12, 64}));
}

TEST_F(ShapeArithmetic, whereOfMinusOneFeedsExpand)
{
    ValueId const wanted = add(Concatenation{}, {extent(0), constant({1}), extent(1), constant({-1})});
    ValueId const isMinusOne = element(Op::kEQUAL, wanted, constant({-1, -1, -1, -1}));
    ValueId const size = add(Select{}, {isMinusOne, constant({1, 1, 1, 1}), wanted});
    EXPECT_EQ(contentsOf(size), (Shape{b, 1, s, 1}));
}

TEST_F(ShapeArithmetic, slicesOfShapesWithFarEndsAndNegativeStarts)
{
    Slice slice;
    ValueId const shape = add(ShapeLayer{}, {x});
    // Size = min(end, rank) − max(rank + start, 0), as an importer computes it from the operands.
    ValueId const rank = add(ShapeLayer{}, {shape});
    ValueId const start = element(Op::kMAX, element(Op::kSUM, rank, constant({-2})), constant({0}));
    ValueId const end = element(Op::kMIN, constant({INT64_MAX}), rank);
    ValueId const size = element(Op::kSUB, end, start);
    EXPECT_EQ(contentsOf(add(slice, {shape, start, size, constant({1})})), (Shape{s, 768}));
}

TEST_F(ShapeArithmetic, farEndsOfDynamicAxesAreTheExtent)
{
    EXPECT_EQ(contentsOf(element(Op::kMIN, extent(1), constant({INT64_MAX}))), (Shape{s}));
    EXPECT_EQ(contentsOf(element(Op::kMIN, extent(1), constant({2147483647}))), (Shape{s}));
    EXPECT_EQ(contentsOf(element(Op::kMAX, extent(1), constant({0}))), (Shape{s}));
}

TEST_F(ShapeArithmetic, divisionTruncatesAndCastsAreTransparent)
{
    ValueId const half = element(Op::kDIV, extent(1), constant({2}));
    ValueId const narrow = add(Cast{DType::kINT32}, {add(Cast{DType::kINT64}, {half})});
    EXPECT_EQ(contentsOf(narrow), (Shape{floorDiv(s, 2)}));
    EXPECT_EQ(contentsOf(element(Op::kDIV, constant({-7}), constant({2}))), (Shape{-3}));
    EXPECT_EQ(contentsOf(element(Op::kFLOOR_DIV, constant({-7}), constant({2}))), (Shape{-4}));
}

TEST_F(ShapeArithmetic, extentsPassThroughFloats)
{
    ValueId const real = add(Cast{DType::kFLOAT}, {extent(1)});
    ValueId const doubled = element(Op::kPROD, real, constant<float>({2.0F}, {1}, DType::kFLOAT));
    ValueId const whole = add(Unary{nvinfer1::UnaryOperation::kFLOOR}, {doubled});
    EXPECT_EQ(contentsOf(add(Cast{DType::kINT64}, {whole})), (Shape{s * ShapeExpr{2}}));
}

TEST_F(ShapeArithmetic, fractionsAreNotTracked)
{
    ValueId const real = add(Cast{DType::kFLOAT}, {extent(1)});
    ValueId const halved = element(Op::kDIV, real, constant<float>({2.0F}, {1}, DType::kFLOAT));
    EXPECT_FALSE(graph.value(halved).contents);
    ValueId const third = element(Op::kPROD, real, constant<float>({0.3F}, {1}, DType::kFLOAT));
    EXPECT_FALSE(graph.value(third).contents);
}

TEST_F(ShapeArithmetic, rangeOverADynamicExtent)
{
    Fill fill;
    fill.toType = DType::kINT64;
    ValueId const range = add(fill, {extent(1), scalar(0), constant({1})});
    EXPECT_EQ(shapeAt(range), (Shape{s}));
    EXPECT_FALSE(graph.value(range).contents);
    ValueId const known = add(fill, {constant({4}), scalar(2), constant({3})});
    EXPECT_EQ(contentsOf(known), (Shape{2, 5, 8, 11}));
}

TEST_F(ShapeArithmetic, productsOfShapes)
{
    Reduce reduce;
    reduce.operation = nvinfer1::ReduceOperation::kPROD;
    reduce.reduceAxes = 1;
    EXPECT_EQ(contentsOf(add(reduce, {add(ShapeLayer{}, {x})})), (Shape{b * s * ShapeExpr{768}}));
}

TEST_F(ShapeArithmetic, aConstantShapeTensorIsReshapedAndTransposed)
{
    ValueId const shape = add(ShapeLayer{}, {x});
    ValueId const doubled = add(Concatenation{}, {shape, shape});
    ValueId const square = add(Shuffle{}, {doubled, constant({2, 3})});
    AxisOrder order = kSameOrder;
    std::swap(order[0], order[1]);
    EXPECT_EQ(contentsOf(add(Shuffle::transpose(order), {square})), (Shape{b, b, s, s, 768, 768}));
}

TEST_F(ShapeArithmetic, E24_scaledExtentsStaySymbolic)
{
    Resize resize;
    resize.scales = {1.0F, 0.5F, 1.5F};
    EXPECT_EQ(shapeAt(add(resize, {x})), (Shape{b, floorDiv(s, 2), 1152}));
    resize.scales = {1.0F, 1.0F / 3.0F, 1.0F};
    EXPECT_EQ(shapeAt(add(resize, {x})), (Shape{b, floorDiv(s, 3), 768}));
}

TEST_F(ShapeArithmetic, E10_foundPositionsHaveAnExtentOfTheirOwn)
{
    ValueId const found = add(NonZero{}, {x});
    EXPECT_EQ(shapeAt(found)[0], ShapeExpr{3});
    std::optional<int32_t> const symbol = shapeAt(found)[1].asSymbol();
    ASSERT_TRUE(symbol);
    EXPECT_EQ(graph.symbols().at(*symbol).kind, SymbolKind::kData);
    EXPECT_EQ(graph.symbols().at(*symbol).range.max, 8 * 512 * 768);
}

TEST_F(ShapeArithmetic, E1_ranksMustBeEqual)
{
    std::string const message = errorOfAdding(ElementWise{}, {x, constant<float>({1.0F}, {1}, DType::kFLOAT)});
    EXPECT_NE(message.find("layer 'bad' (ElementWise), input 1"), std::string::npos) << message;
    EXPECT_NE(message.find("rank 1"), std::string::npos) << message;
}

TEST_F(ShapeArithmetic, E1_differentExtentsDoNotBroadcast)
{
    std::vector<float> const five(5, 1.5F);
    std::string const message = errorOfAdding(ElementWise{}, {x, constant(five, {1, 1, 5}, DType::kFLOAT)});
    EXPECT_NE(message.find("axis 2"), std::string::npos) << message;
}

TEST_F(ShapeArithmetic, E6_minusOneBesideZeroIsAnError)
{
    Shuffle shuffle;
    shuffle.zeroIsPlaceholder = false;
    std::string const message = errorOfAdding(shuffle, {x, constant({0, -1})});
    EXPECT_NE(message.find("-1"), std::string::npos) << message;
}

TEST_F(ShapeArithmetic, E8_fillValueOnlyInFillMode)
{
    Slice slice;
    slice.start = slice.size = {3, {0, 0, 0}};
    slice.mode = nvinfer1::SampleMode::kCLAMP;
    ValueId const value = constant<float>({2.5F}, {}, DType::kFLOAT);
    std::string const message = errorOfAdding(slice, {x, kNone, kNone, kNone, value});
    EXPECT_NE(message.find("kFILL"), std::string::npos) << message;
}

TEST_F(ShapeArithmetic, E8_strictBoundsAreChecked)
{
    Slice slice;
    slice.start = {3, {0, 0, 760}};
    slice.size = {3, {1, 1, 10}};
    std::string const message = errorOfAdding(slice, {x});
    EXPECT_NE(message.find("position 769"), std::string::npos) << message;
}

} // namespace
} // namespace tenon::test
