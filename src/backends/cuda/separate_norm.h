// SeparateNorm: what layers around norms come to without a kernel for them: a norm in scratch memory, a product of the
// library, and a kernel that measures the result.
#pragma once

#include "backends/cuda/cublas_product.h"

#include <vector>

namespace tenon::cuda
{

inline constexpr size_t kSeparateOperands{kFirstExtra + 1}; //!< That a product reads.

struct SeparateKernels
{
    std::shared_ptr<Prepared const> norm{}; //!< Null: nothing is normalized.
    std::vector<size_t> ofNorm{};           //!< Inputs of the layer that it reads, the first one what it is of.
    size_t normalizedBytes{0};              //!< Of its result.
    std::shared_ptr<Prepared const> product{};
    size_t operands{0};                        //!< That the layer and the product have in common.
    std::shared_ptr<Prepared const> moments{}; //!< Null: nothing is measured.
};

std::shared_ptr<Prepared const> separateSteps(SeparateKernels kernels);

} // namespace tenon::cuda
