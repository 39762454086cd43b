// addStockLayers: the sketch of a body's layers, written into the graph as it is made.
#include "api/lowering/stock_layers.h"

#include "base/half.h"
#include "base/knobs.h"
#include "layers/box_selection.h"
#include "layers/cast.h"
#include "layers/concatenation.h"
#include "layers/cumulative.h"
#include "layers/deformable_attention.h"
#include "layers/element_wise.h"
#include "layers/fill.h"
#include "layers/gather.h"
#include "layers/identity.h"
#include "layers/matrix_multiply.h"
#include "layers/normalization.h"
#include "layers/pointwise.h"
#include "layers/reduce.h"
#include "layers/requirement.h"
#include "layers/scatter.h"
#include "layers/select.h"
#include "layers/shape.h"
#include "layers/shuffle.h"
#include "layers/slice.h"
#include "layers/soft_max.h"
#include "layers/unary.h"
#include "plugins/builtin/stock.h"
#include "plugins/cpu_body.h"

#include <algorithm>

namespace tenon::api
{

namespace
{
using plugins::builtin::LayerSketch;

class GraphSketch final : public LayerSketch
{
  public:
    GraphSketch(Graph& graph, std::string const& name, std::string wants)
        : mGraph{graph},
          mName{name},
          mWants{std::move(wants)}
    {
    }

    //! The outputs, behind what was required of the inputs; the first error of all calls.
    Result<std::vector<ValueId>> finish(std::vector<Id> outputs, std::vector<ValueId> const& inputs)
    {
        for (size_t i = 0; i < outputs.size(); ++i)
        {
            bool const isOwn = outputs[i] != kNone && mGraph.producerOf(outputs[i]) != nullptr
                && std::ranges::count(inputs, outputs[i]) == 0
                && std::ranges::count(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(i), outputs[i])
                    == 0;
            if (!isOwn) // Whoever reads it gives it a name.
                outputs[i] = add(makeLayer(Identity{}), "copy", {outputs[i]});
        }
        if (!mRequirement.extents.empty() || !mRequirement.values.empty())
        {
            mRequirement.message = "it takes " + mWants;
            write(makeLayer(mRequirement), mName, mRequired);
        }
        if (mError)
            return *mError;
        return outputs;
    }

    TensorType const& typeOf(Id value) const override
    {
        static TensorType const none;
        return value == kNone ? none : mGraph.typeOf(value);
    }
    Id numbers(std::string const& name, std::vector<int64_t> const& extents, std::span<float const> values,
        DType type) override
    {
        if (type == DType::kFLOAT)
            return mGraph.addConstant(nameOf(name), makeConstant(type, extents, values.data()));
        std::vector<uint16_t> halves(values.size());
        std::ranges::transform(values, halves.begin(), floatToHalf);
        return mGraph.addConstant(nameOf(name), makeConstant(DType::kHALF, extents, halves.data()));
    }
    Id integers(std::string const& name, std::vector<int64_t> const& extents, std::span<int32_t const> values) override
    {
        return mGraph.addConstant(nameOf(name), makeConstant(DType::kINT32, extents, values.data()));
    }
    Id count(Id like, int32_t axis, int32_t rank, int32_t at) override
    {
        Fill fill;
        fill.toType = DType::kINT32;
        fill.alphaBetaInt64 = true;
        fill.dimensions = {1, {1}};
        std::vector<Id> operands;
        if (std::optional<int64_t> const extent = extentOf(like, axis).constant())
            fill.dimensions.d[0] = *extent;
        else
            operands = {extentTensor(like, axis)};
        std::vector<int64_t> extents(static_cast<size_t>(rank), 1);
        extents[static_cast<size_t>(at)] = -1;
        return reshape(add(makeLayer(fill), "positions", std::move(operands)), extents);
    }
    Id elements(Expr const& expr, std::vector<Id> const& inputs) override
    {
        return add(makeLayer(Pointwise{expr}), "elements", inputs);
    }
    Id sum(Id a, Id b) override
    {
        return add(makeLayer(ElementWise{nvinfer1::ElementWiseOperation::kSUM}), "sum", {a, b});
    }
    Id cast(Id value, DType type) override
    {
        return typeOf(value).dtype == type ? value : add(makeLayer(Cast{type}), "cast", {value});
    }
    Id reshape(Id value, std::vector<int64_t> const& extents) override
    {
        Shuffle shuffle = Shuffle::reshape(extents);
        shuffle.zeroIsPlaceholder = true;
        return add(makeLayer(shuffle), "reshape", {value});
    }
    Id reshapeLike(Id value, Id like) override
    {
        if (typeOf(value).shape == typeOf(like).shape)
            return value;
        if (std::optional<std::vector<int64_t>> const extents = staticExtents(typeOf(like).shape))
        {
            Shuffle shuffle = Shuffle::reshape(*extents);
            shuffle.zeroIsPlaceholder = false;
            return add(makeLayer(shuffle), "reshape", {value});
        }
        Shuffle shuffle;
        shuffle.zeroIsPlaceholder = false;
        return add(makeLayer(shuffle), "reshape", {value, add(makeLayer(ShapeLayer{}), "extents", {like})});
    }
    Id transpose(Id value, std::vector<int32_t> const& order) override
    {
        AxisOrder whole = kSameOrder;
        std::ranges::copy(order, whole.begin());
        return add(makeLayer(Shuffle::transpose(whole)), "transpose", {value});
    }
    Id slice(Id value, int32_t axis, int64_t start, int64_t size) override
    {
        return add(makeLayer(cut(axis, start, size)), "slice", {value});
    }
    Id first(Id value, int32_t axis, Id like, int32_t likeAxis) override
    {
        if (std::optional<int64_t> const extent = extentOf(like, likeAxis).constant())
            return slice(value, axis, 0, *extent);
        return add(makeLayer(cut(axis, 0, 0)), "slice", {value, kNone, extentTensor(like, likeAxis)});
    }
    Id concatenate(std::vector<Id> const& values, int32_t axis) override
    {
        return add(makeLayer(Concatenation{axis}), "concatenation", values);
    }
    Id gather(Id data, Id indices, int32_t axis) override
    {
        return add(makeLayer(Gather{.gatherAxis = axis}), "gather", {data, indices});
    }
    Id scatterNd(Id data, Id indices, Id updates) override
    {
        return add(
            makeLayer(Scatter{.mode = nvinfer1::ScatterMode::kND, .axis = 0}), "scatter", {data, indices, updates});
    }
    Id product(Id a, Id b, bool isTransposed, float factor) override
    {
        MatrixMultiply product;
        product.operation1 = isTransposed ? nvinfer1::MatrixOperation::kTRANSPOSE : nvinfer1::MatrixOperation::kNONE;
        product.alpha = factor;
        return add(makeLayer(product), "product", {a, b});
    }
    Id softMax(Id value, int32_t axis) override
    {
        return add(makeLayer(SoftMax{1U << static_cast<uint32_t>(axis)}), "softmax", {value});
    }
    Id softMaxOrZero(Id value, int32_t axis) override
    {
        Id const weights = softMax(value, axis);
        Id const isNan = add(makeLayer(Unary{nvinfer1::UnaryOperation::kISNAN}), "no number", {weights});
        std::vector<int64_t> const ones(static_cast<size_t>(typeOf(weights).rank()), 1);
        Id const zero = numbers("zero", ones, std::array{0.0F}, typeOf(weights).dtype);
        return add(makeLayer(Select{}), "or zero", {isNan, zero, weights});
    }
    Id normalize(Id x, Id scale, Id bias, uint32_t axes, float epsilon, int64_t groups) override
    {
        Normalization layer;
        layer.epsilon = epsilon;
        layer.axes = axes;
        layer.nbGroups = groups;
        layer.v2 = true;
        return add(makeLayer(layer), "normalization", {x, scale, bias});
    }
    Id total(Id value, int32_t axis) override
    {
        Reduce layer;
        layer.reduceAxes = 1U << static_cast<uint32_t>(axis);
        return add(makeLayer(layer), "total", {value});
    }
    Id totalOver(Id value, uint32_t axes) override
    {
        Reduce layer;
        layer.reduceAxes = axes;
        layer.keepDimensions = true;
        return add(makeLayer(layer), "total", {value});
    }
    Id runningTotal(Id value, int32_t axis) override
    {
        int32_t const number{axis};
        Id const constant = mGraph.addConstant(nameOf("axis"), makeConstant(DType::kINT32, {}, &number));
        return add(makeLayer(Cumulative{}), "running total", {value, constant});
    }
    Id attendToPoints(std::vector<Id> const& inputs) override
    {
        return add(makeLayer(DeformableAttention{}), "points", inputs);
    }
    std::vector<Id> selectBoxes(plugins::builtin::SelectedBoxes const& rules, std::vector<Id> const& inputs) override
    {
        BoxSelection layer{.rule = rules.isByClass ? BoxRule::kByClass : BoxRule::kTogether,
            .form = rules.areCentres ? BoxForm::kCentre : BoxForm::kCorners,
            .scoreThreshold = rules.scoreThreshold,
            .overlapThreshold = rules.overlapThreshold,
            .candidates = rules.candidates,
            .most = rules.most,
            .mostOfClass = rules.mostOfClass,
            .background = rules.background,
            .emptyClass = rules.emptyClass,
            .areLogits = rules.areLogits,
            .isAgnostic = rules.isAgnostic,
            .clips = rules.clips,
            .arePixels = rules.arePixels,
            .haveOneInCommon = rules.haveOneInCommon};
        Node const* const node = write(makeLayer(layer), nameOf("boxes"), inputs);
        return node == nullptr ? std::vector<Id>(4, kNone) : node->outputs;
    }
    void requireSame(Id value, int32_t axis, Id other, int32_t otherAxis) override
    {
        if (value == kNone || other == kNone || extentOf(value, axis) == extentOf(other, otherAxis))
            return;
        mRequirement.extents.push_back({positionOf(value), axis, positionOf(other), otherAxis});
    }
    void requireExtent(Id value, int32_t axis, int64_t extent) override
    {
        if (value != kNone && !(extentOf(value, axis) == ShapeExpr{extent}))
            mRequirement.extents.push_back({positionOf(value), axis, -1, extent});
    }
    void requireValues(Id value, int64_t least, int64_t most, std::string const& why, Id like, int32_t axis) override
    {
        if (value == kNone)
            return;
        mRequirement.values.push_back(
            {positionOf(value), least, most, like == kNone ? -1 : positionOf(like), axis, why});
    }

  private:
    static Slice cut(int32_t axis, int64_t start, int64_t size)
    {
        Slice slice;
        slice.axes = {1, {axis}};
        slice.start = {1, {start}};
        slice.size = {1, {size}};
        slice.stride = {1, {1}};
        return slice;
    }
    std::string nameOf(std::string const& what) const
    {
        return fmt::format("{} {}", mName, what);
    }
    ShapeExpr extentOf(Id value, int32_t axis) const
    {
        Shape const& shape = typeOf(value).shape;
        return static_cast<size_t>(axis) < shape.size() ? shape[static_cast<size_t>(axis)] : ShapeExpr{0};
    }
    //! [1], the extent.
    Id extentTensor(Id value, int32_t axis)
    {
        return slice(add(makeLayer(ShapeLayer{}), "extents", {value}), 0, axis, 1);
    }
    //! Among what is required of.
    int32_t positionOf(Id value)
    {
        auto at = std::ranges::find(mRequired, value);
        if (at == mRequired.end())
            at = mRequired.insert(at, value);
        return static_cast<int32_t>(at - mRequired.begin());
    }
    Node const* write(LayerPtr layer, std::string name, std::vector<ValueId> inputs)
    {
        if (mError)
            return nullptr;
        Result<NodeId> node =
            mGraph.addNode(std::move(layer), std::move(name), std::move(inputs), Origins{std::vector{mName}});
        if (node)
            return &mGraph.node(*node);
        mError = std::move(node).error();
        return nullptr;
    }
    Id add(LayerPtr layer, std::string const& what, std::vector<ValueId> inputs)
    {
        Node const* const node = write(std::move(layer), nameOf(what), std::move(inputs));
        return node == nullptr ? kNone : node->output();
    }

    Graph& mGraph;
    std::string const& mName;
    std::string mWants;
    Requirement mRequirement;
    std::vector<ValueId> mRequired;
    std::optional<Error> mError;
};
} // namespace

Result<std::optional<StockLayers>> addStockLayers(Graph& graph, StockRequest const& request)
{
    plugins::builtin::BodyPtr const body = plugins::builtin::bodyBehind(request.plugin.v2(), request.plugin.v3());
    if (body == nullptr || plugins::findCpuBody(request.plugin) != nullptr)
        return std::optional<StockLayers>{};
    if (!switchOf(Knob::kStockLayers, true))
        return std::optional{StockLayers{{}, "TENON_STOCK_LAYERS is off"}};
    std::vector<nvinfer1::PluginTensorDesc> ports;
    for (plugins::Port const& port : request.ports.all)
        ports.push_back(port.desc);
    for (nvinfer1::PluginTensorDesc const& port : ports)
        if (port.format != nvinfer1::TensorFormat::kLINEAR || port.type == DType::kINT8)
            return std::optional{StockLayers{{}, "its data is int8, or in vectors of channels"}};
    std::span const all{ports};
    auto const inputs = static_cast<size_t>(request.ports.inputs);
    GraphSketch sketch{graph, request.name, body->wants()};
    plugins::builtin::SketchedLayers layers =
        body->layers(sketch, {all.first(inputs), all.subspan(inputs), request.inputs});
    if (!layers.why.empty())
        return std::optional{StockLayers{{}, std::move(layers.why)}};
    return std::optional{StockLayers{TENON_TRY(sketch.finish(std::move(layers.outputs), request.inputs)), {}}};
}

} // namespace tenon::api
