// All rules; each is defined in the file of its name. The pipeline says in a sentence what each one does.
#pragma once

#include "passes/rule.h"

namespace tenon::passes
{

// Folding and cleaning.
Rewrite foldConstants(Graph const& graph, Node const& node);
Rewrite foldWeights(Graph const& graph, Node const& node);
Rewrite removeNoOps(Graph const& graph, Node const& node);
Rewrite mergeCasts(Graph const& graph, Node const& node);
Rewrite mergeEqualNodes(Graph const& graph, Node const& node);
Rewrite gatherInOrderToReshape(Graph const& graph, Node const& node);
Rewrite gatherRowOnce(Graph const& graph, Node const& node);

// Shuffles.
Rewrite squeezeToShuffle(Graph const& graph, Node const& node);
Rewrite fixReshapeDimensions(Graph const& graph, Node const& node);
Rewrite reshapeBeforeTranspose(Graph const& graph, Node const& node);
Rewrite mergeShuffles(Graph const& graph, Node const& node);
Rewrite sinkTransposeBelowQuantization(Graph const& graph, Node const& node);
Rewrite sinkTransposeBelowMatmul(Graph const& graph, Node const& node);
Rewrite sinkTransposeBelowPointwise(Graph const& graph, Node const& node);
Rewrite sliceBeforeSplit(Graph const& graph, Node const& node);

// Linear algebra.
Rewrite lowerFullyConnected(Graph const& graph, Node const& node);
Rewrite lowerEinsum(Graph const& graph, Node const& node);
Rewrite lowerRecurrence(Graph const& graph, Node const& node);
Rewrite maskPaddedKeys(Graph const& graph, Node const& node);
Rewrite scalarScales(Graph const& graph, Node const& node);
Rewrite liftMatmulOverReshape(Graph const& graph, Node const& node);
Rewrite outerProductToPointwise(Graph const& graph, Node const& node);
Rewrite transposeIntoMatmul(Graph const& graph, Node const& node);
Rewrite foldMatmulAlpha(Graph const& graph, Node const& node);
Rewrite foldOperandFactor(Graph const& graph, Node const& node);
Rewrite foldChannelAffine(Graph const& graph, Node const& node);
Rewrite foldLinearStep(Graph const& graph, Node const& node);

// Quantization.
Rewrite dequantizeReshapedWeights(Graph const& graph, Node const& node);
Rewrite cancelRequantization(Graph const& graph, Node const& node);

// Patterns of exporters.
Rewrite recognizeLayerNorm(Graph const& graph, Node const& node);
Rewrite recognizeGroupNorm(Graph const& graph, Node const& node);
Rewrite recognizeRotaryEmbedding(Graph const& graph, Node const& node);
Rewrite foldAffineIntoNormalization(Graph const& graph, Node const& node);

// For a target: int8 products.
Rewrite quantizeProducts(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite dequantizeBelowViews(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite quantizeAboveViews(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite openInt8Product(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite fuseInt8Sum(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite fuseInt8Activation(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite sinkShuffleBelowQuantization(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite fuseRealAttention(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite closeInt8Product(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite fuseQuantizeIntoNorm(Graph const& graph, Node const& node, FusionLimits const& limits);

// For a target: attention, epilogues, regions.
Rewrite fuseAttention(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite mergeProjections(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite fuseActivationIntoEpilogue(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite fuseResidualIntoEpilogue(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite fuseChannelGate(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite fuseGatedInput(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite fuseImageCast(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite fuseImagePooling(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite fusePatchEmbedding(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite fuseEmbeddingNorm(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite fuseConvolutionSum(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite fuseNormIntoProduct(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite measureProduct(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite normalizeRowsByMoments(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite normalizeResidualByMoments(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite dropUnreadMoments(Graph const& graph, Node const& node);
Rewrite fuseWeightDequantization(Graph const& graph, Node const& node, FusionLimits const& limits);
Rewrite fusePointwise(Graph const& graph, Node const& node, FusionLimits const& limits);

// Back to layers that users could have written.
Rewrite undoAttention(Graph const& graph, Node const& node);
Rewrite undoEpilogue(Graph const& graph, Node const& node);
Rewrite undoChannelGate(Graph const& graph, Node const& node);
Rewrite undoGatedInput(Graph const& graph, Node const& node);
Rewrite undoImageConvolution(Graph const& graph, Node const& node);
Rewrite undoPatchEmbedding(Graph const& graph, Node const& node);
Rewrite undoEmbeddingNorm(Graph const& graph, Node const& node);
Rewrite undoQuantizedNorm(Graph const& graph, Node const& node);
Rewrite undoConvolutionSum(Graph const& graph, Node const& node);
Rewrite undoNormalizedProduct(Graph const& graph, Node const& node);
Rewrite undoMeasuredProduct(Graph const& graph, Node const& node);
Rewrite undoWeightOnlyProduct(Graph const& graph, Node const& node);
Rewrite undoPointwise(Graph const& graph, Node const& node);
Rewrite undoProductTerms(Graph const& graph, Node const& node);
Rewrite undoInt8Product(Graph const& graph, Node const& node);

} // namespace tenon::passes
