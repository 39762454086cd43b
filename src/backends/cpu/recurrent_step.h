// RecurrentStep: one step of one direction of a recurrent network, for all sequences of the batch.
#pragma once

#include <cstdint>

namespace tenon::cpu
{

enum class RecurrentKind : uint8_t
{
    kRnn,
    kGru,
    kGruInParts, //!< The reset gates of all units come before the product of any.
    kLstm,
};

enum class GateFunction : uint8_t
{
    kTanh,
    kSigmoid,
    kRelu,
    kLeakyRelu,
    kHardSigmoid,
    kScaledTanh,
};

struct GateActivation
{
    GateFunction function{GateFunction::kTanh};
    float alpha{0.0F};
    float beta{0.0F};
};

//! Rows have `units` floats, a multiple of 16, of which the first `hidden` count. Gates of 16 units stand side by side:
//! [units / 16][gates][16].
struct RecurrentStep
{
    RecurrentKind kind{RecurrentKind::kLstm};
    bool isCoupled{false};
    float clip{0.0F};
    GateActivation activations[3];

    int64_t batch{0};
    int64_t hidden{0};
    int64_t units{0};
    float const* panels{nullptr};     //!< Recurrent weights: [units / 16][gates][hidden][16].
    float const* sums{nullptr};       //!< What the inputs and all biases give: [batch][units · gates].
    float const* hiddenBias{nullptr}; //!< Of the last gate, of kGru alone.
    float const* peepholes{nullptr};  //!< [3][units], null: none.
    float const* before{nullptr};     //!< Hidden state [batch][units] ...
    float* after{nullptr};            //!< ... and the next one.
    float* state{nullptr};            //!< Cell state [batch][units].
    float* update{nullptr};           //!< Of kGruInParts: what goes from part to part, [batch][units].
    float* kept{nullptr};
    float* out{nullptr}; //!< [batch][hidden]
    int64_t const* lengths{nullptr};
    int64_t at{0}; //!< Position of the step in its sequences.
};

} // namespace tenon::cpu
