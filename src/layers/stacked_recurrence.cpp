// StackedRecurrence: rules, and one recurrent network after the other.
#include "layers/stacked_recurrence.h"

#include "ir/concrete_inputs.h"
#include "layers/check.h"

#include <algorithm>

namespace tenon
{

using nvinfer1::ActivationType;

RecurrentNetwork StackedRecurrence::network() const
{
    RecurrentNetwork made{.cell = cell,
        .direction = isBothWays ? RecurrentDirection::kBoth : RecurrentDirection::kForward,
        .isResetAfter = cell == RecurrentCell::kGru};
    for (int64_t way = 0; way < made.directions(); ++way)
    {
        if (cell == RecurrentCell::kRnn)
            made.activations.push_back({isRelu ? ActivationType::kRELU : ActivationType::kTANH});
        else
            made.activations.push_back({ActivationType::kSIGMOID});
        while (made.activations.size() < static_cast<size_t>(way + 1) * made.activationCount())
            made.activations.push_back({ActivationType::kTANH});
    }
    return made;
}

Result<Done> StackedRecurrence::verify() const
{
    constexpr int32_t kMaxLayers{1024};
    if (layers < 1 || layers > kMaxLayers)
        return badArgument("has {} layers; it takes 1 to {}", layers, kMaxLayers);
    return network().verify();
}

WithBatch StackedRecurrence::withBatch(SampleInputs const&) const
{
    WithBatch form{makeLayer(*this), {}, {}};
    // The batch is one more extent in front of what each sample has; lengths and states have it, too.
    form.uses.assign(kWeights, BatchUse::kReplicated);
    form.uses.resize(static_cast<size_t>(weights(layers)), BatchUse::kShared);
    return form;
}

Result<std::vector<TensorType>> StackedRecurrence::infer(Inputs const& in) const
{
    Check check{in, kName};
    check.fields(verify());
    TENON_TRY(check.done());
    check.count(1, weights(layers)).floating(kX).rank(kX, 2, nvinfer1::Dims::MAX_DIMS);
    check.index(kLengths);
    TENON_TRY(check.done());
    RecurrentNetwork const one = network();
    Shape const& x = in.type(kX).shape;
    Shape const front{x.begin(), x.end() - 2};
    ShapeExpr const steps = x[x.size() - 2];
    auto const matches = [&](int32_t i, Shape const& wanted) {
        check.rank(i, static_cast<int32_t>(wanted.size()));
        for (size_t axis = 0; check && in.has(i) && axis < wanted.size(); ++axis)
            check.extent(i, static_cast<int32_t>(axis), wanted[axis]);
    };
    ShapeExpr const ways{one.directions()};
    ShapeExpr below = x.back();
    int64_t hidden{0};
    for (int32_t layer = 0; layer < layers; ++layer)
    {
        int32_t const first = weights(layer);
        check.that(in.has(first) && in.has(first + 1), "layer {} of the stack has no weights", layer);
        check.rank(first, 3).rank(first + 1, 3).sameType(first, kX).sameType(first + 1, kX).sameType(first + 2, kX);
        TENON_TRY(check.done());
        ShapeExpr const size = in.type(first + 1).shape[2];
        check.input(first + 1, size.isConstant() && (layer == 0 || *size.constant() == hidden),
            "has a hidden size of {}, which must be known while building and that of the other layers", size.show());
        TENON_TRY(check.done());
        hidden = *size.constant();
        ShapeExpr const rows{one.gates() * hidden};
        matches(first, {ways, rows, below});
        matches(first + 1, {ways, rows, ShapeExpr{hidden}});
        matches(first + 2, {ways, ShapeExpr{2 * one.gates() * hidden}});
        below = ShapeExpr{one.directions() * hidden};
    }
    Shape state = front;
    state.insert(state.end(), {ShapeExpr{layers * one.directions()}, ShapeExpr{hidden}});
    matches(kLengths, front);
    check.sameType(kFirstHidden, kX).sameType(kFirstCell, kX);
    matches(kFirstHidden, state);
    matches(kFirstCell, state);
    TENON_TRY(check.done());
    Shape all = front;
    all.insert(all.end(), {steps, below});
    std::vector<TensorType> outputs{{in.type(kX).dtype, std::move(all)}};
    outputs.resize(static_cast<size_t>(one.outputs()), TensorType{in.type(kX).dtype, std::move(state)});
    return outputs;
}

namespace
{
//! [outer, a, b, inner] becomes [outer, b, a, inner].
HostTensor swapped(HostTensor const& from, int64_t outer, int64_t a, int64_t b, int64_t inner)
{
    HostTensor to{from.dtype, {outer, b, a, inner}};
    for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < a; ++i)
            for (int64_t j = 0; j < b; ++j)
                for (int64_t c = 0; c < inner; ++c)
                    to.reals[static_cast<size_t>(((o * b + j) * a + i) * inner + c)] =
                        from.reals[static_cast<size_t>(((o * a + i) * b + j) * inner + c)];
    return to;
}

HostTensor part(HostTensor const& states, int64_t first, std::vector<int64_t> extents)
{
    HostTensor to{states.dtype, std::move(extents)};
    std::copy_n(states.reals.begin() + first, to.count(), to.reals.begin());
    return to;
}
} // namespace

Result<std::vector<HostTensor>> StackedRecurrence::reference(HostTensors const& in) const
{
    ConcreteInputs concrete{in};
    std::vector<HostTensor> out;
    for (TensorType const& type : TENON_TRY(infer(concrete.inputs())))
        out.emplace_back(type.dtype, *staticExtents(type.shape));
    auto const optional = [&](int32_t i) {
        return static_cast<size_t>(i) < in.size() ? in[static_cast<size_t>(i)] : nullptr;
    };
    RecurrentNetwork const one = network();
    int64_t const ways = one.directions();
    std::vector<int64_t> const& x = in[kX]->extents;
    int64_t const steps = x[x.size() - 2];
    int64_t const batch = volumeOf({x.begin(), x.end() - 2});
    int64_t const hidden = in[static_cast<size_t>(weights(0) + 1)]->extents[2];
    HostTensor running = swapped(*in[kX], 1, batch, steps, x.back());
    running.extents = {steps, batch, x.back()};
    HostTensor lengths = optional(kLengths) != nullptr ? *optional(kLengths) : HostTensor{};
    lengths.extents = {batch};
    HostTensor states[2];
    for (int32_t i = 0; i < 2; ++i)
        if (HostTensor const* given = optional(kFirstHidden + i))
            states[i] = swapped(*given, 1, batch, layers * ways, hidden);
    int64_t const each = ways * batch * hidden;
    for (int32_t layer = 0; layer < layers; ++layer)
    {
        HostTensor first[2];
        HostTensors operands{&running, optional(weights(layer)), optional(weights(layer) + 1),
            optional(weights(layer) + 2), optional(kLengths) != nullptr ? &lengths : nullptr, nullptr, nullptr};
        for (int32_t i = 0; i < 2; ++i)
            if (optional(kFirstHidden + i) != nullptr)
            {
                first[i] = part(states[i], layer * each, {ways, batch, hidden});
                operands[static_cast<size_t>(RecurrentNetwork::kFirstHidden + i)] = &first[i];
            }
        std::vector<HostTensor> found = TENON_TRY(one.reference(operands));
        running = swapped(found[0], steps, ways, batch, hidden);
        running.extents = {steps, batch, ways * hidden};
        for (size_t i = 1; i < found.size(); ++i)
            for (int64_t row = 0; row < ways * batch; ++row)
            {
                int64_t const to = ((row % batch) * layers * ways + layer * ways + row / batch) * hidden;
                std::copy_n(found[i].reals.begin() + row * hidden, hidden, out[i].reals.begin() + to);
            }
    }
    out[0].reals = swapped(running, 1, steps, batch, ways * hidden).reals;
    return out;
}

} // namespace tenon
