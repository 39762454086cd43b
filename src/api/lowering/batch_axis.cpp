// BatchAxis: layers take the form that they have for a whole batch, and operands what that form reads.
#include "api/lowering/batch_axis.h"

#include "layers/concatenation.h"
#include "layers/shape.h"
#include "layers/shuffle.h"
#include "layers/slice.h"
#include "passes/rule.h"

#include <algorithm>

namespace tenon::api
{

ValueId BatchAxis::addInput(std::string name, TensorType sample, int32_t position, bool isShared)
{
    if (!isShared && mSource == kNone && mMost > 1)
        mBatch = ShapeExpr::symbol(
            mGraph.symbols().find(SymbolKind::kInputExtent, position, 0, std::string{kBatchName}, {1, mMost}));
    sample.shape.insert(sample.shape.begin(), isShared ? ShapeExpr{1} : mBatch);
    ValueId const value = mGraph.addInput(std::move(name), std::move(sample));
    if (!isShared && mSource == kNone)
        mSource = value;
    mark(value);
    return value;
}

bool BatchAxis::isOne(ValueId value) const
{
    return !isLed(value) || mGraph.typeOf(value).shape.front() == ShapeExpr{1};
}

Result<ValueId> BatchAxis::add(LayerPtr layer, std::string name, std::vector<ValueId> inputs)
{
    return mGraph.node(TENON_TRY(mGraph.addNode(std::move(layer), std::move(name), std::move(inputs)))).output();
}

ValueId BatchAxis::numbers(std::string name, std::vector<int64_t> const& values)
{
    return mGraph.addConstant(
        std::move(name), makeConstant(DType::kINT64, {static_cast<int64_t>(values.size())}, values.data()));
}

Result<ValueId> BatchAxis::led(ValueId value, std::string const& layer)
{
    if (isLed(value))
        return value;
    if (auto const known = mWithOne.find(value); known != mWithOne.end())
        return known->second;
    Value const& shared = mGraph.value(value);
    std::optional<std::vector<int64_t>> extents = staticExtents(shared.type.shape);
    if (!extents || extents->size() >= nvinfer1::Dims64::MAX_DIMS)
        return badConfig(
            "[layer '{}'] tensor '{}' is {}: there is no room for the batch", layer, shared.name, shared.type.show());
    extents->insert(extents->begin(), 1);
    std::string const name = shared.name;
    ValueId const made = shared.constant != nullptr
        ? mGraph.addConstant(name, passes::reshapedConstant(shared.constant, *std::move(extents)))
        : TENON_TRY(add(makeLayer(Shuffle::reshape(*extents)), name + " for all samples", {value}));
    mark(made);
    mWithOne.emplace(value, made);
    return made;
}

Result<ValueId> BatchAxis::plain(ValueId value)
{
    if (!isLed(value))
        return value;
    Value const& one = mGraph.value(value);
    std::optional<std::vector<int64_t>> extents = staticExtents(one.type.shape);
    if (!extents)
        return errorOf(ErrorCode::kINTERNAL_ERROR, "tensor '{}' is {}", one.name, one.type.show());
    extents->erase(extents->begin());
    std::string const name = one.name + " of all samples";
    return add(makeLayer(Shuffle::reshape(*extents)), name, {value});
}

Result<ValueId> BatchAxis::size()
{
    if (mSize == kNone)
    {
        ValueId const shape = TENON_TRY(add(makeLayer(tenon::ShapeLayer{}), "extents with the batch", {mSource}));
        Slice first;
        first.start = {1, {0}};
        first.size = {1, {1}};
        mSize = TENON_TRY(add(makeLayer(first), "batch size", {shape}));
    }
    return mSize;
}

Result<ValueId> BatchAxis::sizeAnd(std::vector<int64_t> const& extents, std::string const& layer)
{
    std::string const name = layer + " extents";
    ValueId const rest = numbers(name, extents);
    if (mBatch == ShapeExpr{1})
    {
        std::vector<int64_t> all{1};
        all.insert(all.end(), extents.begin(), extents.end());
        return numbers(name, all);
    }
    return add(makeLayer(Concatenation{0}), name + " with the batch", {TENON_TRY(size()), rest});
}

Result<ValueId> BatchAxis::replicated(ValueId value, std::string const& layer)
{
    ValueId const one = TENON_TRY(led(value, layer));
    if (!isOne(one) || mBatch == ShapeExpr{1})
        return one;
    if (auto const known = mReplicated.find(one); known != mReplicated.end())
        return known->second;
    Slice repeat; // From the one entry, with a stride of 0, as often as there are samples.
    repeat.start = {1, {0}};
    repeat.stride = {1, {0}};
    repeat.axes = {1, {0}};
    std::string const name = mGraph.value(one).name + " for each sample";
    ValueId const made = TENON_TRY(add(makeLayer(repeat), name, {one, kNone, TENON_TRY(size())}));
    mark(made);
    mReplicated.emplace(one, made);
    return made;
}

Result<BatchAxis::Form> BatchAxis::formOf(LayerPtr layer, Inputs const& samples, std::vector<ValueId> inputs)
{
    std::vector<bool> varying;
    for (ValueId const input : inputs)
        varying.push_back(input != kNone && !isOne(input));
    bool const anyVaries = std::ranges::count(varying, true) != 0;
    bool const anyLed = std::ranges::any_of(inputs, [&](ValueId input) { return isLed(input); });
    if (!anyLed && !frontIsBatch(*layer))
        return Form{std::move(layer), std::move(inputs), false};
    WithBatch form = TENON_TRY(withBatch(*layer, {samples, varying}));
    for (size_t i = 0; i < inputs.size(); ++i)
    {
        BatchUse const use = form.use(i);
        if (inputs[i] == kNone)
            continue;
        if ((use == BatchUse::kShared || use == BatchUse::kDropped) && varying[i])
            return badConfig("[layer '{}'] {} input {} '{}' differs from sample to sample: in a network with implicit "
                             "batch it must be the same for all",
                samples.layerName(), layer->name(), i, mGraph.value(inputs[i]).name);
        if (use == BatchUse::kDropped)
            inputs[i] = kNone;
        else if (use == BatchUse::kShared)
            inputs[i] = TENON_TRY(plain(inputs[i]));
        else if (use == BatchUse::kReplicated && anyVaries)
            inputs[i] = TENON_TRY(replicated(inputs[i], samples.layerName()));
        else
            inputs[i] = TENON_TRY(led(inputs[i], samples.layerName()));
    }
    while (!inputs.empty() && inputs.back() == kNone)
        inputs.pop_back();
    if (form.extents)
    {
        inputs.resize(std::max<size_t>(inputs.size(), 2), kNone);
        inputs[1] = TENON_TRY(sizeAnd(*form.extents, samples.layerName()));
    }
    return Form{std::move(form.layer), std::move(inputs), true};
}

} // namespace tenon::api
