// The pipeline: which rules run together, in which order: a table for every device, and one with limits from the
// target.
#include "passes/rules.h"

namespace tenon
{

namespace
{
using namespace passes;

constexpr Rule kFold{"fold-constants", RuleKind::kFold,
    "What depends on constants and known extents alone is computed now.", foldConstants};
constexpr Rule kNoOps{
    "remove-no-ops", RuleKind::kSimplify, "Layers that give what they get are taken out.", removeNoOps};
constexpr Rule kEqual{
    "merge-equal-nodes", RuleKind::kSimplify, "Of two layers that compute the same, one goes.", mergeEqualNodes};
constexpr Rule kTransposeIntoMatmul{
    "transpose-into-matmul", RuleKind::kSimplify, "A product reads its operand transposed.", transposeIntoMatmul};
constexpr Rule kFixReshape{
    "fix-reshape-dimensions", RuleKind::kSimplify, "A reshape says its extents in its fields.", fixReshapeDimensions};
constexpr Rule kReshapeFirst{"reshape-before-transpose", RuleKind::kSimplify,
    "A shuffle reshapes what lies together first, then transposes.", reshapeBeforeTranspose};
constexpr Rule kReshapedWeights{"dequantize-reshaped-weights", RuleKind::kSimplify,
    "Weights are reshaped before they are dequantized.", dequantizeReshapedWeights};
constexpr Rule kMergeShuffles{
    "merge-shuffles", RuleKind::kSimplify, "Two shuffles in a row become one, or none.", mergeShuffles};
constexpr Rule kLiftMatmul{"lift-matmul-over-reshape", RuleKind::kSimplify,
    "A product with weights works on all leading axes at once.", liftMatmulOverReshape};
constexpr Rule kSinkBelowMatmul{"sink-transpose-below-matmul", RuleKind::kSimplify,
    "A transpose of rows moves behind a product with weights.", sinkTransposeBelowMatmul};
constexpr Rule kSinkBelowPointwise{"sink-transpose-below-pointwise", RuleKind::kSimplify,
    "A transpose behind a product moves behind the arithmetic that follows.", sinkTransposeBelowPointwise};
constexpr Rule kCancelRequantization{"cancel-requantization", RuleKind::kSimplify,
    "Numbers that are dequantized and quantized by one scale stay.", cancelRequantization};
constexpr Rule kChannelAffine{"fold-channel-affine", RuleKind::kFuse,
    "Batch norm, scales and biases of channels go into the weights.", foldChannelAffine};

constexpr Rule kClean[]{
    {"lower-fully-connected", RuleKind::kFold, "A fully connected layer is a product between two reshapes.",
        lowerFullyConnected}, // Always: no backend has a kernel for it.
    {"lower-einsum", RuleKind::kFold, "An equation becomes sums, transposes and products of matrices.", lowerEinsum},
    {"mask-padded-keys", RuleKind::kFold, "Attention over padded keys gets a mask of those that count.",
        maskPaddedKeys},
    {"lower-recurrence", RuleKind::kFold, "Recurrent networks on top of each other become a layer each.",
        lowerRecurrence},
    {"scalar-scales", RuleKind::kFold, "One scale for all elements is a number.", scalarScales},
    {"merge-casts", RuleKind::kSimplify, "A cast to a wider type and on is one cast, or none.", mergeCasts},
    {"outer-product-to-pointwise", RuleKind::kSimplify,
        "A product over one element is one of elements, exact in its type.", outerProductToPointwise},
    {"gather-in-order-to-reshape", RuleKind::kSimplify, "A gather of everything in its order is a reshape.",
        gatherInOrderToReshape},
    // Before folding: what all indices give may be too large for that, one row is not.
    {"gather-row-once", RuleKind::kSimplify, "A row that all indices name is gathered once, and broadcast.",
        gatherRowOnce},
    kTransposeIntoMatmul, // Before folding: a large weight need not be stored a second time, transposed.
    kReshapedWeights,
    kCancelRequantization,
    kFold,
    kNoOps,
    kEqual,
};

constexpr Rule kSqueeze{
    "squeeze-to-shuffle", RuleKind::kSimplify, "Squeeze and unsqueeze are reshapes.", squeezeToShuffle};

constexpr Rule kQuantizedWeights[]{
    kSqueeze,
    kFixReshape,
    kReshapedWeights,
};

constexpr Rule kQuantizedRows[]{
    // Before shuffles find their forms, as those of rows in real numbers do.
    {"sink-transpose-below-quantization", RuleKind::kSimplify,
        "Rows that a product reads get their order after they are dequantized.", sinkTransposeBelowQuantization},
};

constexpr Rule kWeights[]{
    kChannelAffine,
    {"fold-matmul-alpha", RuleKind::kFuse, "A factor on a product becomes its alpha.", foldMatmulAlpha},
    {"recognize-layer-norm", RuleKind::kFuse, "A normalization written out as arithmetic becomes one layer.",
        recognizeLayerNorm},
    {"recognize-group-norm", RuleKind::kFuse, "An instance norm on groups of channels becomes a group norm.",
        recognizeGroupNorm},
    {"recognize-rotary-embedding", RuleKind::kFuse,
        "Halves of heads that angles turn, written out as arithmetic, become one layer.", recognizeRotaryEmbedding},
    {"fold-affine-into-normalization", RuleKind::kFuse, "Scale and shift after a normalization become its own.",
        foldAffineIntoNormalization},
    kFold,
    kNoOps,
};

constexpr Rule kShuffles[]{
    kSqueeze,
    kReshapedWeights,
    kFixReshape,
    kReshapeFirst,
    kMergeShuffles,
    {"slice-before-split", RuleKind::kSimplify, "A part of a split axis is a slice of the whole.", sliceBeforeSplit},
    kLiftMatmul,
    kSinkBelowMatmul,
    kSinkBelowPointwise,
    kTransposeIntoMatmul,
    {"fold-operand-factor", RuleKind::kFuse, "A factor on an operand of a product becomes its alpha.",
        foldOperandFactor},
    kChannelAffine,
    kFold,
    kNoOps,
    kEqual,
};

constexpr Rule kRealAttention[]{
    // Its result is in the order that a product reads before that is one of int8 numbers.
    {"fuse-real-attention", RuleKind::kFuse, "An attention of real numbers between quantized products is one layer.",
        fuseRealAttention},
    {"sink-shuffle-below-quantization", RuleKind::kSimplify,
        "What moves a product's rows moves them after they are dequantized.", sinkShuffleBelowQuantization},
    kFixReshape,
    kReshapeFirst,
    kMergeShuffles,
    kLiftMatmul,
    kSinkBelowMatmul,
    kSinkBelowPointwise,
    kReshapedWeights,
    kNoOps,
    kEqual,
};

constexpr Rule kInt8[]{
    {"quantize-products", RuleKind::kFuse, "A product of dequantized operands multiplies their int8 numbers.",
        quantizeProducts},
    {"dequantize-below-views", RuleKind::kSimplify, "What moves elements moves them before they are dequantized.",
        dequantizeBelowViews},
    {"quantize-above-views", RuleKind::kSimplify, "What moves elements moves them after they are quantized.",
        quantizeAboveViews},
    kCancelRequantization,
    {"open-int8-product", RuleKind::kFuse, "An int8 product dequantizes its result for what works on real numbers.",
        openInt8Product},
    kChannelAffine,
    {"fuse-int8-sum", RuleKind::kFuse, "An int8 product adds the residual branch.", fuseInt8Sum},
    {"fuse-int8-activation", RuleKind::kFuse, "An int8 product applies the activation that follows.",
        fuseInt8Activation},
    {"close-int8-product", RuleKind::kFuse, "An int8 product quantizes its result.", closeInt8Product},
};

constexpr Rule kRealWeights[]{
    {"fold-weights", RuleKind::kFold, "Weights that no int8 product reads become real numbers.", foldWeights},
    kChannelAffine,
    kNoOps,
};

constexpr Rule kAttention[]{
    {"fuse-attention", RuleKind::kFuse, "Softmax of scaled, masked products times values becomes one layer.",
        fuseAttention},
    kFixReshape,
    kReshapeFirst,
    kMergeShuffles,
    kLiftMatmul,
    kSinkBelowMatmul,
    kSinkBelowPointwise,
    kFold,
    kNoOps,
    kEqual,
};

constexpr Rule kProjections[]{
    {"merge-projections", RuleKind::kFuse, "The products that make q, k and v become one.", mergeProjections},
};

constexpr Rule kEpilogues[]{
    kChannelAffine,
    {"fuse-activation", RuleKind::kFuse, "A convolution or product applies the activation that follows.",
        fuseActivationIntoEpilogue},
    {"fuse-residual", RuleKind::kFuse, "A convolution or product adds the residual branch.", fuseResidualIntoEpilogue},
    {"fold-linear-step", RuleKind::kFuse, "A factor and shift behind an activation go into the next weights.",
        foldLinearStep},
};

constexpr Rule kGates[]{
    {"fuse-channel-gate", RuleKind::kFuse, "Means of channels and the two products behind them become one layer.",
        fuseChannelGate},
    {"fuse-gated-input", RuleKind::kFuse, "A convolution of single pixels multiplies channels by their gate.",
        fuseGatedInput},
};

constexpr Rule kImages[]{
    {"fuse-image-cast", RuleKind::kFuse, "The first convolution rounds its image itself.", fuseImageCast},
    {"fuse-image-pooling", RuleKind::kFuse, "The first convolution pools what it gives.", fuseImagePooling},
};

constexpr Rule kPatches[]{
    {"fuse-patch-embedding", RuleKind::kFuse,
        "Patches of images, rows in front of them and a table that is added become one product.", fusePatchEmbedding},
};

constexpr Rule kEmbeddings[]{
    {"fuse-embedding-norm", RuleKind::kFuse, "Embeddings, their sum and the norm of that become one layer.",
        fuseEmbeddingNorm},
};

constexpr Rule kSums[]{
    {"fuse-convolution-sum", RuleKind::kFuse, "Two convolutions of single pixels that are added become one.",
        fuseConvolutionSum},
};

constexpr Rule kNorms[]{
    {"measure-product", RuleKind::kFuse, "A product leaves numbers behind for the norm of its result.", measureProduct},
    {"normalize-rows-by-moments", RuleKind::kFuse, "A product normalizes its rows by what was left behind for that.",
        normalizeRowsByMoments},
    {"normalize-residual-by-moments", RuleKind::kFuse,
        "A product normalizes what it adds by what was left behind for that.", normalizeResidualByMoments},
    {"fuse-norm-into-product", RuleKind::kFuse, "A product of few rows normalizes them itself.", fuseNormIntoProduct},
};

constexpr Rule kMoments[]{
    {"drop-unread-moments", RuleKind::kSimplify, "A product leaves nothing behind that nobody reads.",
        dropUnreadMoments},
};

constexpr Rule kQuantizedNorms[]{
    {"fuse-quantize-into-norm", RuleKind::kFuse, "A norm rounds its result to the type that is read.",
        fuseQuantizeIntoNorm},
};

constexpr Rule kFewBits[]{
    {"fuse-weight-dequantization", RuleKind::kFuse, "A product reads weights of few bits as they are stored.",
        fuseWeightDequantization},
};

constexpr Rule kRegions[]{
    {"fuse-pointwise", RuleKind::kFuse, "Pointwise layers that feed each other become one pass over memory.",
        fusePointwise},
};

constexpr Rule kUndone[]{
    {"undo-attention", RuleKind::kUndo, "An attention becomes its products, mask and softmax again.", undoAttention},
    {"undo-weight-only-product", RuleKind::kUndo,
        "Weights of few bits are dequantized in front of their product again.", undoWeightOnlyProduct},
    {"undo-channel-gate", RuleKind::kUndo, "A gate of channels becomes means and two products again.", undoChannelGate},
    {"undo-gated-input", RuleKind::kUndo, "A gate moves out of the convolution behind it again.", undoGatedInput},
    {"undo-image-convolution", RuleKind::kUndo, "A first convolution becomes cast, convolution and pooling again.",
        undoImageConvolution},
    {"undo-patch-embedding", RuleKind::kUndo, "An embedding of patches becomes a convolution, rows and a sum again.",
        undoPatchEmbedding},
    {"undo-embedding-norm", RuleKind::kUndo, "A norm of embeddings becomes gathers, sums and a norm again.",
        undoEmbeddingNorm},
    {"undo-convolution-sum", RuleKind::kUndo,
        "A sum of two convolutions becomes one that adds the other's result again.", undoConvolutionSum},
    {"undo-normalized-product", RuleKind::kUndo, "A product of normalized rows becomes a norm and a product again.",
        undoNormalizedProduct},
    {"undo-measured-product", RuleKind::kUndo,
        "A product that normalizes by moments becomes a norm and a product again.", undoMeasuredProduct},
    {"undo-epilogue", RuleKind::kUndo, "What a convolution or product applies to its result becomes layers again.",
        undoEpilogue},
    {"undo-int8-product", RuleKind::kUndo, "A product of int8 numbers becomes one of dequantized operands again.",
        undoInt8Product},
    {"undo-quantized-norm", RuleKind::kUndo, "A norm that rounds its result becomes a norm and a rounding again.",
        undoQuantizedNorm},
    {"undo-product-terms", RuleKind::kUndo, "Bias and factor of a product become layers again.", undoProductTerms},
    {"undo-pointwise", RuleKind::kUndo, "A pointwise region becomes one layer per operation again.", undoPointwise},
};

constexpr PassRow kUndoing{"undoing fusions", kUndone};

constexpr PassRow kPortableRows[]{
    {"clean up", kClean},
    {"weights that are quantized", kQuantizedWeights},
    {"rows that are quantized", kQuantizedRows},
    {"weights", kWeights},
    {"shuffles", kShuffles},
    {"weights behind shuffles", kWeights},
};

constexpr PassRow kTargetRows[]{
    {"attention between int8 products", kRealAttention},
    {"int8 products", kInt8},
    {"weights in real numbers", kRealWeights},
    {"attention", kAttention},
    {"projections", kProjections},
    {"epilogues", kEpilogues},
    {"gates of channels", kGates},
    {"first convolutions", kImages},
    {"embeddings of patches", kPatches},
    {"norms of embeddings", kEmbeddings},
    {"sums of convolutions", kSums},
    {"norms in front of products", kNorms},
    {"moments", kMoments},
    {"norms that are quantized", kQuantizedNorms},
    {"weights of few bits", kFewBits},
    {"regions", kRegions},
    {"clean up again", kClean},
};
} // namespace

std::span<PassRow const> portableRows() noexcept
{
    return kPortableRows;
}

std::span<PassRow const> targetRows() noexcept
{
    return kTargetRows;
}

PassRow const& undoing() noexcept
{
    return kUndoing;
}

} // namespace tenon
