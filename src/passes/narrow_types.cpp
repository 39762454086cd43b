// narrowTypes: one walk in the order of the graph, a patch per layer; merge-casts takes out casts there and back.
#include "passes/narrow_types.h"

#include "base/cancellation.h"
#include "base/half_ranges.h"
#include "base/in_parallel.h"
#include "ir/filled_constant.h"
#include "ir/patch.h"
#include "ir/replaceable.h"
#include "layers/activation.h"
#include "layers/cast.h"
#include "layers/concatenation.h"
#include "layers/convolution.h"
#include "layers/deconvolution.h"
#include "layers/dequantize.h"
#include "layers/element_wise.h"
#include "layers/gather.h"
#include "layers/identity.h"
#include "layers/lrn.h"
#include "layers/matrix_multiply.h"
#include "layers/normalization.h"
#include "layers/padding.h"
#include "layers/parametric_relu.h"
#include "layers/pooling.h"
#include "layers/quantize.h"
#include "layers/reduce.h"
#include "layers/resize.h"
#include "layers/rotary_embedding.h"
#include "layers/scale.h"
#include "layers/select.h"
#include "layers/shuffle.h"
#include "layers/slice.h"
#include "layers/soft_max.h"
#include "layers/squeeze.h"
#include "layers/unary.h"
#include "layers/unsqueeze.h"
#include "passes/rule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <span>

namespace tenon
{

namespace
{
using nvinfer1::ElementWiseOperation;
using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;

//! Layers that give no larger and no finer numbers than they read.
constexpr std::array kFollowers{Activation::kName, Concatenation::kName, Gather::kName, Identity::kName, LRN::kName,
    Normalization::kName, Padding::kName, ParametricReLU::kName, Pooling::kName, Resize::kName, RotaryEmbedding::kName,
    Scale::kName, Select::kName, Shuffle::kName, Slice::kName, SoftMax::kName, Squeeze::kName, Unsqueeze::kName};

bool isProduct(Layer const& layer) noexcept
{
    return as<Convolution>(layer) != nullptr || as<Deconvolution>(layer) != nullptr
        || as<MatrixMultiply>(layer) != nullptr;
}

//! Exponentials, powers, quotients of nearly nothing and long sums leave the range of float16, or what it can tell
//! apart.
bool isTame(Node const& node) noexcept
{
    if (auto const* unary = as<Unary>(*node.layer))
        return unary->operation == UnaryOperation::kABS || unary->operation == UnaryOperation::kNEG
            || unary->operation == UnaryOperation::kERF;
    if (auto const* two = as<ElementWise>(*node.layer))
    {
        bool const isSquare = two->operation == ElementWiseOperation::kPROD && node.inputs.at(0) == node.inputs.at(1);
        return !isSquare
            && (two->operation == ElementWiseOperation::kSUM || two->operation == ElementWiseOperation::kSUB
                || two->operation == ElementWiseOperation::kPROD || two->operation == ElementWiseOperation::kDIV
                || two->operation == ElementWiseOperation::kMAX || two->operation == ElementWiseOperation::kMIN);
    }
    if (auto const* scale = as<Scale>(*node.layer))
        return !scale->hasPower;
    if (auto const* reduce = as<Reduce>(*node.layer))
        return reduce->operation == ReduceOperation::kAVG || reduce->operation == ReduceOperation::kMAX
            || reduce->operation == ReduceOperation::kMIN;
    return std::ranges::find(kFollowers, node.layer->name()) != kFollowers.end();
}

//! Layers that only choose among their operands or add them: what is far out of range may as well be at its end.
bool mayClamp(Layer const& layer) noexcept
{
    if (as<Select>(layer) != nullptr)
        return true;
    auto const* two = as<ElementWise>(layer);
    return two != nullptr && two->operation != ElementWiseOperation::kPROD
        && two->operation != ElementWiseOperation::kDIV;
}

double largestOf(DType type) noexcept
{
    return type == DType::kHALF ? 65504.0 : 0x1.FEp127;
}

std::span<float const> floatsOf(Constant const& constant) noexcept
{
    return {static_cast<float const*>(constant.data), static_cast<size_t>(constant.count())};
}

//! Whether the type has no number for an element but zero, or infinity where that makes a difference. Of a tensor that
//! is added or chosen from, some elements may be next to nothing among others, as a few of many weights are; all of
//! them, as in an epsilon, are something.
bool isOutOfRange(HalfRange const& range, bool isClamped)
{
    if (range.hasTooLarge && !isClamped)
        return true;
    return range.hasTooSmall && !(isClamped && range.hasNormal);
}

//! Constants as the type has them; finite elements stay so. Those of networks are read once, from where their file is
//! mapped, in parts that threads share.
class NarrowConstants
{
  public:
    explicit NarrowConstants(DType type)
        : mType{type}
    {
    }
    //! Rounds them before anybody asks.
    void prepare(std::vector<std::shared_ptr<Constant const>> const& constants, int32_t threads)
    {
        std::vector<Part> parts;
        for (std::shared_ptr<Constant const> const& constant : constants)
            if (auto const [at, isNew] = mKnown.try_emplace(constant.get()); isNew)
            {
                at->second = {constant, {}, makeConstantBy(mType, constant->extents, [](void*) {})};
                addParts(*constant, at->second, parts);
            }
        std::vector<HalfRange> ranges(parts.size());
        inParallel(parts.size(), threads, [&](size_t i) { ranges[i] = parts[i].round(mType); });
        for (size_t i = 0; i < parts.size(); ++i)
            parts[i].made->range.add(ranges[i]);
    }
    HalfRange range(Constant const& constant) const noexcept
    {
        auto const known = mKnown.find(&constant);
        return known != mKnown.end() ? known->second.range : halfRangeOf(mType, floatsOf(constant));
    }
    std::shared_ptr<Constant const> rounded(Constant const& constant) const
    {
        if (auto const known = mKnown.find(&constant); known != mKnown.end())
            return known->second.rounded;
        return makeConstantBy(mType, constant.extents,
            [&](void* memory) { roundFinite(mType, floatsOf(constant), static_cast<uint16_t*>(memory)); });
    }

  private:
    struct Made
    {
        std::shared_ptr<Constant const> given; //!< Kept: no other constant may get its address.
        HalfRange range;
        std::shared_ptr<Constant const> rounded;
    };
    struct Part
    {
        std::span<float const> from;
        uint16_t* to;
        Made* made;

        //! A little at a time, which is read from memory once.
        HalfRange round(DType type) const noexcept
        {
            constexpr size_t kLittle{4096};
            HalfRange range;
            for (size_t at = 0; at < from.size(); at += kLittle)
            {
                std::span<float const> const little = from.subspan(at, std::min(kLittle, from.size() - at));
                range.add(halfRangeOf(type, little));
                roundFinite(type, little, to + at);
            }
            return range;
        }
    };
    static void addParts(Constant const& constant, Made& made, std::vector<Part>& parts)
    {
        constexpr size_t kPart{size_t{1} << 18};
        std::span<float const> const all = floatsOf(constant);
        auto* const to = static_cast<uint16_t*>(const_cast<void*>(made.rounded->data));
        for (size_t at = 0; at < all.size(); at += kPart)
            parts.push_back({all.subspan(at, std::min(kPart, all.size() - at)), to + at, &made});
    }

    DType mType;
    std::map<Constant const*, Made> mKnown;
};

class Narrower
{
  public:
    Narrower(Graph& graph, NarrowRequest const& request)
        : mGraph{graph},
          mRequest{request},
          mNarrow{request.type}
    {
    }

    size_t run()
    {
        std::vector<NodeId> const nodes{mGraph.order().begin(), mGraph.order().end()};
        prepareFactors(nodes);
        for (NodeId const id : nodes)
        {
            cancellationPoint();
            if (!mGraph.isAlive(id))
                continue;
            if (isNarrowed(mGraph.node(id)))
                narrow(mGraph.node(id));
            else if (as<Quantize>(*mGraph.node(id).layer) != nullptr)
                readNarrow(mGraph.node(id));
        }
        return mCount;
    }

  private:
    //! Large weights of products and tables, nearly all of which the walk will ask for.
    void prepareFactors(std::vector<NodeId> const& nodes)
    {
        constexpr int64_t kLarge{int64_t{1} << 16};
        std::vector<std::shared_ptr<Constant const>> large;
        for (NodeId const id : nodes)
        {
            Node const& node = mGraph.node(id);
            if ((!isProduct(*node.layer) && !isTableOfRows(node)) || (mRequest.spares && mRequest.spares(node)))
                continue;
            for (ValueId const value : node.inputs)
                if (Constant const* const constant = isReal(value) ? mGraph.constantOf(value) : nullptr;
                    constant != nullptr && constant->count() >= kLarge && !isReplaceable(*constant))
                    large.push_back(mGraph.value(value).constant);
        }
        mNarrow.prepare(large, mRequest.threads);
    }

    bool isReal(ValueId value) const
    {
        return value != kNone && mGraph.typeOf(value).dtype == DType::kFLOAT;
    }

    //! What a cast has made float32 of; kNone: the value has float32's digits.
    ValueId narrowFormOf(ValueId value) const
    {
        Node const* const cast = mGraph.producerOf<Cast>(value);
        bool const isWidened = cast != nullptr && mGraph.typeOf(cast->input(0)).dtype == mRequest.type;
        return isWidened ? cast->input(0) : kNone;
    }

    //! Whether a sine or cosine reads it, through what moves, joins or scales elements; `steps`: that may still be
    //! gone. Of an angle the digits behind the point count, however large it is: float16 has none from 1024 on.
    bool isAngle(ValueId value, int32_t steps) const
    {
        return steps > 0 && std::ranges::any_of(mGraph.readers(value), [&](NodeId id) {
            Node const& reader = mGraph.node(id);
            Layer const& layer = *reader.layer;
            if (auto const* unary = as<Unary>(layer))
                return unary->operation == UnaryOperation::kSIN || unary->operation == UnaryOperation::kCOS;
            bool const isHandedOn = as<Concatenation>(layer) != nullptr || as<Shuffle>(layer) != nullptr
                || as<Squeeze>(layer) != nullptr || as<Unsqueeze>(layer) != nullptr || as<Identity>(layer) != nullptr
                || as<Slice>(layer) != nullptr || as<Gather>(layer) != nullptr || as<ElementWise>(layer) != nullptr
                || as<Cast>(layer) != nullptr;
            return isHandedOn && isAngle(reader.output(), steps - 1);
        });
    }

    bool isNarrowed(Node const& node) const
    {
        constexpr int32_t kStepsToAngles{6};
        if (isProduct(*node.layer) && isAngle(node.output(), kStepsToAngles))
            return false;
        auto const isFloat = [&](ValueId value) { return isReal(value); };
        if (!node.layer->bodies().empty() || !std::ranges::all_of(node.outputs, isFloat)
            || std::ranges::none_of(node.inputs, isFloat) || (mRequest.spares && mRequest.spares(node)))
            return false;
        if (isProduct(*node.layer))
            return std::ranges::all_of(node.inputs, [&](ValueId value) { return value == kNone || isFactor(value); });
        return isEmbedding(node) || (isTame(node) && follows(node));
    }

    //! Long rows of a table of weights, which are to a network what a product of its weights is. Short ones may be
    //! coordinates, or times, which need float32's digits.
    bool isEmbedding(Node const& node) const
    {
        constexpr int32_t kStepsToAngles{6};
        return isTableOfRows(node) && isFactor(node.input(0)) && !isAngle(node.output(), kStepsToAngles);
    }

    bool isTableOfRows(Node const& node) const
    {
        constexpr int64_t kLongRow{64};
        auto const* const gather = as<Gather>(*node.layer);
        Constant const* const table = gather == nullptr ? nullptr : mGraph.constantOf(node.input(0));
        return table != nullptr && !isReplaceable(*table) // Else each run would round all of it.
            && gather->mode == nvinfer1::GatherMode::kDEFAULT && gather->gatherAxis == 0 && table->extents.size() == 2
            && table->extents.back() >= kLongRow;
    }

    //! Of a product: what comes of int8 makes one of int8, whose result may be none of this type, and weights beyond
    //! the type's range keep theirs. Weights that are next to nothing are nothing.
    bool isFactor(ValueId value) const
    {
        Constant const* const constant = isReal(value) ? mGraph.constantOf(value) : nullptr;
        bool const isTooLarge =
            constant != nullptr && !isReplaceable(*constant) && mNarrow.range(*constant).hasTooLarge;
        return !isTooLarge && (mRequest.narrowsQuantized || mGraph.producerOf<Dequantize>(value) == nullptr);
    }

    //! Some operand comes from a narrowed layer, and all constants keep what they mean.
    bool follows(Node const& node) const
    {
        bool hasNarrow{false};
        for (ValueId const value : node.inputs)
        {
            if (!isReal(value))
                continue;
            hasNarrow = hasNarrow || narrowFormOf(value) != kNone;
            if (Constant const* const constant = mGraph.constantOf(value); constant != nullptr
                && !isReplaceable(*constant) // A refit may bring any numbers.
                && isOutOfRange(mNarrow.range(*constant), mayClamp(*node.layer)))
                return false;
        }
        return hasNarrow;
    }

    ValueId operand(Patch& patch, Node const& node, ValueId value)
    {
        if (ValueId const narrow = narrowFormOf(value); narrow != kNone)
            return narrow;
        if (Constant const* const constant = mGraph.constantOf(value); constant != nullptr && !isReplaceable(*constant))
        {
            auto const [known, isNew] = mConstants.try_emplace(value, kNone);
            if (isNew)
                known->second = mGraph.addConstant(mGraph.value(value).name, mNarrow.rounded(*constant));
            return known->second;
        }
        if (Node const* const made = mGraph.producerOf<Dequantize>(value); made != nullptr && mRequest.narrowsQuantized)
        {
            Dequantize layer = *as<Dequantize>(*made->layer);
            layer.toType = mRequest.type;
            return patch.add(layer, made->inputs);
        }
        if (isProduct(*node.layer))
            mFactors.insert(value);
        else if (mayClamp(*node.layer) && !mFactors.contains(value))
        {
            // Masks are the lowest number of float32.
            auto const most = static_cast<float>(largestOf(mRequest.type));
            value = patch.add(
                Activation{.activationType = nvinfer1::ActivationType::kCLIP, .alpha = -most, .beta = most}, {value});
        }
        return patch.add(Cast{mRequest.type}, {value});
    }

    //! Quantize computes in float32 whatever it reads.
    void readNarrow(Node const& node)
    {
        ValueId const narrow = narrowFormOf(node.input(0));
        if (narrow == kNone)
            return;
        Patch patch{mGraph, node};
        std::vector<ValueId> inputs = node.inputs;
        inputs[0] = narrow;
        patch.replace(node.output(), patch.add(node.layer, std::move(inputs)));
        static_cast<void>(applyPatch(mGraph, patch));
    }

    //! A layer that does not take the type stays as it is.
    void narrow(Node const& node)
    {
        Patch patch{mGraph, node};
        std::vector<ValueId> inputs = node.inputs;
        for (ValueId& value : inputs)
            if (isReal(value))
                value = operand(patch, node, value);
        ValueId const made = patch.add(node.layer, std::move(inputs), node.outputs.size());
        for (size_t i = 0; i < node.outputs.size(); ++i)
            patch.replace(node.outputs[i], patch.add(Cast{DType::kFLOAT}, {Patch::outputOf(made, i)}));
        if (applyPatch(mGraph, patch))
            ++mCount;
    }

    Graph& mGraph;
    NarrowRequest const& mRequest;
    NarrowConstants mNarrow;
    std::map<ValueId, ValueId> mConstants;
    std::set<ValueId> mFactors; //!< Of products, cast for them: what is out of range is infinite there, and no mask.
    size_t mCount{0};
};
} // namespace

size_t narrowTypes(Graph& graph, NarrowRequest const& request)
{
    return Narrower{graph, request}.run();
}

} // namespace tenon
