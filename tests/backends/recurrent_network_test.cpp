// Recurrent networks on the CPU against the reference.
#include "backends/kernel_case.h"
#include "layers/recurrent_network.h"

#include <algorithm>

namespace tenon::test
{

using nvinfer1::ActivationType;

namespace
{
struct RecurrentCase
{
    RecurrentNetwork layer;
    int64_t steps{5};
    int64_t batch{1};
    int64_t inputs{7};
    int64_t hidden{16};
    bool hasBias{true};
    bool hasStates{false};
    bool hasPeepholes{false};
    std::vector<int64_t> lengths;
    DType lengthType{DType::kINT32};
};

RecurrentNetwork recurrenceOf(RecurrentCell cell, RecurrentDirection direction, bool isResetAfter = false)
{
    RecurrentNetwork layer{.cell = cell, .direction = direction, .activations = {}, .isResetAfter = isResetAfter};
    for (int64_t d = 0; d < layer.directions(); ++d)
    {
        if (cell != RecurrentCell::kRnn)
            layer.activations.push_back({ActivationType::kSIGMOID});
        layer.activations.resize(layer.activations.size() + (cell == RecurrentCell::kLstm ? 2 : 1));
    }
    return layer;
}

void expectRecurrence(RecurrentCase const& one)
{
    RecurrentNetwork const& layer = one.layer;
    SCOPED_TRACE(fmt::format(
        "{} steps {} batch {} inputs {} hidden {}", showFields(layer), one.steps, one.batch, one.inputs, one.hidden));
    int64_t const ways = layer.directions();
    int64_t const rows = layer.gates() * one.hidden;
    std::vector<int64_t> const states{ways, one.batch, one.hidden};
    double const scale = 1.0 / std::max(1.0, static_cast<double>(one.hidden) / 16.0);
    std::vector<Operand> operands{input(randomTensor({one.steps, one.batch, one.inputs})),
        weight(randomTensor({ways, rows, one.inputs})), weight(randomTensor({ways, rows, one.hidden}, -scale, scale)),
        one.hasBias ? weight(randomTensor({ways, 2 * rows})) : absent(), absent()};
    if (!one.lengths.empty())
    {
        HostTensor lengths{one.lengthType, {one.batch}};
        for (int64_t i = 0; i < one.batch; ++i)
            lengths.setInteger(i, one.lengths[static_cast<size_t>(i) % one.lengths.size()]);
        operands.back() = input(lengths);
    }
    operands.push_back(one.hasStates ? input(randomTensor(states)) : absent());
    operands.push_back(one.hasStates && layer.cell == RecurrentCell::kLstm ? input(randomTensor(states)) : absent());
    operands.push_back(one.hasPeepholes ? input(randomTensor({ways, 3 * one.hidden})) : absent());
    while (operands.back().isAbsent)
        operands.pop_back();
    expectKernels(layer, operands, "steps", {2e-5, 1e-4}, Types::kFloatOnly);
}

std::vector<RecurrentNetwork> allKinds(RecurrentDirection direction)
{
    return {recurrenceOf(RecurrentCell::kRnn, direction), recurrenceOf(RecurrentCell::kGru, direction),
        recurrenceOf(RecurrentCell::kGru, direction, true), recurrenceOf(RecurrentCell::kLstm, direction)};
}
} // namespace

TEST(CpuRecurrentNetwork, sizes)
{
    for (RecurrentDirection const direction : {RecurrentDirection::kForward, RecurrentDirection::kBoth})
        for (RecurrentNetwork const& layer : allKinds(direction))
            for (int64_t const hidden : {1, 15, 16, 33, 64})
                for (int64_t const batch : {1, 2, 7})
                    expectRecurrence({.layer = layer, .batch = batch, .hidden = hidden});
}

TEST(CpuRecurrentNetwork, directionsStatesAndLengths)
{
    for (RecurrentDirection const direction :
        {RecurrentDirection::kForward, RecurrentDirection::kBackward, RecurrentDirection::kBoth})
        for (RecurrentNetwork const& layer : allKinds(direction))
            for (DType const type : {DType::kINT32, DType::kINT64})
            {
                expectRecurrence({.layer = layer, .batch = 3, .hidden = 20, .hasBias = false, .hasStates = true});
                // Beyond the tensor, inside of it, and nothing at all.
                expectRecurrence({.layer = layer,
                    .batch = 5,
                    .hidden = 20,
                    .hasStates = true,
                    .lengths = {9, 5, 2, 0, -1},
                    .lengthType = type});
            }
}

//! Products of the inputs are made for stretches of steps, which begin at the other end when time goes backwards.
TEST(CpuRecurrentNetwork, manyStretches)
{
    for (RecurrentDirection const direction : {RecurrentDirection::kForward, RecurrentDirection::kBoth})
        for (RecurrentNetwork const& layer : allKinds(direction))
            for (int64_t const batch : {1, 9})
                expectRecurrence(
                    {.layer = layer, .steps = 301, .batch = batch, .inputs = 3, .hidden = 130, .lengths = {301, 117}});
}

TEST(CpuRecurrentNetwork, noSteps)
{
    expectRecurrence({.layer = recurrenceOf(RecurrentCell::kLstm, RecurrentDirection::kBoth),
        .steps = 0,
        .batch = 2,
        .hasStates = true});
}

TEST(CpuRecurrentNetwork, activationsClipsAndPeepholes)
{
    for (ActivationType const type : {ActivationType::kRELU, ActivationType::kSIGMOID, ActivationType::kTANH,
             ActivationType::kLEAKY_RELU, ActivationType::kHARD_SIGMOID, ActivationType::kSCALED_TANH})
        for (RecurrentNetwork layer : allKinds(RecurrentDirection::kBoth))
        {
            layer.activations.back() = {type, 0.3F, 0.4F};
            layer.clip = 0.7F;
            expectRecurrence({.layer = layer, .batch = 2, .hidden = 19});
        }
    RecurrentNetwork lstm = recurrenceOf(RecurrentCell::kLstm, RecurrentDirection::kBoth);
    expectRecurrence({.layer = lstm, .batch = 5, .hidden = 37, .hasStates = true, .hasPeepholes = true});
    lstm.isCoupled = true;
    expectRecurrence({.layer = lstm, .batch = 5, .hidden = 37, .hasStates = true, .hasPeepholes = true});
}

} // namespace tenon::test
