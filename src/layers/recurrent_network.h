// RecurrentNetwork: a recurrent network (RNN, GRU, LSTM) over all steps of its sequences, as ONNX defines them.
#pragma once

#include "NvInfer.h"
#include "ir/layer.h"
#include "layers/layer_table.h"

namespace tenon
{

enum class RecurrentCell : uint8_t
{
    kRnn,
    kGru,
    kLstm,
};

enum class RecurrentDirection : uint8_t
{
    kForward,
    kBackward,
    kBoth,
};

struct RecurrentActivation
{
    nvinfer1::ActivationType type{nvinfer1::ActivationType::kTANH};
    float alpha{0.0F};
    float beta{0.0F};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Type", &RecurrentActivation::type), field(2, "Alpha", &RecurrentActivation::alpha),
            field(3, "Beta", &RecurrentActivation::beta)};
    }
    //! Those that recurrences know.
    static bool takes(nvinfer1::ActivationType type) noexcept;
    double of(double x) const noexcept;
};

//! Inputs: x [steps, batch, inputs]; W [directions, gates · hidden, inputs]; R [directions, gates · hidden, hidden];
//! biases of both [directions, 2 · gates · hidden], lengths of the sequences [batch] (integers), first hidden state
//! [directions, batch, hidden], first cell state (the same), peepholes of i, o and f [directions, 3 · hidden]; all from
//! the biases on are optional. Gates stand in this order: i, o, f, c of an LSTM; z, r, h of a GRU.
//! Outputs: the hidden states [steps, directions, batch, hidden], which are 0 behind the end of a sequence; the last
//! hidden state [directions, batch, hidden]; of an LSTM the last cell state.
struct RecurrentNetwork
{
    static constexpr std::string_view kName{"RecurrentNetwork"};
    enum Operand : int32_t
    {
        kX,
        kW,
        kR,
        kBias,
        kLengths,
        kFirstHidden,
        kFirstCell,
        kPeepholes,
        kOperands,
    };
    RecurrentCell cell{RecurrentCell::kLstm};
    RecurrentDirection direction{RecurrentDirection::kForward};
    std::vector<RecurrentActivation> activations; //!< Of each direction: f; f, g; or f, g, h.
    float clip{0.0F};                             //!< Of what f and g take; 0: none.
    bool isResetAfter{false};                     //!< GRU: the reset gate multiplies behind the product.
    bool isCoupled{false};                        //!< LSTM: the forget gate is what the input gate lacks to 1.

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Cell", &RecurrentNetwork::cell),
            field(2, "Direction", &RecurrentNetwork::direction),
            field(3, "Activations", &RecurrentNetwork::activations), field(4, "Clip", &RecurrentNetwork::clip),
            field(5, "IsResetAfter", &RecurrentNetwork::isResetAfter),
            field(6, "IsCoupled", &RecurrentNetwork::isCoupled)};
    }
    int64_t gates() const noexcept
    {
        return cell == RecurrentCell::kLstm ? 4 : cell == RecurrentCell::kGru ? 3 : 1;
    }
    int64_t directions() const noexcept
    {
        return direction == RecurrentDirection::kBoth ? 2 : 1;
    }
    bool isBackward(int64_t ofDirection) const noexcept
    {
        return direction == RecurrentDirection::kBackward || ofDirection == 1;
    }
    //! Of each direction.
    size_t activationCount() const noexcept
    {
        return static_cast<size_t>(cell) + 1;
    }
    int32_t outputs() const noexcept
    {
        return cell == RecurrentCell::kLstm ? 3 : 2;
    }

    Result<Done> verify() const;
    Result<std::vector<TensorType>> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(RecurrentNetwork);
