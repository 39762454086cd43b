// mask-padded-keys: attention over padded keys of which some count is attention with a mask, which has kernels.
#include "layers/element_wise.h"
#include "layers/ragged_attention.h"
#include "layers/shuffle.h"
#include "passes/rules.h"

namespace tenon::passes
{

namespace
{
using nvinfer1::AttentionNormalizationOp;
using nvinfer1::ElementWiseOperation;

constexpr int64_t kMaxPositions{int64_t{1} << 22}; //!< Of a constant that says where keys lie.

//! How many keys must count for key j to be seen by query i: j + 1, and where the last query sees the last key, j - i +
//! queries. As [1, 1, queries or 1, keys], one less than that.
std::shared_ptr<Constant const> positions(int64_t queries, int64_t keys, bool isLowerRight, DType type)
{
    int64_t const rows = isLowerRight ? queries : 1;
    HostTensor at{type, {1, 1, rows, keys}};
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < keys; ++j)
            at.setInteger(i * keys + j, isLowerRight ? j - i + queries - 1 : j);
    return at.toConstant();
}
} // namespace

Rewrite maskPaddedKeys(Graph const& graph, Node const& node)
{
    auto const* layer = as<RaggedAttention>(*node.layer);
    if (layer == nullptr)
        return skip();
    if (RaggedAttention::isPacked(layer->queryForm) || RaggedAttention::isPacked(layer->keyValueForm))
        return skip("sequences are packed");
    if (layer->normalization != AttentionNormalizationOp::kSOFTMAX || layer->quantizedTo != DType::kFLOAT)
        return skip("what is between the two products is no plain softmax");
    ValueId const lengths = node.input(RaggedAttention::kKeyValueLengths);
    ValueId mask = node.input(RaggedAttention::kMask);
    if (lengths == kNone)
        return skip("all keys count");
    if (mask != kNone && graph.typeOf(mask).dtype != DType::kBOOL)
        return skip("the mask is added to the products");
    bool const isLowerRight = layer->causal == AttentionCausal::kLowerRight;
    ShapeExpr const& queries = graph.typeOf(node.input(RaggedAttention::kQuery)).shape[2];
    ShapeExpr const& keys = graph.typeOf(node.input(RaggedAttention::kKey)).shape[2];
    if (!keys.isConstant() || (isLowerRight && !queries.isConstant()))
        return skip("only the run tells where queries and keys lie");
    int64_t const rows = isLowerRight ? *queries.constant() : 1;
    if (rows > kMaxPositions / std::max<int64_t>(*keys.constant(), 1))
        return skip("a constant of all positions would be large");
    Patch patch{graph, node};
    DType const type = graph.typeOf(lengths).dtype;
    ValueId counts = patch.add(Shuffle::reshape({-1, 1, 1, 1}), {lengths});
    if (isLowerRight) // The last key is one of those that there are, whatever the lengths say.
    {
        HostTensor all{type, {1, 1, 1, 1}};
        all.setInteger(0, *keys.constant());
        ValueId const most = patch.constant("number of keys", all.toConstant());
        counts = patch.add(ElementWise{ElementWiseOperation::kMIN}, {counts, most});
    }
    ValueId const at = patch.constant("positions of keys", positions(rows, *keys.constant(), isLowerRight, type));
    ValueId const seen = patch.add(ElementWise{ElementWiseOperation::kLESS}, {at, counts});
    mask = mask == kNone ? seen : patch.add(ElementWise{ElementWiseOperation::kAND}, {mask, seen});
    Attention attention;
    attention.causal = isLowerRight ? AttentionCausal::kNone : layer->causal;
    attention.maskedRowsAreZero = true;
    patch.replace(node.output(), patch.add(attention, {node.input(0), node.input(1), node.input(2), mask}));
    return patch;
}

} // namespace tenon::passes
