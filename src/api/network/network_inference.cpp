// Network: types and shapes of its tensors, brought up to date from the first edited layer on.
#include "api/boundary.h"
#include "api/network/network.h"
#include "api/network/operand_views.h"
#include "base/cancellation.h"
#include "layers/with_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <set>
#include <utility>

namespace tenon::api
{

namespace
{
constexpr int64_t kMaxShapeValues{64};
constexpr int32_t kBatchSource{-1}; //!< No input: the batch that the dims leave out.

bool isShapeOperand(LayerBase const& layer, size_t i)
{
    return i < 32 && (layer.shapeOperands() >> i & 1U) != 0;
}
} // namespace

void Network::infer() noexcept
{
    fencedDone(mReporting.log(), "INetworkDefinition", [&]() -> Result<Done> {
        inferStale();
        return Done{};
    });
}

void Network::inferStale()
{
    // Where nothing is stale nothing is written: several threads may build a network that stays as it is.
    if (mInferredImplicit != isImplicit())
    {
        mInferredImplicit = isImplicit();
        edited(nullptr);
    }
    if (mInputsStale)
    {
        for (size_t i = 0; i < mInputs.size(); ++i)
            inferInput(*mInputs[i], static_cast<int32_t>(i));
        mInputsStale = false;
    }
    while (mFirstStale < mOrder.size())
    {
        cancellationPoint(); // In a build; it goes on from here when it is asked again.
        Result<Done> const done = inferLayer(*mOrder[mFirstStale++]);
        if (!done)
            mReporting.log().error(done.error());
    }
}

ShapeExpr Network::dynamicExtent(int32_t position, int32_t axis)
{
    std::string const& name = mInputs[static_cast<size_t>(position)]->dimensionNames()[static_cast<size_t>(axis)];
    for (int32_t i = 0; !name.empty() && i <= position; ++i)
    {
        Tensor const& other = *mInputs[static_cast<size_t>(i)];
        for (int32_t at = 0; at < other.declared().nbDims; ++at)
            if (other.dimensionNames()[static_cast<size_t>(at)] == name)
                return other.declared().d[at] >= 0 ? ShapeExpr{other.declared().d[at]}
                                                   : ShapeExpr::symbol(mSymbols.find(SymbolKind::kInputExtent, i, at));
    }
    return ShapeExpr::symbol(mSymbols.find(SymbolKind::kInputExtent, position, axis));
}

void Network::inferInput(Tensor& tensor, int32_t position)
{
    Tensor::Inferred& inferred = tensor.inferred;
    inferred = {.valid = true,
        .type = {tensor.declaredType(), {}},
        .contents = {},
        .constant = {},
        .isShared = tensor.isBroadcast,
        .standsForReals = tensor.declaredType() == DType::kINT8 && tensor.isQuantizable()};
    Dims const& dims = tensor.declared();
    for (int32_t i = 0; i < dims.nbDims; ++i)
        inferred.type.shape.push_back(dims.d[i] >= 0 ? ShapeExpr{dims.d[i]} : dynamicExtent(position, i));
    std::optional<std::vector<int64_t>> const extents = staticExtents(inferred.type.shape);
    bool const isShort = extents && extents->size() <= 1 && volumeOf(*extents) <= kMaxShapeValues;
    bool const isReal = tensor.declaredType() == DType::kFLOAT;
    if (!isShort || (isFloating(tensor.declaredType()) && !isReal))
        return;
    inferred.contents.emplace();
    for (int64_t i = 0; i < volumeOf(*extents); ++i)
    {
        int32_t const id =
            mSymbols.find(SymbolKind::kInputValue, position, static_cast<int32_t>(i), {}, {INT64_MIN, INT64_MAX});
        mSymbols.at(id).isReal = isReal;
        inferred.contents->push_back(isReal ? realSymbol(id) : ShapeExpr::symbol(id));
    }
}

Result<std::vector<TensorType>> Network::inferSamples(
    LayerBase& layer, Layer const& fields, SampleInputs const& samples)
{
    ShapeExpr const batch = ShapeExpr::symbol(mSymbols.find(SymbolKind::kInputExtent, kBatchSource, 0));
    WithBatch const form = TENON_TRY(withBatch(fields, samples));
    std::vector<Input> inputs;
    std::list<TensorType> types;
    for (int32_t i = 0; i < samples.in.size(); ++i)
    {
        BatchUse const use = form.use(static_cast<size_t>(i));
        inputs.push_back(use == BatchUse::kDropped ? Input{} : samples.in[i]);
        if (!samples.in.has(i) || use == BatchUse::kShared || use == BatchUse::kDropped)
            continue;
        types.push_back(samples.in.type(i));
        bool const isOne = use == BatchUse::kBroadcast && !samples.varies(i);
        types.back().shape.insert(types.back().shape.begin(), isOne ? ShapeExpr{1} : batch);
        inputs.back() = {&types.back(), nullptr, nullptr, samples.in[i].name};
    }
    Inputs const in{std::move(inputs), layer.name(), &mSymbols, layer.firstValue};
    std::vector<TensorType> found = TENON_TRY(form.layer->infer(in));
    found.resize(std::min(found.size(), static_cast<size_t>(layer.outputCount())));
    for (size_t i = 0; i < found.size(); ++i)
    {
        Shape& shape = found[i].shape;
        layer.output(static_cast<int32_t>(i)).inferred.isShared = shape.front() == ShapeExpr{1};
        shape.erase(shape.begin());
    }
    return found;
}

//! A network's input in int8 may have been meant as real numbers, and nobody has said which.
Error Network::withRangeHint(LayerBase const& layer, Error error) const
{
    std::set<Tensor const*> told;
    for (Tensor const* const input : layer.inputs())
        if (!isStronglyTyped() && input != nullptr && input->isNetworkInput() && !input->isQuantizable()
            && input->inferred.type.dtype == DType::kINT8 && told.insert(input).second)
            error.message += fmt::format(
                "; where network input '{}' stands for real numbers, setDynamicRange() says for which", input->name());
    return error;
}

Result<Done> Network::inferLayer(LayerBase& layer)
{
    if (layer.isBoundary())
        return Done{};
    for (int32_t i = 0; i < layer.outputCount(); ++i)
        layer.output(i).inferred = {};
    for (size_t i = 0; i < layer.inputs().size(); ++i)
        if (layer.inputs()[i] != nullptr && !layer.isFromLater(i) && !layer.inputs()[i]->inferred.valid)
            return Done{}; // Its own layer has said what is wrong.
    std::shared_ptr<Constant const> const constant = TENON_TRY(layer.constantContents());
    if (constant != nullptr)
    {
        layer.output(0).inferred = {.valid = true,
            .type = {constant->dtype, shapeOf(constant->extents)},
            .contents = {},
            .constant = constant,
            .isShared = true};
        return Done{};
    }
    layer.readType.reset();
    Result<Found> found = inferIn(layer, std::nullopt);
    if (!found)
        if (std::optional<DType> const widest = TENON_TRY(widestOf(layer)))
            if (Result<Found> widened = inferIn(layer, widest))
            {
                layer.readType = widest;
                found = std::move(widened);
            }
    if (!found)
        return withRangeHint(layer, std::move(found).error());
    for (int32_t i = 0; i < layer.outputCount() && i < static_cast<int32_t>(found->types.size()); ++i)
    {
        Tensor::Inferred& inferred = layer.output(i).inferred;
        inferred.type = std::move(found->types[static_cast<size_t>(i)]);
        bool const isReal = isConverted(inferred.type.dtype);
        inferred.type.dtype = layer.outputType(i).value_or(inferred.type.dtype);
        inferred.standsForReals = isReal && inferred.type.dtype == DType::kINT8 && layer.output(i).isQuantizable();
        inferred.valid = true;
    }
    if (found->contents && !isDeep(*found->contents) && layer.outputCount() > 0) // Deep ones are data, as in the graph.
        layer.output(0).inferred.contents = std::move(found->contents);
    return Done{};
}

Result<Network::Found> Network::inferIn(LayerBase& layer, std::optional<DType> read)
{
    OperandViews const views = read ? OperandViews{TENON_TRY(layer.operands()), *read, layer.shapeOperands()}
                                    : OperandViews{TENON_TRY(layer.operands())};
    Inputs const in{views.inputs(), layer.name(), &mSymbols, layer.firstValue};
    LayerPtr const fields = layer.fieldsAsLayer();
    bool const isShared = std::ranges::count(views.varying(), true) == 0;
    for (int32_t i = 0; i < layer.outputCount(); ++i)
        layer.output(i).inferred.isShared = isShared;
    layer.lacksBatch = !mIsMadeExplicit && lacksBatch(*fields, in);
    bool const asSamples = isImplicit() ? frontIsBatch(*fields) : layer.lacksBatch && frontIsBatch(*fields);
    Found found;
    found.types = TENON_TRY(asSamples ? inferSamples(layer, *fields, {in, views.varying()}) : fields->infer(in));
    if (!asSamples)
        found.contents = fields->contents(in);
    return found;
}

Result<std::optional<DType>> Network::widestOf(LayerBase const& layer) const
{
    std::optional<DType> widest;
    if (isStronglyTyped())
        return widest;
    bool isMixed{false};
    OperandViews const views{TENON_TRY(layer.operands())};
    for (size_t i = 0; i < views.inputs().size(); ++i)
    {
        TensorType const* const type = views.inputs()[i].type;
        if (type == nullptr || !isConvertedOperand(type->dtype, i, layer.shapeOperands()))
            continue;
        isMixed = isMixed || (widest && *widest != type->dtype);
        widest = isMixed ? DType::kFLOAT : type->dtype; // It has what either of the others has.
    }
    return isMixed ? widest : std::optional<DType>{};
}

bool Network::computesIn(LayerBase& layer, DType type)
{
    inferStale();
    Result<std::vector<Operand>> operands = layer.operands();
    if (!operands || !isConverted(type) || layer.isBoundary())
        return false;
    OperandViews const views{*std::move(operands)};
    bool hasFloating{false};
    for (size_t i = 0; i < views.inputs().size(); ++i)
    {
        Input const& input = views.inputs()[i];
        hasFloating =
            hasFloating || (input.type != nullptr && isConvertedOperand(input.type->dtype, i, layer.shapeOperands()));
    }
    return hasFloating && inferIn(layer, type).operator bool();
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
            if (isShapeOperand(*layer, i) && layer->inputs()[i] != nullptr)
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
        if (producer.facts().reads != InputReads::kSame)
            continue; // Only extents matter, or the values are known after running.
        for (Tensor const* input : producer.inputs())
            if (input != nullptr)
                open.push_back(input);
    }
    mReads.clear();
    mDataReads.clear();
    for (auto const& layer : mLayers)
    {
        InputReads const reads = layer->facts().reads;
        bool const isShapePart = layer->outputCount() > 0 && mShapeReads.contains(&layer->output(0));
        bool const readsData = reads == InputReads::kData || (reads == InputReads::kSame && !isShapePart);
        for (size_t i = 0; i < layer->inputs().size(); ++i)
        {
            mReads.insert(layer->inputs()[i]);
            if (!isShapeOperand(*layer, i) && readsData)
                mDataReads.insert(layer->inputs()[i]);
        }
    }
}

bool Network::isReadForShapes(Tensor const& tensor)
{
    findShapeReads();
    return mShapeReads.contains(&tensor);
}

bool Network::isReadAsData(Tensor const& tensor)
{
    if (tensor.isMarkedOutput)
        return true;
    findShapeReads();
    // What nothing reads yet counts as data; what only has its extents read is neither (rule D4).
    return mDataReads.contains(&tensor) || (!mReads.contains(&tensor) && !mShapeReads.contains(&tensor));
}

} // namespace tenon::api
