// SeparateNorm: what layers around norms come to without a kernel for them: a norm in scratch memory, a product of the
// library, and a kernel that measures the result.
#pragma once

#include "backends/cuda/engine_step.h"

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

//! How layers around norms are offered: by tiles where they take the matrices, and by the library between others.
struct NormOffers
{
    MatrixMultiply const& product;
    std::vector<int32_t> (*tiles)(ProductShape const& matrices); //!< Tactics that are worth a trial.
    int32_t firstOther; //!< From here on tactics are the library's, between others.
    int32_t others;     //!< Kernels beside the library's, each of which goes over the operands once.
    size_t outputs{1};
};
std::variant<std::vector<Offer>, Refusal> offersAroundNorms(
    Problem const& problem, std::string_view candidate, NormOffers const& of);

} // namespace tenon::cuda
