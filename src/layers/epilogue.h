// Epilogue: what a convolution or matrix multiplication does to each element before storing it.
#pragma once

#include "base/fields.h"
#include "ir/expr.h"

#include <span>
#include <vector>

namespace nvinfer1
{
enum class ActivationType : int32_t; // Its header is not for files that are compiled once per instruction set.
}

namespace tenon
{

//! The activations that an epilogue can apply, a row each: the number of the kind (plans store it, so that new ones
//! take the next free one), its name, the name of the CPU's vector function, the layer that it is
//! (nvinfer1::ActivationType), whether it is x times that, and how much it can enlarge a difference, in terms of
//! |alpha|.
#define TENON_EPILOGUE_FUNCTIONS(ROW)                                                                                  \
    ROW(2, Relu, relu, kRELU, false, 1.0F)                                                                             \
    ROW(3, Clip, clip, kCLIP, false, 1.0F)                                                                             \
    ROW(4, LeakyRelu, leakyRelu, kLEAKY_RELU, false, std::max(1.0F, alpha))                                            \
    ROW(5, Sigmoid, sigmoid, kSIGMOID, false, 1.0F)                                                                    \
    ROW(6, Tanh, tanh, kTANH, false, 1.0F)                                                                             \
    ROW(7, Silu, silu, kSIGMOID, true, 1.2F)                                                                           \
    ROW(8, HardSigmoid, hardSigmoid, kHARD_SIGMOID, false, alpha)                                                      \
    ROW(9, HardSwish, hardSwish, kHARD_SIGMOID, true, 1.0F + 6.0F * alpha) /* Its gate is 1 where x is large. */       \
    ROW(10, GeluErf, geluErf, kGELU_ERF, false, 1.2F)                                                                  \
    ROW(11, GeluTanh, geluTanh, kGELU_TANH, false, 1.2F)                                                               \
    ROW(12, Elu, elu, kELU, false, std::max(1.0F, alpha))

enum class EpilogueKind : uint8_t
{
    kAdd,         //!< Plus the next extra input (broadcast to the output).
    kMultiply,    //!< Times the next extra input.
    kLinear = 13, //!< alpha · x + beta.
    kRound = 14,  //!< Quantized to int8 by the scale alpha, and dequantized.
#define TENON_EPILOGUE_FUNCTION(number, Name, ...) k##Name = number,
    TENON_EPILOGUE_FUNCTIONS(TENON_EPILOGUE_FUNCTION)
#undef TENON_EPILOGUE_FUNCTION
};

//! A row of the list above.
struct EpilogueFunction
{
    EpilogueKind kind;
    nvinfer1::ActivationType layer; //!< With the step's alpha and beta.
    bool isGate;                    //!< x times it.
};

std::span<EpilogueFunction const> epilogueFunctions() noexcept;
//! Null: no activation.
EpilogueFunction const* epilogueFunction(EpilogueKind kind) noexcept;

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
    //! How much a step can enlarge a difference.
    static float steepness(EpilogueStep const& step) noexcept;
    //! The meaning of one step: `x` is the element, `extra` the next extra input (unused by activations).
    static Expr body(EpilogueStep const& step, Expr const& x, Expr const& extra);
};

} // namespace tenon
