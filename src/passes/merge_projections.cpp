// merge-projections: the products that make q, k and v from one tensor become one product with the weights side by
// side, when the attention can read its operands from the joint result.
#include "ir/filled_constant.h"
#include "layers/attention.h"
#include "layers/matrix_multiply.h"
#include "passes/rules.h"
#include "passes/shuffles.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tenon::passes
{

namespace
{
using Matrix = nvinfer1::MatrixOperation;

//! One operand of an attention: a projection seen as [b, s, h, d].
struct Projection
{
    Node const* reshape{nullptr};
    Node const* product{nullptr};
    int64_t heads{0};
    int64_t width{0};
    AttentionView const* view{nullptr};
};

std::optional<Projection> projectionOf(
    Graph const& graph, ValueId value, AttentionView const& view, FusionLimits const& limits)
{
    Node const* reshape = graph.producerOf<Shuffle>(value);
    if (reshape == nullptr || !isReshape(graph, reshape))
        return std::nullopt;
    Node const* product = graph.producerOf<MatrixMultiply>(reshape->input(0));
    Shape const& seen = graph.typeOf(value).shape;
    Constant const* weights = product == nullptr ? nullptr : graph.constantOf(product->input(1));
    bool const isShared = weights != nullptr && weights->extents.size() == 3 && weights->extents[0] == 1;
    bool const isJoinable = isShared && limits.projectionTypes.has(weights->dtype) && bitsOf(weights->dtype) >= 8;
    if (!isJoinable || !isReadOnce(graph, value) || !isReadOnce(graph, reshape->input(0)) || view.axes[1] != 2
        || view.axes[3] != 3 || view.heads != 0 || !seen[2].isConstant() || !seen[3].isConstant())
        return std::nullopt;
    MatrixMultiply const& layer = *layerOf<MatrixMultiply>(product);
    bool const isPlain = layer.operation0 == Matrix::kNONE && layer.operation1 != Matrix::kVECTOR
        && layer.epilogue.empty() && layer.alpha == 1.0F && graph.typeOf(reshape->input(0)).rank() == 3;
    bool const hasConstantBias = product->input(2) == kNone || graph.constantOf(product->input(2)) != nullptr;
    if (!isPlain || !hasConstantBias)
        return std::nullopt;
    return Projection{reshape, product, *seen[2].constant(), *seen[3].constant(), &view};
}

using Projections = std::array<Projection, 3>;

bool fitTogether(Projections const& all)
{
    return std::all_of(all.begin(), all.end(),
               [&](Projection const& each) {
                   return each.product->input(0) == all[0].product->input(0) && each.width == all[0].width
                       && equalFields(*layerOf<MatrixMultiply>(each.product), *layerOf<MatrixMultiply>(all[0].product));
               })
        && all[0].product != all[1].product && all[1].product != all[2].product && all[0].product != all[2].product;
}

//! Weights [1, k, n] (or [1, n, k] when transposed) side by side along n.
std::shared_ptr<Constant const> joinedWeights(Graph const& graph, Projections const& all, bool isTransposed)
{
    std::vector<Constant const*> parts;
    for (Projection const& each : all)
        parts.push_back(graph.constantOf(each.product->input(1)));
    std::vector<int64_t> extents = parts[0]->extents;
    size_t const axis = extents.size() - (isTransposed ? 2 : 1);
    extents[axis] = 0;
    for (Constant const* part : parts)
        extents[axis] += part->extents[axis];
    DType const type = parts[0]->dtype;
    int64_t const rows = isTransposed ? 1 : extents[axis - 1];
    return makeConstantBy(type, extents, [&](void* memory) {
        auto* to = static_cast<uint8_t*>(memory);
        for (int64_t row = 0; row < rows; ++row)
            for (Constant const* part : parts)
            {
                int64_t const bytes = bytesOf(type, part->count() / rows);
                std::memcpy(to, static_cast<uint8_t const*>(part->data) + row * bytes, static_cast<size_t>(bytes));
                to += bytes;
            }
    });
}

std::shared_ptr<Constant const> joinedBias(Graph const& graph, Projections const& all)
{
    int64_t total{0};
    for (Projection const& each : all)
        total += each.heads * each.width;
    DType const type = graph.typeOf(all[0].product->output()).dtype;
    HostTensor joined{type, {total}};
    int64_t at{0};
    for (Projection const& each : all)
    {
        Constant const* bias = graph.constantOf(each.product->input(2));
        HostTensor const part =
            bias == nullptr ? HostTensor{type, {each.heads * each.width}} : HostTensor::fromConstant(*bias);
        for (int64_t i = 0; i < part.count(); ++i)
            joined.set(at++, part.real(i));
    }
    return joined.toConstant();
}
} // namespace

Rewrite mergeProjections(Graph const& graph, Node const& node, FusionLimits const& limits)
{
    auto const* attention = as<Attention>(*node.layer);
    if (attention == nullptr)
        return skip();
    AttentionView const* views[]{&attention->q, &attention->k, &attention->v};
    Projections all;
    for (size_t i = 0; i < 3; ++i)
    {
        std::optional<Projection> const one = projectionOf(graph, node.input(i), *views[i], limits);
        if (!one)
            return skip("q, k and v are not plain projections with constant weights");
        all[i] = *one;
    }
    if (!fitTogether(all))
        return skip("q, k and v are projections of different tensors");
    MatrixMultiply const& product = *layerOf<MatrixMultiply>(all[0].product);
    Patch patch{graph, node};
    patch.covers({all[0].product->id, all[1].product->id, all[2].product->id, node.id});
    ValueId const weights = patch.constant(graph.value(all[0].product->input(1)).name + " and others",
        joinedWeights(graph, all, product.operation1 == Matrix::kTRANSPOSE));
    std::vector<ValueId> operands{all[0].product->input(0), weights};
    if (std::any_of(all.begin(), all.end(), [](Projection const& each) { return each.product->input(2) != kNone; }))
        operands.push_back(patch.constant(all[0].product->name + " bias", joinedBias(graph, all)));
    Shape const& seen = graph.typeOf(node.input(0)).shape;
    int64_t const heads = all[0].heads + all[1].heads + all[2].heads;
    Shape const source{seen[0], seen[1], heads * all[0].width};
    Shape const joint{seen[0], seen[1], heads, all[0].width};
    std::optional<Shuffle> const reshape = reshapeTo(source, joint);
    if (!reshape)
        return skip("several extents of the reshape are known at run time only");
    ValueId const packed = patch.add(*reshape, {patch.add(product, std::move(operands))});
    Attention merged = *attention;
    AttentionView* mine[]{&merged.q, &merged.k, &merged.v};
    int64_t first{0};
    for (size_t i = 0; i < 3; ++i)
    {
        mine[i]->firstHead = static_cast<int32_t>(first);
        mine[i]->heads = static_cast<int32_t>(all[i].heads);
        first += all[i].heads;
    }
    std::vector<ValueId> inputs = node.inputs;
    std::fill(inputs.begin(), inputs.begin() + 3, packed);
    patch.replace(node.output(), patch.add(merged, std::move(inputs)));
    return patch;
}

} // namespace tenon::passes
