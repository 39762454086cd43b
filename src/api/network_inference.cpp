// Network: types and shapes of its tensors, brought up to date from the first edited layer on.
#include "api/boundary.h"
#include "api/network.h"

namespace tenon::api
{

namespace
{
constexpr int64_t kMostShapeValues{64};
}

void Network::infer() noexcept
{
    fencedDone(mReporting.log(), "INetworkDefinition", [&]() -> Result<Done> {
        if (mInputsStale)
            for (size_t i = 0; i < mInputs.size(); ++i)
                inferInput(*mInputs[i], static_cast<int32_t>(i));
        mInputsStale = false;
        while (mFirstStale < mOrder.size())
        {
            LayerBase& layer = *mOrder[mFirstStale++];
            Result<Done> const done = inferLayer(layer);
            if (!done)
                mReporting.log().error(done.error());
        }
        return Done{};
    });
}

void Network::inferInput(Tensor& tensor, int32_t position)
{
    Tensor::Inferred& inferred = tensor.inferred;
    inferred = {.valid = true, .type = {tensor.declaredType(), {}}, .contents = {}, .constant = {}};
    Dims const& dims = tensor.declared();
    for (int32_t i = 0; i < dims.nbDims; ++i)
        inferred.type.shape.push_back(dims.d[i] >= 0
                ? ShapeExpr{dims.d[i]}
                : ShapeExpr::symbol(mSymbols.find(SymbolKind::kInputExtent, position, i)));
    std::optional<std::vector<int64_t>> const extents = staticExtents(inferred.type.shape);
    bool const isShort = extents && extents->size() <= 1 && volumeOf(*extents) <= kMostShapeValues;
    if (!isShort || isFloating(tensor.declaredType()))
        return;
    inferred.contents.emplace();
    for (int64_t i = 0; i < volumeOf(*extents); ++i)
        inferred.contents->push_back(ShapeExpr::symbol(
            mSymbols.find(SymbolKind::kInputValue, position, static_cast<int32_t>(i), {}, {INT64_MIN, INT64_MAX})));
}

Result<Done> Network::inferLayer(LayerBase& layer)
{
    for (int32_t i = 0; i < layer.outputCount(); ++i)
        layer.output(i).inferred = {};
    for (Tensor const* input : layer.inputs())
        if (input != nullptr && !input->inferred.valid)
            return Done{}; // Its own layer has said what is wrong.
    std::shared_ptr<Constant const> const constant = TENON_TRY(layer.constantContents());
    if (constant != nullptr)
    {
        layer.output(0).inferred = {
            .valid = true, .type = {constant->dtype, shapeOf(constant->extents)}, .contents = {}, .constant = constant};
        return Done{};
    }
    std::vector<Operand> const operands = TENON_TRY(layer.operands());
    std::vector<TensorType> types(operands.size()); // Of constants made from weights.
    std::vector<Input> inputs(operands.size());
    for (size_t i = 0; i < operands.size(); ++i)
    {
        Operand const& operand = operands[i];
        if (operand.tensor != nullptr)
        {
            Tensor::Inferred const& known = operand.tensor->inferred;
            inputs[i] = {
                &known.type, known.contents ? &*known.contents : nullptr, known.constant.get(), operand.tensor->name()};
        }
        else if (operand.constant != nullptr)
        {
            types[i] = {operand.constant->dtype, shapeOf(operand.constant->extents)};
            inputs[i] = {&types[i], nullptr, operand.constant.get(), operand.name};
        }
    }
    Inputs const in{std::move(inputs), layer.name(), &mSymbols, layer.firstValue};
    LayerPtr const fields = layer.fieldsAsLayer();
    std::vector<TensorType> found = TENON_TRY(fields->infer(in));
    std::optional<Shape> contents = fields->contents(in);
    for (int32_t i = 0; i < layer.outputCount() && i < static_cast<int32_t>(found.size()); ++i)
    {
        Tensor::Inferred& inferred = layer.output(i).inferred;
        inferred.type = std::move(found[static_cast<size_t>(i)]);
        inferred.type.dtype = layer.outputType(i).value_or(inferred.type.dtype);
        inferred.valid = true;
    }
    if (contents && layer.outputCount() > 0)
        layer.output(0).inferred.contents = std::move(contents);
    return Done{};
}

void Network::findShapeReads()
{
    if (!mShapeReadsStale)
        return;
    mShapeReadsStale = false;
    mShapeReads.clear();
    std::vector<Tensor const*> open;
    for (auto const& layer : mLayers)
        for (size_t i = 0; i < layer->inputs().size(); ++i)
            if (((layer->shapeOperands() >> i) & 1U) != 0 && layer->inputs()[i] != nullptr)
                open.push_back(layer->inputs()[i]);
    for (Tensor const* output : mOutputs)
        if (output->isMarkedForShapes)
            open.push_back(output);
    while (!open.empty())
    {
        Tensor const* tensor = open.back();
        open.pop_back();
        if (!mShapeReads.insert(tensor).second || tensor->producer() == nullptr)
            continue;
        LayerBase const& producer = *tensor->producer();
        if (producer.kind() == "Shape" || producer.kind() == "NonZero")
            continue; // Their inputs are data: only extents matter, or their values are known after running.
        for (Tensor const* input : producer.inputs())
            if (input != nullptr)
                open.push_back(input);
    }
}

bool Network::isReadForShapes(Tensor const& tensor)
{
    findShapeReads();
    return mShapeReads.contains(&tensor);
}

bool Network::isReadAsData(Tensor const& tensor)
{
    if (!isReadForShapes(tensor) || tensor.isMarkedOutput)
        return true;
    for (auto const& layer : mLayers)
    {
        bool const isShapePart = layer->outputCount() > 0 && mShapeReads.contains(&layer->output(0));
        for (size_t i = 0; i < layer->inputs().size(); ++i)
            if (layer->inputs()[i] == &tensor && ((layer->shapeOperands() >> i) & 1U) == 0 && !isShapePart
                && layer->kind() != "Shape")
                return true;
    }
    return false;
}

} // namespace tenon::api
