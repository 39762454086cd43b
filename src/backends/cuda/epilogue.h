// EpilogueRest: what a kernel of a convolution or product leaves of the layer's epilogue, done by a kernel behind it.
#pragma once

#include "backends/cuda/epilogue_text.h"

namespace tenon::cuda
{

struct EpilogueRest
{
    Epilogue const& epilogue; //!< The layer's; its extra inputs begin at input 3.
    size_t done{0};           //!< Steps that the kernel has done itself.
    bool leavesBias{false};   //!< Input 2, along axis 1 of the output, is still to be added.

    bool empty() const noexcept
    {
        return done == epilogue.steps.size() && !leavesBias;
    }
};

inline constexpr size_t kFirstExtra{3};

//! The kernel, then the rest over what it has written; numbers in between have the output's type.
Result<std::shared_ptr<Prepared const>> withRest(CudaDevice const& device, std::shared_ptr<Prepared const> kernel,
    EpilogueRest const& rest, std::span<TensorArg const> inputs, TensorArg const& out);

//! The layouts of extra inputs in an offer whose output has `layout`.
void putExtraLayouts(Offer& offer, Problem const& problem, Layout layout);
//! A product whose rows, result and tensors like the result have `layout`; the others are linear.
Offer rowsOffer(Problem const& problem, Layout layout, double cost, int64_t tactic);

} // namespace tenon::cuda
