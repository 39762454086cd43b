// CudnnAttention: attention without masks as a graph of cuDNN's.
#pragma once

#include "backends/cuda/attention.h"
#include "backends/cuda/cudnn_step.h"

namespace tenon::cuda
{

Result<DescribedLayer> describeAttention(
    CudnnApi const& api, CudnnMachine const& machine, AttentionOperands const& operands, DType type, float scale);

} // namespace tenon::cuda
