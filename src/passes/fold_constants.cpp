// fold-constants, fold-weights: a node whose result is known while building becomes a constant: through the layer's
// reference, from what is known of a shape tensor, or as the same memory under other extents.
#include "base/half.h"
#include "base/type_set.h"
#include "ir/filled_constant.h"
#include "layers/cast.h"
#include "layers/convolution.h"
#include "layers/dequantize.h"
#include "layers/fill.h"
#include "layers/matrix_multiply.h"
#include "layers/positions.h"
#include "layers/quantized_product.h"
#include "layers/reduce.h"
#include "layers/shuffle.h"
#include "layers/unsqueeze.h"
#include "passes/rules.h"

#include <algorithm>
#include <cstring>

namespace tenon::passes
{

namespace
{
constexpr int64_t kMaxGrowth{int64_t{1} << 20};   // Bytes that folding may add to the plan beyond its inputs.
constexpr int64_t kMaxElements{int64_t{1} << 22}; // The reference works in doubles: more takes too long.

bool isWithin(Graph const& graph, Node const& node)
{
    int64_t inputs{0};
    for (ValueId const input : node.inputs)
        if (Constant const* constant = graph.constantOf(input))
        {
            if (constant->count() > kMaxElements)
                return false;
            inputs += constant->bytes();
        }
    int64_t outputs{0};
    for (ValueId const output : node.outputs)
    {
        std::optional<std::vector<int64_t>> const extents = staticExtents(graph.typeOf(output).shape);
        if (!extents || volumeOf(*extents) > kMaxElements)
            return false;
        outputs += bytesOf(graph.typeOf(output).dtype, volumeOf(*extents));
    }
    return outputs <= inputs + kMaxGrowth;
}

bool hasReferenceForm(DType type)
{
    return type == DType::kFLOAT || type == DType::kHALF || type == DType::kBF16 || type == kFloat64
        || isQuantizedType(type) || type == DType::kUINT8 || type == DType::kINT32 || type == DType::kINT64
        || type == DType::kBOOL;
}

//! Constant contents of a shape tensor.
std::shared_ptr<Constant const> constantContents(Value const& value)
{
    std::optional<std::vector<int64_t>> const extents = staticExtents(value.type.shape);
    if (!value.contents || !extents || !hasReferenceForm(value.type.dtype)
        || volumeOf(*extents) != static_cast<int64_t>(value.contents->size()))
        return nullptr;
    HostTensor host{value.type.dtype, *extents};
    for (size_t i = 0; i < value.contents->size(); ++i)
    {
        ShapeExpr const& element = (*value.contents)[i];
        std::optional<double> const number = realConstantOf(element);
        if (!number)
            return nullptr;
        auto const at = static_cast<int64_t>(i);
        element.isConstant() ? host.setInteger(at, *element.constant()) : host.set(at, *number);
    }
    return host.toConstant();
}

//! The same data: a reshape of any size costs nothing.
std::shared_ptr<Constant const> reshaped(Graph const& graph, Node const& node)
{
    ValueId const source = node.input(0);
    std::optional<std::vector<int64_t>> const extents = staticExtents(graph.typeOf(node.output()).shape);
    if (!extents || graph.constantOf(source) == nullptr
        || graph.typeOf(node.output()).dtype != graph.typeOf(source).dtype)
        return nullptr;
    std::string_view const kind = node.layer->name();
    auto const* shuffle = as<Shuffle>(*node.layer);
    bool const same = kind == "Identity" || kind == "Squeeze" || kind == "Unsqueeze" || kind == "Cast"
        || (shuffle != nullptr && shuffle->isReshape(graph.typeOf(source).shape));
    return same ? reshapedConstant(graph.value(source).constant, *extents) : nullptr;
}

//! Dense elements from strided ones, which may lie at any address.
void collect(
    uint32_t* to, uint8_t const* from, std::vector<int64_t> const& extents, std::vector<int64_t> const& strides)
{
    std::vector<int64_t> at(extents.size(), 0);
    int64_t const count = volumeOf(extents);
    size_t const last = extents.size() - 1;
    for (int64_t done = 0; done < count; done += extents[last])
    {
        int64_t base{0};
        for (size_t axis = 0; axis < last; ++axis)
            base += at[axis] * strides[axis];
        for (int64_t i = 0; i < extents[last]; ++i)
            std::memcpy(&to[done + i], from + (base + i * strides[last]) * int64_t{sizeof(uint32_t)}, sizeof(uint32_t));
        for (size_t axis = last; axis-- > 0;)
        {
            if (++at[axis] < extents[axis])
                break;
            at[axis] = 0;
        }
    }
}

//! A transpose of any size, element by element: large weights are transposed by exporters.
std::shared_ptr<Constant const> transposed(Graph const& graph, Node const& node)
{
    auto const* shuffle = as<Shuffle>(*node.layer);
    Constant const* source = graph.constantOf(node.input(0));
    if (shuffle == nullptr || source == nullptr || source->extents.empty() || source->count() == 0)
        return nullptr;
    std::optional<std::vector<int64_t>> const result = staticExtents(graph.typeOf(node.output()).shape);
    bool const isPlain = shuffle->reshapeDimensions.nbDims < 0 && node.input(1) == kNone;
    if (!isPlain || !result || (source->dtype != DType::kFLOAT && source->dtype != DType::kINT32))
        return nullptr;
    std::vector<int64_t> const from = stridesOf(source->extents);
    std::vector<int64_t> strides;
    for (size_t axis = 0; axis < from.size(); ++axis)
        strides.push_back(
            from[static_cast<size_t>(shuffle->firstTranspose[static_cast<size_t>(shuffle->secondTranspose[axis])])]);
    return makeConstantBy(source->dtype, *result, [&](void* memory) {
        collect(static_cast<uint32_t*>(memory), static_cast<uint8_t const*>(source->data), *result, strides);
    });
}

//! Whole networks are rounded so: through doubles that takes longer than reading the file.
void narrowFloats(uint8_t const* from, uint16_t* to, int64_t count, bool toHalf)
{
    for (int64_t i = 0; i < count; ++i)
    {
        float number;
        std::memcpy(&number, from + i * int64_t{sizeof(float)}, sizeof number); // At any address.
        to[i] = toHalf ? floatToHalf(number) : floatToBfloat(number);
    }
}

//! A cast of real numbers of any size to a type that is no wider, some at a time: all of them as doubles are too much.
std::shared_ptr<Constant const> narrowed(Graph const& graph, Node const& node)
{
    constexpr int64_t kPart{int64_t{1} << 16};
    TypeSet const real{DType::kFLOAT, DType::kHALF, DType::kBF16};
    Constant const* source = graph.constantOf(node.input(0));
    DType const type = graph.typeOf(node.output()).dtype;
    if (as<Cast>(*node.layer) == nullptr || source == nullptr || !real.has(source->dtype) || !real.has(type)
        || bytesOf(type, source->count()) > source->bytes())
        return nullptr;
    std::shared_ptr<Constant const> made = makeConstant(type, source->extents, nullptr);
    if (source->dtype == DType::kFLOAT && type != DType::kFLOAT)
    {
        narrowFloats(static_cast<uint8_t const*>(source->data), static_cast<uint16_t*>(const_cast<void*>(made->data)),
            source->count(), type == DType::kHALF);
        return made;
    }
    auto const* const from = static_cast<uint8_t const*>(source->data);
    auto* const to = static_cast<uint8_t*>(const_cast<void*>(made->data));
    for (int64_t first = 0; first < source->count(); first += kPart)
    {
        std::vector<int64_t> const extents{std::min(kPart, source->count() - first)};
        HostTensor const part = HostTensor::fromBytes(source->dtype, extents, from + bytesOf(source->dtype, first));
        HostTensor result{type, extents};
        for (int64_t i = 0; i < extents[0]; ++i)
            result.set(i, part.real(i));
        result.toBytes(to + bytesOf(type, first));
    }
    return made;
}

//! Sums of bytes as int32, of which products with zero points need one per column of their weights. Of any size: the
//! numbers in between, four times as large, are often too many to be stored.
std::shared_ptr<Constant const> summedBytes(Graph const& graph, Node const& node)
{
    auto const* reduce = as<Reduce>(*node.layer);
    Node const* cast = reduce == nullptr ? nullptr : graph.producerOf<Cast>(node.input(0));
    Constant const* source = cast == nullptr ? nullptr : graph.constantOf(cast->input(0));
    bool const isOfBytes =
        source != nullptr && (source->dtype == DType::kINT8 || source->dtype == DType::kUINT8) && source->count() > 0;
    std::optional<std::vector<int64_t>> const result = staticExtents(graph.typeOf(node.output()).shape);
    if (!isOfBytes || !result || reduce->operation != nvinfer1::ReduceOperation::kSUM
        || graph.typeOf(node.output()).dtype != DType::kINT32)
        return nullptr;
    std::vector<int64_t> kept = source->extents;
    for (size_t axis = 0; axis < kept.size(); ++axis)
        kept[axis] = (reduce->reduceAxes >> axis & 1U) != 0 ? 1 : kept[axis];
    std::vector<int64_t> const strides = broadcastStrides(kept);
    std::vector<uint32_t> sums(static_cast<size_t>(volumeOf(kept)), 0); // They wrap, as sums in a run do.
    auto const* const bytes = static_cast<uint8_t const*>(source->data);
    bool const isSigned = source->dtype == DType::kINT8;
    forEachPosition(source->extents, [&](int64_t linear, std::vector<int64_t> const& at) {
        uint8_t const byte = bytes[linear];
        int32_t const number = isSigned ? static_cast<int8_t>(byte) : byte;
        sums[static_cast<size_t>(linearOf(at, strides))] += static_cast<uint32_t>(number);
    });
    return makeConstant(DType::kINT32, *result, sums.data());
}

//! Weights that a product reads dequantized: a device may multiply their int8 or fp8 numbers.
bool areQuantizedWeights(Graph const& graph, Node const& node)
{
    if (as<Dequantize>(*node.layer) == nullptr || !isQuantizedType(graph.typeOf(node.input(0)).dtype)
        || graph.typeOf(node.output()).rank() < 2)
        return false;
    return std::ranges::any_of(graph.uses(node.output()), [&](Use const& use) {
        Node const& reader = graph.node(use.node);
        return as<Shuffle>(*reader.layer) != nullptr || as<Unsqueeze>(*reader.layer) != nullptr
            || ((as<Convolution>(*reader.layer) != nullptr || as<MatrixMultiply>(*reader.layer) != nullptr)
                && use.operand == 1 && graph.constantOf(reader.input(0)) == nullptr);
    });
}

Rewrite replaceBy(Graph const& graph, Node const& node, std::shared_ptr<Constant const> constant)
{
    Patch patch{graph, node};
    patch.replace(node.output(), patch.constant(graph.value(node.output()).name, std::move(constant)));
    return patch;
}

Rewrite throughReference(Graph const& graph, Node const& node)
{
    std::vector<HostTensor> storage;
    storage.reserve(node.inputs.size());
    HostTensors in;
    for (ValueId const input : node.inputs)
    {
        Constant const* constant = graph.constantOf(input);
        if (input != kNone && !hasReferenceForm(constant->dtype))
            return skip();
        if (input != kNone)
            storage.push_back(HostTensor::fromConstant(*constant));
        in.push_back(input == kNone ? nullptr : &storage.back());
    }
    Result<std::vector<HostTensor>> result = node.layer->reference(in);
    if (!result)
        return skip(result.error().message);
    Patch patch{graph, node};
    for (size_t i = 0; i < node.outputs.size() && i < result->size(); ++i)
        patch.replace(node.outputs[i], patch.constant(graph.value(node.outputs[i]).name, (*result)[i].toConstant()));
    return patch;
}
} // namespace

Rewrite foldConstants(Graph const& graph, Node const& node)
{
    if (areQuantizedWeights(graph, node))
        return skip("int8 or fp8 weights of a product");
    return foldWeights(graph, node);
}

Rewrite foldWeights(Graph const& graph, Node const& node)
{
    if (node.outputs.empty() || node.layer->hasSideEffects())
        return skip();
    if (node.layer->loopForm() != nullptr)
        return skip(); // It may take any time.
    bool const isKnown = std::all_of(node.inputs.begin(), node.inputs.end(),
        [&](ValueId input) { return input == kNone || graph.constantOf(input) != nullptr; });
    std::optional<Shape> const& contents = graph.value(node.outputs.front()).contents;
    // Real contents have neither the sign of a zero nor the memory of the constant that they come from.
    bool const isExact = !isKnown || !contents || !hasReal(*contents);
    if (node.outputs.size() == 1 && isExact)
        if (std::shared_ptr<Constant const> known = constantContents(graph.value(node.output())))
            return replaceBy(graph, node, std::move(known));
    if (std::shared_ptr<Constant const> sums = summedBytes(graph, node))
        return replaceBy(graph, node, std::move(sums));
    auto const* fill = as<Fill>(*node.layer);
    if (!isKnown || (fill != nullptr && fill->operation != nvinfer1::FillOperation::kLINSPACE))
        return skip(); // Random numbers are drawn anew in each run.
    if (node.outputs.size() == 1 && !node.inputs.empty())
    {
        if (std::shared_ptr<Constant const> same = reshaped(graph, node))
            return replaceBy(graph, node, std::move(same));
        if (std::shared_ptr<Constant const> moved = transposed(graph, node))
            return replaceBy(graph, node, std::move(moved));
    }
    if (std::shared_ptr<Constant const> narrow = narrowed(graph, node))
        return replaceBy(graph, node, std::move(narrow));
    if (!isWithin(graph, node))
        return skip("the result is large: it is computed in each run rather than stored");
    return throughReference(graph, node);
}

} // namespace tenon::passes
