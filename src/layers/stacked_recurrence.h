// StackedRecurrence: recurrent networks on top of each other, batch first; the RNN layer of 8.x.
#pragma once

#include "ir/layer.h"
#include "layers/layer_table.h"
#include "layers/recurrent_network.h"
#include "layers/with_batch.h"

namespace tenon
{

//! Inputs: x [any…, steps, inputs]; lengths of the sequences [any…] (integers), first hidden and first cell state
//! [any…, layers · directions, hidden], all three optional; then of each layer W [directions, gates · hidden, inputs],
//! R [directions, gates · hidden, hidden] and biases [directions, 2 · gates · hidden], as RecurrentNetwork has them.
//! Outputs: the upper layer's hidden states [any…, steps, directions · hidden], which are 0 behind the end of a
//! sequence; the last hidden states [any…, layers · directions, hidden]; of an LSTM the last cell states.
struct StackedRecurrence
{
    static constexpr std::string_view kName{"StackedRecurrence"};
    enum Operand : int32_t
    {
        kX,
        kLengths,
        kFirstHidden,
        kFirstCell,
        kWeights, //!< Of the lowest layer; the others follow.
    };
    static constexpr int32_t kPerLayer{3}; //!< Operands of weights.
    RecurrentCell cell{RecurrentCell::kLstm};
    bool isRelu{false}; //!< An RNN's activation; else it is tanh.
    bool isBothWays{false};
    int32_t layers{1};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "Cell", &StackedRecurrence::cell), field(2, "IsRelu", &StackedRecurrence::isRelu),
            field(3, "IsBothWays", &StackedRecurrence::isBothWays), field(4, "Layers", &StackedRecurrence::layers)};
    }
    //! One of them; a GRU resets behind the product.
    RecurrentNetwork network() const;
    int32_t weights(int32_t layer) const noexcept
    {
        return kWeights + layer * kPerLayer;
    }

    Result<Done> verify() const;
    WithBatch withBatch(SampleInputs const& samples) const;
    Result<std::vector<TensorType>> infer(Inputs const& in) const;
    Result<std::vector<HostTensor>> reference(HostTensors const& in) const;
};

} // namespace tenon

TENON_LAYER(StackedRecurrence);
