"""Which public names running a plan takes: those of the modules without a builder."""

import re

import tenon

_BUILDING = re.compile(
    r"""I\w*Layer | ILayer | IAttention\w* | I?Loop\w* | I?If\w* | ITripLimit\w* | IMoE\w* | MoE\w* | IInt8\w* |
    IAlgorithm\w* | \w*Calib\w* | I?Builder\w* | INetworkDefinition | NetworkDefinition\w* | ITensor |
    \w*TimingCache\w* | IProgressMonitor | Onnx\w* | ParserError | \w*parser\w* | \w*builder\w* | Refitter |
    WeightsRole | LayerType | MemoryPoolType | PreviewFeature | QuantizationFlag | TacticSource |
    TilingOptimizationLevel | RuntimePlatform | TripLimit | ActivationType | AttentionNormalizationOp |
    BoundingBoxFormat | CollectiveOperation | CumulativeOperation | ElementWiseOperation | FillOperation |
    GatherMode | InterpolationMode | KVCacheMode | MatrixOperation | PaddingMode | PoolingType | ReduceOperation |
    Resize\w+ | SampleMode | ScaleMode | ScatterMode | SliceMode | TopKOperation | UnaryOperation""",
    re.VERBOSE,
)

NAMES = tuple(name for name in tenon.__all__ if name not in tenon._OWN and not _BUILDING.fullmatch(name))
