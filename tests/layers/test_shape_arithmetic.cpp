// Shape arithmetic of exported models stays symbolic: chains of layers on shape tensors, and what they give to the
// layers that read extents from them.
#include "ir/graph.h"
#include "layers/cast.h"
#include "layers/concatenation.h"
#include "layers/element_wise.h"
#include "layers/fill.h"
#include "layers/gather.h"
#include "layers/matrix_multiply.h"
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

#include <stdexcept>
#include <thread>

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

TEST_F(ShapeArithmetic, D2_fractionsStayKnown)
{
    ValueId const real = add(Cast{DType::kFLOAT}, {extent(1)});
    ValueId const halved = element(Op::kDIV, real, constant<float>({2.0F}, {1}, DType::kFLOAT));
    ValueId const third = element(Op::kPROD, real, constant<float>({0.3F}, {1}, DType::kFLOAT));
    ValueId const up = add(Unary{nvinfer1::UnaryOperation::kCEIL}, {third});
    auto const at = [&](ValueId value, int64_t extent) { // b comes before s among the symbols.
        ShapeExpr const expr = contentsOf(value).at(0);
        int64_t const found = expr.evaluate(std::vector<int64_t>{1, extent});
        return isReal(expr) ? fromRealBits(found) : static_cast<double>(found);
    };
    EXPECT_EQ(at(halved, 7), 3.5);
    EXPECT_EQ(at(third, 7), static_cast<double>(7.0F * 0.3F));
    EXPECT_EQ(at(up, 7), 3.0);
    ValueId const size = add(Cast{DType::kINT64}, {halved});
    EXPECT_EQ(at(size, 7), 3.0);
    Range const range = contentsOf(size).at(0).range(graph.symbols());
    EXPECT_EQ(range.min, 0);
    EXPECT_EQ(range.max, 256);
    Reduce mean{nvinfer1::ReduceOperation::kAVG, 1U, true};
    EXPECT_EQ(at(add(mean, {add(Concatenation{}, {halved, third, real})}), 10), // The sum is rounded once.
        static_cast<double>(static_cast<float>((5.0 + static_cast<double>(10.0F * 0.3F) + 10.0) / 3.0)));
    ValueId const small = element(Op::kLESS, third, halved);
    EXPECT_EQ(at(add(Select{}, {small, halved, third}), 7), 3.5);
    EXPECT_EQ(contentsOf(add(Cast{DType::kINT32}, {constant<float>({-2.75F}, {1}, DType::kFLOAT)})), (Shape{-2}));
}

TEST_F(ShapeArithmetic, D2_onlyShortTensorsOfFractionsStayKnown)
{
    ValueId const real = add(Cast{DType::kFLOAT}, {extent(1)});
    std::vector<float> const factors(65, 0.3F);
    ValueId const all = element(Op::kPROD, real, constant<float>(factors, {65}, DType::kFLOAT));
    EXPECT_FALSE(graph.value(all).contents);
}

TEST_F(ShapeArithmetic, D5_productsOfMatricesStayKnown)
{
    ValueId const real = add(Cast{DType::kFLOAT}, {extent(1)});
    ValueId const pair = add(Concatenation{}, {real, add(Cast{DType::kFLOAT}, {extent(0)})});
    ValueId const matrix = constant<float>({1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F}, {3, 2}, DType::kFLOAT);
    MatrixMultiply product;
    product.operation1 = nvinfer1::MatrixOperation::kVECTOR;
    EXPECT_EQ(contentsOf(add(product, {matrix, pair})),
        (Shape{s + b * ShapeExpr{2}, s * ShapeExpr{3} + b * ShapeExpr{4}, s * ShapeExpr{5} + b * ShapeExpr{6}}));
    product.operation0 = nvinfer1::MatrixOperation::kTRANSPOSE;
    ValueId const turned = constant<float>({1.0F, 3.0F, 2.0F, 4.0F}, {2, 2}, DType::kFLOAT);
    EXPECT_EQ(
        contentsOf(add(product, {turned, pair})), (Shape{s + b * ShapeExpr{2}, s * ShapeExpr{3} + b * ShapeExpr{4}}));
    ValueId const halves = constant<float>({0.5F, 0.25F}, {1, 2}, DType::kFLOAT);
    product.operation0 = nvinfer1::MatrixOperation::kNONE;
    ShapeExpr const mixed = contentsOf(add(product, {halves, pair})).at(0);
    EXPECT_EQ(fromRealBits(mixed.evaluate(std::vector<int64_t>{3, 7})), 4.25);
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

//! A shape tensor that the caller gives, with elements in the range.
class ReshapeByInput : public ShapeArithmetic
{
  protected:
    ValueId sizes(int32_t count, Range range)
    {
        Shape contents;
        for (int32_t i = 0; i < count; ++i)
        {
            ids.push_back(graph.symbols().find(SymbolKind::kInputValue, 1, i, {}, range));
            contents.push_back(ShapeExpr::symbol(ids.back()));
        }
        ValueId const value = graph.addInput("sizes", {DType::kINT64, {count}});
        graph.setContents(value, contents);
        return value;
    }
    //! Extents when the sizes have these values.
    std::vector<int64_t> at(Shape const& shape, std::vector<int64_t> const& values)
    {
        std::vector<int64_t> all(static_cast<size_t>(graph.symbols().size()), 1);
        for (size_t i = 0; i < values.size(); ++i)
            all[static_cast<size_t>(ids[i])] = values[i];
        std::vector<int64_t> extents;
        for (ShapeExpr const& extent : shape)
            extents.push_back(extent.evaluate(all));
        return extents;
    }

    std::vector<int32_t> ids;
};

TEST_F(ReshapeByInput, E6_placeholdersAreFilledInWhenTheValuesAreKnown)
{
    ValueId const y = graph.addInput("y", {DType::kFLOAT, {3, 4}});
    ValueId const by = sizes(2, {-1, 8});
    Shape const shape = shapeAt(add(Shuffle{}, {y, by}));
    EXPECT_EQ(at(shape, {0, 4}), (std::vector<int64_t>{3, 4}));
    EXPECT_EQ(at(shape, {-1, 6}), (std::vector<int64_t>{2, 6}));
    EXPECT_EQ(at(shape, {6, -1}), (std::vector<int64_t>{6, 2}));
    EXPECT_EQ(at(shape, {0, -1}), (std::vector<int64_t>{3, 4}));
    EXPECT_EQ(at(shape, {2, 6}), (std::vector<int64_t>{2, 6}));
}

TEST_F(ReshapeByInput, E6_zeroIsAnExtentWhereItCopiesNothing)
{
    Shuffle shuffle;
    shuffle.zeroIsPlaceholder = false;
    ValueId const y = graph.addInput("y", {DType::kFLOAT, {3, 0}});
    Shape const shape = shapeAt(add(shuffle, {y, sizes(2, {-1, 8})}));
    EXPECT_EQ(at(shape, {0, 4}), (std::vector<int64_t>{0, 4}));
    EXPECT_EQ(at(shape, {-1, 4}), (std::vector<int64_t>{0, 4}));
}

TEST_F(ReshapeByInput, E6_aConstantMinusOneTakesTheRestBesideThem)
{
    ValueId const y = graph.addInput("y", {DType::kFLOAT, {3, 4}});
    ValueId const both = add(Concatenation{}, {sizes(1, {0, 8}), constant({-1})});
    Shape const shape = shapeAt(add(Shuffle{}, {y, both}));
    EXPECT_EQ(at(shape, {0}), (std::vector<int64_t>{3, 4}));
    EXPECT_EQ(at(shape, {2}), (std::vector<int64_t>{2, 6}));
}

TEST_F(ReshapeByInput, valuesThatAreNoPlaceholdersStayPlain)
{
    ValueId const y = graph.addInput("y", {DType::kFLOAT, {3, 4}});
    ValueId const by = sizes(2, {1, 8});
    EXPECT_EQ(shapeAt(add(Shuffle{}, {y, by})), (Shape{ShapeExpr::symbol(ids[0]), ShapeExpr::symbol(ids[1])}));
}

TEST_F(ShapeArithmetic, numbersOfFewerThan16BitsAreData)
{
    ValueId const real = add(Cast{DType::kFLOAT}, {extent(1)});
    EXPECT_TRUE(graph.value(real).contents);
    ValueId const narrow = add(Cast{DType::kFP8}, {real});
    EXPECT_FALSE(graph.value(narrow).contents);
    EXPECT_FALSE(graph.value(add(Cast{DType::kFP8}, {constant<float>({1.1F}, {1}, DType::kFLOAT)})).contents);
    EXPECT_FALSE(graph.value(add(Cast{DType::kFLOAT}, {narrow})).contents);
}

TEST_F(ShapeArithmetic, whatCanLeaveTheTypeIsData)
{
    ValueId const far = constant({int64_t{1} << 40});
    ValueId const once = element(Op::kPROD, extent(1), far);
    EXPECT_EQ(contentsOf(once), (Shape{s * ShapeExpr{int64_t{1} << 40}}));
    EXPECT_FALSE(graph.value(element(Op::kPROD, once, far)).contents) << "wraps";
    EXPECT_FALSE(graph.value(element(Op::kSUM, constant({INT64_MAX}), extent(1))).contents) << "wraps";
    ValueId const narrow = add(Cast{DType::kINT32}, {extent(1)});
    ValueId const factor = constant<int32_t>({1 << 20}, {1}, DType::kINT32);
    EXPECT_EQ(contentsOf(element(Op::kPROD, narrow, factor)), (Shape{s * ShapeExpr{1 << 20}}));
    ValueId const large = constant<int32_t>({1 << 24}, {1}, DType::kINT32);
    EXPECT_FALSE(graph.value(element(Op::kPROD, narrow, large)).contents) << "512 * 2^24 wraps";
    EXPECT_FALSE(graph.value(add(Cast{DType::kINT32}, {once})).contents) << "wraps";
    Reduce product;
    product.operation = nvinfer1::ReduceOperation::kPROD;
    product.reduceAxes = 1;
    product.keepDimensions = true;
    ValueId const two = add(Concatenation{}, {once, once});
    EXPECT_FALSE(graph.value(add(product, {two})).contents) << "wraps";
}

TEST_F(ShapeArithmetic, D2_floatsRoundAsTheirTensorDoes)
{
    ValueId const real = add(Cast{DType::kFLOAT}, {extent(1)});
    ValueId const exact = element(Op::kPROD, real, constant<float>({32768.0F}, {1}, DType::kFLOAT));
    EXPECT_EQ(contentsOf(exact), (Shape{s * ShapeExpr{32768}}));
    EXPECT_TRUE(isReal(contentsOf(element(Op::kPROD, real, constant<float>({65536.0F}, {1}, DType::kFLOAT))).at(0)));
    ValueId const far = constant<float>({0x5p30F}, {1}, DType::kFLOAT);
    EXPECT_EQ(contentsOf(element(Op::kSUM, far, far)), (Shape{int64_t{10} << 30}));
    EXPECT_EQ(
        contentsOf(element(Op::kSUM, far, constant<float>({1.0F}, {1}, DType::kFLOAT))), (Shape{int64_t{5} << 30}))
        << "5 * 2^30 + 1 is no float";
    ValueId const tenth = constant<float>({0.1F}, {1}, DType::kFLOAT);
    EXPECT_EQ(contentsOf(element(Op::kFLOOR_DIV, constant<float>({0.5F}, {1}, DType::kFLOAT), tenth)), (Shape{5}))
        << "the quotient is below 5, and 5 as a float";
}

TEST_F(ShapeArithmetic, E24_scalesThatOverflowAreRefused)
{
    ValueId const y = graph.addInput("y", {DType::kFLOAT, {1, 1, 3}});
    Resize resize;
    resize.scales = {1.0F, 1.0F, 1e30F};
    EXPECT_NE(errorOfAdding(resize, {y}).find("a scale of 1e+30"), std::string::npos) << errorOfAdding(resize, {y});
    resize.scales = {1.0F, 1.0F, 0x1p30F};
    EXPECT_EQ(shapeAt(add(resize, {y}))[2], ShapeExpr{int64_t{3} << 30});
    ValueId const far = graph.addInput("far", {DType::kFLOAT, {1, 1, int64_t{1} << 40}});
    resize.scales = {1.0F, 1.0F, 0x1p30F};
    EXPECT_NE(errorOfAdding(resize, {far}).find("'bad'"), std::string::npos) << errorOfAdding(resize, {far});
}

// ---- expressions

//! One of the steps that read their operand twice: its text doubles each time.
ShapeExpr doubled(ShapeExpr const& x)
{
    return mod(x * ShapeExpr{3} + floorDiv(x, 2) + ShapeExpr{1}, 1009);
}

TEST_F(ShapeArithmetic, theLeastNumberByMinusOneIsNoExactQuotient)
{
    ShapeExpr const least = s * ShapeExpr{INT64_MIN};
    EXPECT_EQ(floorDiv(least, ShapeExpr{-1}).evaluate(std::vector<int64_t>{1, 1}), INT64_MAX) << "saturated";
    EXPECT_EQ(floorDiv(least, ShapeExpr{2}).evaluate(std::vector<int64_t>{1, 1}), INT64_MIN / 2);
}

TEST_F(ShapeArithmetic, partsReadAlongManyPathsCostOnce)
{
    constexpr int32_t kSteps{500};
    ShapeExpr chain = s;
    int64_t expected{77};
    for (int32_t i = 0; i < kSteps; ++i)
    {
        chain = doubled(chain);
        expected = (expected * 3 + expected / 2 + 1) % 1009;
    }
    EXPECT_EQ(chain.depth(), 2 * kSteps + 1);
    EXPECT_EQ(chain.evaluate(std::vector<int64_t>{1, 77}), expected);
    Range const range = chain.range(graph.symbols());
    EXPECT_EQ(range.min, 0);
    EXPECT_EQ(range.max, 1008);
    EXPECT_EQ(chain.symbols(), (std::vector<int32_t>{1}));
    EXPECT_LT(chain.show().size(), 500U);
    ShapeExpr const moved = chain.replace(1, b);
    EXPECT_EQ(moved.evaluate(std::vector<int64_t>{77, 1}), expected);
    EXPECT_EQ(moved.replace(0, s), chain);
    EXPECT_EQ(chain.replace(1, 77), ShapeExpr{expected});
}

TEST_F(ShapeArithmetic, orderDoesNotDependOnWhatWasMadeFirst)
{
    ShapeExpr const late = max(s, 3);
    ShapeExpr const early = floorDiv(b, 5);
    ShapeExpr const sum = late + early + s + b;
    EXPECT_EQ(sum.show(), "max(3,s1)+floordiv(s0,5)+s0+s1");
    EXPECT_EQ(min(late, early), min(early, late));
    EXPECT_EQ(sum, b + s + floorDiv(b, 5) + max(3, s));
}

TEST_F(ShapeArithmetic, longProductsAreNotMultipliedOut)
{
    ShapeExpr product{1};
    ShapeExpr power = b;
    for (int32_t i = 0; i < 40; ++i)
    {
        product = product * (ShapeExpr::symbol(i) + ShapeExpr{1});
        power = power * power;
    }
    std::vector<int64_t> values(40, 0);
    std::fill_n(values.begin(), 20, 1); // Factors of 2, then of 1.
    EXPECT_EQ(product.evaluate(values), int64_t{1} << 20);
    values[0] = -1;
    EXPECT_EQ(power.evaluate(values), 1);
}

TEST_F(ShapeArithmetic, threadsShareParts)
{
    std::vector<ShapeExpr> results(4);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < results.size(); ++t)
        threads.emplace_back([&, t] {
            for (int32_t round = 0; round < 200; ++round)
            {
                ShapeExpr chain = s;
                for (int32_t i = 0; i < 20; ++i)
                    chain = doubled(chain);
                results[t] = chain;
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    for (ShapeExpr const& each : results)
        EXPECT_EQ(each, results[0]);
}

TEST_F(ShapeArithmetic, extentsThatAreTooDeepNameTheLayer)
{
    ShapeExpr deep = s;
    for (int32_t i = 0; i < 1100; ++i)
        deep = doubled(deep);
    ValueId const y = graph.addInput("y", {DType::kFLOAT, {deep, 2}});
    std::string const message = errorOfAdding(Unary{nvinfer1::UnaryOperation::kNEG}, {y});
    EXPECT_NE(message.find("layer 'bad'"), std::string::npos) << message;
    EXPECT_NE(message.find("operations"), std::string::npos) << message;
    auto const endless = [&] {
        for (int32_t i = 0; i < 5000; ++i)
            deep = doubled(deep);
    };
    EXPECT_THROW(endless(), std::length_error);
}

TEST_F(ShapeArithmetic, tensorsThatNothingHoldsNameTheLayer)
{
    ValueId const y = graph.addInput("y", {DType::kFLOAT, {int64_t{1} << 62, 2}});
    std::string const message = errorOfAdding(Unary{nvinfer1::UnaryOperation::kNEG}, {y});
    EXPECT_NE(message.find("layer 'bad'"), std::string::npos) << message;
    EXPECT_NE(message.find("too large"), std::string::npos) << message;
    ValueId const empty = graph.addInput("empty", {DType::kFLOAT, {0, int64_t{1} << 62, 8}});
    EXPECT_NE(errorOfAdding(Unary{nvinfer1::UnaryOperation::kNEG}, {empty}), "") << "its strides overflow";
}

TEST(TensorType, volumesOverflowLate)
{
    EXPECT_EQ(volumeOf({int64_t{1} << 62, 8, 0}), 0);
    EXPECT_EQ(volumeOf({0, int64_t{1} << 62, 8}), 0);
    EXPECT_EQ(volumeOf({int64_t{1} << 62, 8}), INT64_MAX);
    EXPECT_EQ(bytesOf(DType::kINT64, int64_t{1} << 60), INT64_MAX);
    EXPECT_EQ(bytesOf(DType::kINT4, 5), 3);
    EXPECT_FALSE(isAddressable({int64_t{1} << 32, int64_t{1} << 32}));
    EXPECT_FALSE(isAddressable({4, -1}));
    EXPECT_TRUE(isAddressable({int64_t{1} << 23, 0, int64_t{1} << 23}));
}

} // namespace
} // namespace tenon::test
