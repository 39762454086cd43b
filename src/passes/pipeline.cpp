// The pipeline: which rules run together, in which order.
#include "passes/rules.h"

namespace tenon
{

namespace
{
using namespace passes;

constexpr Rule kFold{"fold-constants", RuleKind::kFold,
    "What depends on constants and known extents alone is computed now.", foldConstants};
constexpr Rule kNoOps{"remove-no-ops", RuleKind::kSimplify, "Layers that give what they get are taken out.", removeNoOps};
constexpr Rule kEqual{
    "merge-equal-nodes", RuleKind::kSimplify, "Of two layers that compute the same, one goes.", mergeEqualNodes};
constexpr Rule kMergeShuffles{
    "merge-shuffles", RuleKind::kSimplify, "Two shuffles in a row become one, or none.", mergeShuffles};

constexpr Rule kClean[]{
    {"transpose-into-matmul", RuleKind::kSimplify, "A product reads its operand transposed.", transposeIntoMatmul},
    kFold,
    kNoOps,
    kEqual,
};

constexpr Rule kShuffles[]{
    {"squeeze-to-shuffle", RuleKind::kSimplify, "Squeeze and unsqueeze are reshapes.", squeezeToShuffle},
    {"fix-reshape-dimensions", RuleKind::kSimplify, "A reshape says its extents in its fields.", fixReshapeDimensions},
    kMergeShuffles,
    {"lift-matmul-over-reshape", RuleKind::kSimplify, "A product with weights works on all leading axes at once.",
        liftMatmulOverReshape},
    {"transpose-into-matmul", RuleKind::kSimplify, "A product reads its operand transposed.", transposeIntoMatmul},
    kFold,
    kNoOps,
    kEqual,
};

constexpr Rule kAffine[]{
    {"fold-channel-affine", RuleKind::kFuse, "Batch norm, scales and biases of channels go into the weights.",
        foldChannelAffine},
    {"fold-matmul-alpha", RuleKind::kFuse, "A factor on a product becomes its alpha.", foldMatmulAlpha},
    kFold,
    kNoOps,
};

constexpr Rule kEpilogues[]{
    {"fold-channel-affine", RuleKind::kFuse, "Batch norm, scales and biases of channels go into the weights.",
        foldChannelAffine},
    {"fuse-activation", RuleKind::kFuse, "A convolution or product applies the activation that follows.",
        fuseActivationIntoEpilogue},
    {"fuse-residual", RuleKind::kFuse, "A convolution or product adds the residual branch.", fuseResidualIntoEpilogue},
};

constexpr Rule kRegions[]{
    {"fuse-pointwise", RuleKind::kFuse, "Pointwise layers that feed each other become one pass over memory.",
        fusePointwise},
};

constexpr PassRow kRows[]{
    {"clean up", kClean},
    {"shuffles", kShuffles},
    {"weights", kAffine},
    {"epilogues", kEpilogues},
    {"regions", kRegions},
    {"clean up again", kClean},
};
} // namespace

std::span<PassRow const> pipeline() noexcept
{
    return kRows;
}

} // namespace tenon
