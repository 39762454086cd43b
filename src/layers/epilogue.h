// Epilogue: what a convolution or matrix multiplication does to each element before storing it.
#pragma once

#include "base/fields.h"
#include "ir/expr.h"

#include <vector>

namespace tenon
{

enum class EpilogueKind : uint8_t
{
    kAdd,       //!< Plus the next extra input (broadcast to the output).
    kMultiply,  //!< Times the next extra input.
    kRelu,      //!< max(x, 0).
    kClip,      //!< max(alpha, min(beta, x)), as ActivationType::kCLIP.
    kLeakyRelu, //!< x where x > 0, else alpha · x.
    kSigmoid,
    kTanh,
    kSilu,        //!< x · sigmoid(x).
    kHardSigmoid, //!< min(max(alpha · x + beta, 0), 1).
    kHardSwish,   //!< x · min(max(alpha · x + beta, 0), 1).
    kGeluErf,
    kGeluTanh,
    kElu,    //!< x where x > 0, else alpha · (exp(x) − 1).
    kLinear, //!< alpha · x + beta.
};

struct EpilogueStep
{
    EpilogueKind kind{EpilogueKind::kRelu};
    float alpha{0.0F};
    float beta{0.0F};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "kind", &EpilogueStep::kind), field(2, "alpha", &EpilogueStep::alpha),
            field(3, "beta", &EpilogueStep::beta)};
    }
};

//! Steps in order. kAdd and kMultiply each take one extra input, which follow the layer's own inputs.
struct Epilogue
{
    std::vector<EpilogueStep> steps;

    static constexpr auto fields()
    {
        return std::tuple{field(1, "steps", &Epilogue::steps)};
    }
    bool empty() const noexcept
    {
        return steps.empty();
    }
    int32_t extraInputs() const noexcept;
    //! The meaning of one step: `x` is the element, `extra` the next extra input (unused by activations).
    static Expr body(EpilogueStep const& step, Expr const& x, Expr const& extra);
};

} // namespace tenon
