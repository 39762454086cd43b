// Attention, rotary embedding, caches and linear attention of the standard domain.
#include "attention.h"

#include "../network.h"
#include "../subgraph.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tenon::onnx
{

using nvinfer1::ElementWiseOperation;
using nvinfer1::MatrixOperation;
using nvinfer1::ReduceOperation;

namespace
{

constexpr double kHidden{-std::numeric_limits<double>::infinity()};

Value added(Node& node, Value const& a, Value const& b)
{
    return node.binary(a, b, ElementWiseOperation::kSUM);
}

Value times(Node& node, Value const& x, double factor)
{
    return factor == 1.0 ? x : node.binary(x, node.scalar(factor, x.type()), ElementWiseOperation::kPROD);
}

Value product(Node& node, Value const& a, Value const& b, MatrixOperation opB)
{
    return node.output(
        node.api().addMatrixMultiply(node.tensor(a), MatrixOperation::kNONE, node.tensor(b), opB), "product");
}

//! Each head of x several times, behind each other.
Value headsRepeated(Node& node, Value const& x, Extent const& heads)
{
    Extents const own = extentsOf(node, x);
    if (own[1].known && own[1].known == heads.known)
    {
        return x;
    }
    Extent const times = floorDivide(node, heads, own[1]);
    Value const spread = expandTo(node, node.unsqueeze(x, {2}), {own[0], own[1], times, own[2], own[3]});
    return reshapeTo(node, spread, {own[0], heads, own[2], own[3]});
}

//! Whether a row sees anything, [.., rows, 1]; absent: all do.
Value seesAnything(Node& node, AttentionParts const& parts)
{
    if (!parts.mayHide || (!parts.visible.exists() && !parts.bias.exists()))
    {
        return {};
    }
    Value mask = parts.bias;
    if (parts.visible.exists())
    {
        Value const shown = parts.bias.exists() ? parts.bias : node.scalar(0.0, DataType::kFLOAT, 4);
        mask = node.select(parts.visible, shown, node.scalar(kHidden, shown.type(), 4));
    }
    Value const most = node.reduce(mask, ReduceOperation::kMAX, {3}, true);
    return node.binary(most, node.scalar(kHidden, most.type(), 4), ElementWiseOperation::kGREATER);
}

Value zeroWhereHidden(Node& node, Value const& sees, Value const& x)
{
    return sees.exists() ? node.select(sees, x, node.scalar(0.0, x.type(), 4)) : x;
}

//! The products, and what becomes of them on the way, for whoever asks for one of them.
struct Steps
{
    Value raw;
    Value capped;
    Value masked;
    Value weights;
};

Steps weighed(Node& node, AttentionParts const& parts, Value const& sees)
{
    Steps steps;
    Extent const heads = extentOf(node, parts.q, 1);
    steps.raw = product(
        node, times(node, parts.q, parts.scale), headsRepeated(node, parts.k, heads), MatrixOperation::kTRANSPOSE);
    steps.capped = steps.raw;
    if (parts.softcap > 0.0)
    {
        Value const bent =
            node.activation(times(node, steps.raw, 1.0 / parts.softcap), nvinfer1::ActivationType::kTANH);
        steps.capped = times(node, bent, parts.softcap);
    }
    steps.masked = parts.bias.exists() ? added(node, steps.capped, parts.bias) : steps.capped;
    if (parts.visible.exists())
    {
        steps.masked = node.select(parts.visible, steps.masked, node.scalar(kHidden, steps.masked.type(), 4));
    }
    Value const weights = node.softmax(node.cast(steps.masked, parts.softmaxType), 3);
    steps.weights = zeroWhereHidden(node, sees, node.cast(weights, parts.q.type()));
    return steps;
}

Value weightedSum(Node& node, AttentionParts const& parts, Steps const& steps)
{
    return product(
        node, steps.weights, headsRepeated(node, parts.v, extentOf(node, parts.q, 1)), MatrixOperation::kNONE);
}

//! The mask as the layer takes it: booleans, or numbers that are added.
Value oneMask(Node& node, AttentionParts const& parts)
{
    if (!parts.visible.exists() || !parts.bias.exists())
    {
        return parts.visible.exists() ? parts.visible : parts.bias;
    }
    return node.select(parts.visible, parts.bias, node.scalar(kHidden, parts.bias.type(), 4));
}

} // namespace

Value bothOf(Node& node, Value const& a, Value const& b)
{
    if (!a.exists() || !b.exists())
    {
        return a.exists() ? a : b;
    }
    return node.binary(a, b, ElementWiseOperation::kAND);
}

Value visibleBy(Node& node, Sight const& sight, Extent const& rows, Extent const& keys)
{
    Value const key = node.unsqueeze(iota(node, keys), {0, 1, 2});
    Value result;
    if (sight.isCausal || sight.left >= 0 || sight.right >= 0)
    {
        Value at = node.unsqueeze(iota(node, rows), {0, 1, 3});
        Value const offset = sight.offsets.exists() ? sight.offsets : tensorOf(node, {sight.offset});
        at = sight.offsets.exists() || !sight.offset.is(0) ? added(node, at, offset) : at;
        auto const moved = [&](int64_t by) { return by == 0 ? at : added(node, at, node.integerConstant({by})); };
        constexpr int64_t kFar{std::numeric_limits<int32_t>::max()}; // No more keys than that.
        int64_t const right = sight.isCausal ? 0 : std::min(sight.right, kFar);
        if (right >= 0)
        {
            result = node.binary(key, moved(right + 1), ElementWiseOperation::kLESS);
        }
        if (sight.left >= 0)
        {
            result = bothOf(
                node, result, node.binary(moved(-std::min(sight.left, kFar) - 1), key, ElementWiseOperation::kLESS));
        }
    }
    if (sight.lengths.exists())
    {
        result = bothOf(node, result, node.binary(key, sight.lengths, ElementWiseOperation::kLESS));
    }
    return result;
}

Value attend(Node& node, AttentionParts const& parts)
{
    Value const sees = seesAnything(node, parts);
    if (parts.softcap > 0.0)
    {
        return weightedSum(node, parts, weighed(node, parts, sees));
    }
    Value const q = times(node, parts.q, parts.scale);
    nvinfer1::IAttention* const attention = node.api().addAttention(node.tensor(q), node.tensor(parts.k),
        node.tensor(parts.v), nvinfer1::AttentionNormalizationOp::kSOFTMAX, false);
    if (attention == nullptr)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("the network refuses the attention of {}{}", node.op(), node.network().reasons.text()));
    }
    attention->setName(node.network().uniqueName(node.name() + "/attention").c_str());
    attention->setDecomposable(true);
    if (Value const mask = oneMask(node, parts); mask.exists())
    {
        Value const typed = mask.type() == DataType::kBOOL ? mask : node.cast(mask, parts.q.type());
        if (!attention->setMask(node.tensor(typed)))
        {
            fail(ErrorCode::kINVALID_NODE,
                fmt::format("{}: the mask of shape {} does not fit{}", node.op(), shapeText(typed.shape()),
                    node.network().reasons.text()));
        }
    }
    nvinfer1::ITensor* const result = attention->getOutput(0);
    if (result == nullptr || result->getDimensions().nbDims < 0)
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("{} does not fit its inputs{}", node.op(), node.network().reasons.text()));
    }
    return zeroWhereHidden(node, sees, result);
}

Value headsApart(Node& node, Value const& x, int64_t heads)
{
    Extents const own = extentsOf(node, x);
    if (own.size() != 3 || heads < 1 || (own[2].known && *own[2].known % heads != 0))
    {
        fail(
            ErrorCode::kINVALID_NODE, fmt::format("{}: {} is not of {} heads", node.op(), shapeText(x.shape()), heads));
    }
    Extent const columns = floorDivide(node, own[2], heads);
    return node.transpose(reshapeTo(node, x, {own[0], own[1], heads, columns}), {0, 2, 1, 3});
}

Value headsTogether(Node& node, Value const& x)
{
    Extents const own = extentsOf(node, x);
    return reshapeTo(node, node.transpose(x, {0, 2, 1, 3}), {own[0], own[2], multiply(node, own[1], own[3])});
}

Value joinedWith(Node& node, Value const& first, Value const& second, int32_t axis)
{
    if (!first.exists())
    {
        return second;
    }
    nvinfer1::ITensor* const both[]{&node.tensor(first), &node.tensor(second)};
    nvinfer1::IConcatenationLayer* const layer = node.added(node.api().addConcatenation(both, 2), "joined");
    layer->setAxis(axis);
    return layer->getOutput(0);
}

double scaleOf(Node& node, Value const& q)
{
    auto const given = static_cast<double>(node.floatOr("scale", 0.0F));
    int64_t const columns = q.shape().back();
    if (given == 0.0 && columns < 1)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_SHAPE,
            fmt::format("{} of heads whose columns are not known: {}", node.op(), shapeText(q.shape())));
    }
    return given != 0.0 ? given : 1.0 / std::sqrt(static_cast<double>(columns));
}

Value rotated(Node& node, Value const& x, Rotation const& rotation)
{
    Value cosines = rotation.cosines;
    Value sines = rotation.sines;
    Value positions = rotation.positions;
    Extent const batch = extentOf(node, x, 0);
    Extent const rows = extentOf(node, x, 2);
    if (positions.exists())
    {
        positions = expandTo(node, node.cast(positions, DataType::kINT64), {batch, rows});
    }
    nvinfer1::IRotaryEmbeddingLayer* const layer =
        node.added(node.api().addRotaryEmbedding(node.tensor(x), node.tensor(cosines), node.tensor(sines),
                       rotation.interleaved, narrowed(rotation.columns, "the number of columns that are turned")),
            "rotary");
    if (positions.exists())
    {
        layer->setInput(3, node.tensor(positions));
    }
    return node.result(*layer);
}

namespace
{

Value optionalInput(Node& node, int input)
{
    return node.has(input) ? node.in(input) : Value{};
}

//! A mask may end before the keys do: what it does not name is hidden.
Value maskOfLength(Node& node, Value const& mask, Extent const& keys)
{
    int64_t const last = mask.shape().back();
    Value const wide = node.withRank(mask, 4);
    if (last < 2 || !keys.known || last >= *keys.known)
    {
        return wide;
    }
    Cut cut{.start = Extents(4, 0), .size = extentsOf(node, wide), .stride = Extents(4, 1), .fill = {}};
    cut.mode = nvinfer1::SampleMode::kFILL;
    cut.size[3] = keys;
    bool const isFlags = wide.type() == DataType::kBOOL;
    cut.fill = node.scalar(isFlags ? 0.0 : kHidden, wide.type());
    return slice(node, wide, cut, "mask");
}

DataType softmaxTypeOf(Node& node)
{
    return node.hasAttribute("softmax_precision") ? typeOfOnnx(node.int32Or("softmax_precision", 1))
                                                  : wideOf(node.in(0).type());
}

//! Q, K and V have rank 3 or 4, all the same, past ones 4, a mask at most that.
void checkRanks(Node& node)
{
    int32_t const rank = node.in(0).rank();
    auto const has = [&](int input, int32_t least, int32_t most) {
        return !node.has(input) || (node.in(input).rank() >= least && node.in(input).rank() <= most);
    };
    bool const isOfHeads = rank == 3 || rank == 4;
    if (!isOfHeads || !has(1, rank, rank) || !has(2, rank, rank) || !has(3, 0, 4) || !has(4, 4, 4) || !has(5, 4, 4)
        || !has(6, 1, 1))
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("{}: an operand has another rank than the operator takes; Q has {}", node.op(), rank));
    }
}

//! Q, K, V, mask, past key, past value, lengths of the keys; of opset 23 on.
Outputs importAttention(Node& node)
{
    checkRanks(node);
    bool const isFlat = node.in(0).rank() == 3;
    auto const heads = [&](int input, char const* name) {
        return isFlat ? headsApart(node, node.in(input), node.intOr(name, 0)) : node.in(input);
    };
    AttentionParts parts;
    parts.q = heads(0, "q_num_heads");
    Value const past = optionalInput(node, 4);
    parts.k = joinedWith(node, past, heads(1, "kv_num_heads"), 2);
    parts.v = joinedWith(node, optionalInput(node, 5), heads(2, "kv_num_heads"), 2);
    parts.scale = scaleOf(node, parts.q);
    parts.softcap = static_cast<double>(node.floatOr("softcap", 0.0F));
    parts.softmaxType = softmaxTypeOf(node);
    Extent const rows = extentOf(node, parts.q, 2);
    Extent const keys = extentOf(node, parts.k, 2);
    Sight sight{.isCausal = node.intOr("is_causal", 0) != 0,
        .left = node.intOr("left_window_size", -1),
        .right = node.intOr("right_window_size", -1),
        .offset = past.exists() ? extentOf(node, past, 2) : Extent{0},
        .offsets = {},
        .lengths = {}};
    if (node.has(6))
    {
        sight.lengths = node.unsqueeze(node.cast(node.in(6), DataType::kINT64), {1, 2, 3});
        sight.offsets =
            past.exists() ? Value{} : node.binary(sight.lengths, tensorOf(node, {rows}), ElementWiseOperation::kSUB);
    }
    parts.visible = visibleBy(node, sight, rows, keys);
    parts.mayHide = node.has(3) || node.has(6) || sight.left >= 0 || sight.right >= 0;
    if (node.has(3))
    {
        Value const mask = maskOfLength(node, node.in(3), keys);
        bool const isFlags = mask.type() == DataType::kBOOL;
        parts.visible = isFlags ? bothOf(node, mask, parts.visible) : parts.visible;
        parts.bias = isFlags ? Value{} : mask;
    }
    auto const finished = [&](Value const& result) { return isFlat ? headsTogether(node, result) : result; };
    if (!node.wants(3))
    {
        return {finished(attend(node, parts)), parts.k, parts.v};
    }
    Steps const steps = weighed(node, parts, seesAnything(node, parts));
    Value const shown[]{steps.raw, steps.capped, steps.masked, steps.weights};
    int64_t const mode = node.intOr("qk_matmul_output_mode", 0);
    if (mode < 0 || mode > 3)
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("Attention with qk_matmul_output_mode {}", mode));
    }
    return {finished(weightedSum(node, parts, steps)), parts.k, parts.v, shown[mode]};
}

//! Attention whose products and weights pass through graphs of the node's own.
Outputs importFlexAttention(Node& node)
{
    checkRanks(node);
    Capture const asIs = [](Value const& outside) { return outside; };
    DataType const type = node.in(0).type();
    DataType const within = softmaxTypeOf(node);
    auto const through = [&](char const* name, Value const& x) {
        if (!node.hasAttribute(name))
        {
            return x;
        }
        std::vector<Value> const made = node.network().subgraphs->importGraph(node.graph(name), {x}, asIs);
        if (made.size() != 1)
        {
            fail(ErrorCode::kINVALID_NODE, fmt::format("{} gives {} values, not one", name, made.size()));
        }
        return made[0];
    };
    Value const q = node.in(0);
    Extent const heads = extentOf(node, q, 1);
    Value const scores = product(
        node, times(node, q, scaleOf(node, q)), headsRepeated(node, node.in(1), heads), MatrixOperation::kTRANSPOSE);
    Value const weights = through("prob_mod", node.softmax(through("score_mod", node.cast(scores, within)), 3));
    Value const v = node.cast(headsRepeated(node, node.in(2), heads), within);
    return {node.cast(product(node, weights, v, MatrixOperation::kNONE), type)};
}

//! X, cosines, sines, positions.
Outputs importRotaryEmbedding(Node& node)
{
    bool const isFlat = node.in(0).rank() == 3;
    Value const x = isFlat ? headsApart(node, node.in(0), node.intOr("num_heads", 0)) : node.in(0);
    Rotation const rotation{.cosines = node.in(1),
        .sines = node.in(2),
        .positions = optionalInput(node, 3),
        .interleaved = node.intOr("interleaved", 0) != 0,
        .columns = node.intOr("rotary_embedding_dim", 0)};
    Value const result = rotated(node, x, rotation);
    return {isFlat ? headsTogether(node, result) : result};
}

//! An update written into a cache, from an index of each batch on.
Outputs importTensorScatter(Node& node)
{
    Value const cache = node.in(0);
    Value const update = node.in(1);
    int32_t const rank = cache.rank();
    int32_t const axis = node.axis(node.intOr("axis", -2), rank);
    std::string const mode = node.stringOr("mode", "linear");
    if (axis == 0 || update.rank() != rank || (mode != "linear" && mode != "circular"))
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("TensorScatter of mode '{}' along axis {}", mode, axis));
    }
    std::vector<int32_t> around;
    for (int32_t i = 0; i < rank; ++i)
    {
        if (i != axis)
        {
            around.push_back(i);
        }
    }
    Value places = node.unsqueeze(iota(node, extentOf(node, update, axis)), around);
    if (node.has(2))
    {
        std::vector<int32_t> behind;
        for (int32_t i = 1; i < rank; ++i)
        {
            behind.push_back(i);
        }
        places = added(node, places, node.unsqueeze(node.cast(node.in(2), DataType::kINT64), behind));
    }
    if (mode == "circular")
    {
        Value const room = tensorOf(node, {extentOf(node, cache, axis)});
        Value const rounds = node.binary(places, room, ElementWiseOperation::kFLOOR_DIV);
        places =
            node.binary(places, node.binary(rounds, room, ElementWiseOperation::kPROD), ElementWiseOperation::kSUB);
    }
    places = expandTo(node, places, extentsOf(node, update));
    nvinfer1::IScatterLayer* const layer = node.added(node.api().addScatter(node.tensor(cache), node.tensor(places),
                                                          node.tensor(update), nvinfer1::ScatterMode::kELEMENT),
        "scatter");
    layer->setAxis(axis);
    return {layer->getOutput(0)};
}

//! A convolution per channel whose padding in front is what the call before left behind.
Outputs importCausalConv(Node& node)
{
    Value const x = node.in(0);
    Value const kernel = node.in(1);
    Shape const window = kernel.shape();
    std::string const activation = node.stringOr("activation", "none");
    if (window.size() != 3 || window[0] < 1 || window[2] < 1
        || (activation != "none" && activation != "silu" && activation != "swish"))
    {
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("CausalConvWithState with weights {} and activation '{}'", shapeText(window), activation));
    }
    int64_t const kept = window[2] - 1;
    Extents front = extentsOf(node, x);
    Value padded = x;
    if (kept > 0)
    {
        front[2] = kept;
        Value const before = node.has(3) ? node.in(3) : expandTo(node, node.scalar(0.0, x.type(), 3), front);
        padded = joinedWith(node, before, x, 2);
    }
    Value const flat = node.unsqueeze(padded, {2});
    nvinfer1::Weights const none{x.type(), nullptr, 0};
    Value const weights = node.unsqueeze(kernel, {2});
    nvinfer1::IConvolutionLayer* const layer =
        node.added(node.api().addConvolutionNd(node.tensor(flat), window[0], dimsOf({1, window[2]}),
                       weights.isConstant() ? node.network().weights(weights) : none, none),
            "convolution");
    layer->setNbGroups(window[0]);
    if (!weights.isConstant())
    {
        layer->setInput(1, node.tensor(weights));
    }
    Value result = node.squeeze(layer->getOutput(0), {2});
    if (node.has(2))
    {
        result = added(node, result, node.unsqueeze(node.in(2), {0, 2}));
    }
    if (activation != "none")
    {
        result = node.binary(
            result, node.activation(result, nvinfer1::ActivationType::kSIGMOID), ElementWiseOperation::kPROD);
    }
    Extent const length = subtract(node, extentOf(node, padded, 2), kept);
    return {result, sliceAxis(node, padded, 2, length, kept)};
}

//! A state [batch, heads, columns of k, columns of v] that each position reads and writes.
class LinearAttention
{
  public:
    explicit LinearAttention(Node& node)
        : mNode{node},
          mRule{node.stringOr("update_rule", "gated_delta")},
          mHeads{node.intOr("kv_num_heads", 0)},
          mQueryHeads{node.intOr("q_num_heads", 0)},
          mIsGated{mRule == "gated" || mRule == "gated_delta"},
          mIsDelta{mRule == "delta" || mRule == "gated_delta"}
    {
        if ((!mIsGated && !mIsDelta && mRule != "linear") || mHeads < 1 || mQueryHeads < 1 || mQueryHeads % mHeads != 0)
        {
            fail(ErrorCode::kINVALID_NODE,
                fmt::format("LinearAttention by the rule '{}' of {} heads for {}", mRule, mQueryHeads, mHeads));
        }
    }

    Outputs run()
    {
        Value const q = wide(0, mQueryHeads);
        Value const k = wide(1, mHeads);
        Value const v = wide(2, mHeads);
        Extents const keys = extentsOf(mNode, k);
        Extents const values = extentsOf(mNode, v);
        Value const first = mNode.has(3)
            ? mNode.cast(mNode.in(3), mWide)
            : expandTo(mNode, mNode.scalar(0.0, mWide, 4), {keys[0], mHeads, keys[3], values[3]});
        mLoop = mNode.api().addLoop();
        if (mLoop == nullptr)
        {
            fail(ErrorCode::kUNSUPPORTED_NODE, "the network refuses a loop" + mNode.network().reasons.text());
        }
        mNode.added(
            mLoop->addTripLimit(mNode.tensor(scalarOf(mNode, extentOf(mNode, k, 2))), nvinfer1::TripLimit::kCOUNT),
            "count");
        nvinfer1::IRecurrenceLayer* const carried = mNode.added(mLoop->addRecurrence(mNode.tensor(first)), "state");
        Value state = carried->getOutput(0);
        if (mIsGated)
        {
            Value const factor = mNode.unary(at(perHead(4)), nvinfer1::UnaryOperation::kEXP);
            state = multiplied(state, mNode.unsqueeze(factor, {3}));
        }
        Value const key = mNode.unsqueeze(at(k), {3});
        Value value = mNode.unsqueeze(at(v), {2});
        if (mIsDelta)
        {
            Value const known = product(mNode, mNode.unsqueeze(at(k), {2}), state, MatrixOperation::kNONE);
            Value const rest = mNode.binary(value, known, ElementWiseOperation::kSUB);
            value = multiplied(mNode.unsqueeze(at(perHead(5)), {3}), rest);
        }
        state = added(mNode, state, multiplied(key, value));
        carried->setInput(1, mNode.tensor(state));
        Value const read = headsRepeated(mNode, state, mQueryHeads);
        Value const scaled = times(mNode, at(q), scaleOf(mNode, q));
        Value const seen = product(mNode, mNode.unsqueeze(scaled, {2}), read, MatrixOperation::kNONE);
        nvinfer1::ILoopOutputLayer* const all = mNode.added(
            mLoop->addLoopOutput(mNode.tensor(mNode.squeeze(seen, {2})), nvinfer1::LoopOutput::kCONCATENATE, 1),
            "rows");
        all->setInput(1, mNode.tensor(scalarOf(mNode, extentOf(mNode, k, 2))));
        Value const rows = mNode.output(all, "rows"); // [batch, rows, heads, columns]
        Value const last =
            mNode.output(mLoop->addLoopOutput(*carried->getOutput(0), nvinfer1::LoopOutput::kLAST_VALUE), "last");
        Value const flat = reshapeTo(mNode, rows, {keys[0], keys[2], multiply(mNode, mQueryHeads, values[3])});
        DataType const type = mNode.in(0).type();
        return {mNode.cast(flat, type), mNode.cast(last, mNode.has(3) ? mNode.in(3).type() : type)};
    }

  private:
    Value wide(int input, int64_t heads)
    {
        return headsApart(mNode, mNode.cast(mNode.in(input), mWide), heads);
    }

    //! Numbers per head, or per head and column of k; one for all heads stays one.
    Value perHead(int input)
    {
        int64_t const columns = mNode.in(input).shape().back();
        return wide(input, columns == 1 ? 1 : mHeads);
    }

    //! Of [batch, heads, rows, columns] the row at hand.
    Value at(Value const& x)
    {
        return mNode.output(mLoop->addIterator(mNode.tensor(x), 2, false), "row");
    }

    Value multiplied(Value const& a, Value const& b)
    {
        return mNode.binary(a, b, ElementWiseOperation::kPROD);
    }

    Node& mNode;
    std::string mRule;
    int64_t mHeads;
    int64_t mQueryHeads;
    DataType mWide{wideOf(mNode.in(0).type())};
    bool mIsGated;
    bool mIsDelta;
    nvinfer1::ILoop* mLoop{nullptr};
};

Outputs importLinearAttention(Node& node)
{
    return LinearAttention{node}.run();
}

constexpr Operator kAttentionTable[]{
    {"Attention", importAttention},
    {"CausalConvWithState", importCausalConv},
    {"LinearAttention", importLinearAttention},
    {"RotaryEmbedding", importRotaryEmbedding},
    {"TensorScatter", importTensorScatter},
};

constexpr Operator kPreviewTable[]{
    {"FlexAttention", importFlexAttention},
};

} // namespace

constinit std::span<Operator const> const kAttentionOperators{kAttentionTable};
constinit std::span<Operator const> const kPreviewOperators{kPreviewTable};

} // namespace tenon::onnx
