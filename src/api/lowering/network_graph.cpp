// Network: written as a graph for the passes, with the bounds of its profiles on the symbols.
#include "api/boundary.h"
#include "api/lowering/graph_writer.h"
#include "api/lowering/plugin_graph.h"
#include "api/network/operand_views.h"
#include "api/tensor_formats.h"

#include "ir/aligned_constants.h"
#include "layers/cast.h"
#include "layers/debug_tensor.h"
#include "layers/identity.h"
#include "layers/reduce.h"

#include <algorithm>
#include <map>
#include <set>

namespace tenon::api
{

using Bounds = OptimizationProfile::Bounds;

Result<Done> GraphWriter::checkBatch() const
{
    if (!mBatch)
    {
        for (LayerBase const* layer : mNetwork.order())
            if (layer->lacksBatch)
                return badConfig("[layer '{}'] {}: input '{}' has the extents of one sample, {}, and the batch is not "
                                 "implicit; call setMaxBatchSize() of the builder before the build or set "
                                 "TENON_IMPLICIT_BATCH=1 for a batch outside the dims, or make the network with "
                                 "kEXPLICIT_BATCH and give its inputs a batch extent",
                    layer->name(), layer->kind(), layer->inputs().at(0)->name(),
                    tenon::show(layer->inputs()[0]->inferred.type.shape));
        return Done{};
    }
    for (Tensor const* input : mNetwork.inputs())
        if (isDynamic(*input) || input->declared().nbDims >= Dims::MAX_DIMS)
            return badConfig("input '{}' is {}: in a network with implicit batch all extents are known, and there are "
                             "{} at most; make the network with kEXPLICIT_BATCH",
                input->name(), show(input->declared()), Dims::MAX_DIMS - 1);
    for (Tensor const* output : mNetwork.outputs())
        if (output->isMarkedForShapes)
            return badConfig(
                "output '{}' is marked for shapes, which networks with implicit batch do not have", output->name());
    if (!mProfiles.empty())
        mNetwork.reporting().log().warning("the network's batch is implicit: its optimization profiles have no effect");
    return Done{};
}

bool GraphWriter::isDynamic(Tensor const& input) const
{
    Dims const& dims = input.declared();
    return std::any_of(dims.d, dims.d + dims.nbDims, [](int64_t extent) { return extent < 0; });
}

bool GraphWriter::hasValues(Tensor const& input) const
{
    return std::any_of(mProfiles.begin(), mProfiles.end(), [&](OptimizationProfile const* profile) {
        Bounds const* bounds = profile->find(input.name());
        return bounds != nullptr && bounds->values[0].has_value();
    });
}

Result<Done> GraphWriter::checkNames()
{
    if (mNetwork.outputs().empty())
        return badConfig("the network has no output: mark one");
    for (auto const* list : {&mNetwork.inputs(), &mNetwork.outputs()})
        for (Tensor const* tensor : *list)
            TENON_TRY(mNetwork.checkUnique(tensor->name(), tensor));
    std::set<std::string> inputs;
    for (Tensor const* tensor : mNetwork.inputs())
        inputs.insert(tensor->name());
    for (OptimizationProfile const* profile : mProfiles)
        for (auto const& [name, bounds] : profile->all())
            if (!inputs.contains(name))
                return badConfig("an optimization profile names '{}', which is no network input", name);
    return Done{};
}

namespace
{
Result<Done> checkValueCount(
    Tensor const& input, std::optional<std::vector<int64_t>> const& values, int64_t wanted, size_t profile)
{
    if (values && static_cast<int64_t>(values->size()) != wanted)
        return badConfig("input '{}' is a shape tensor of {} values, and optimization profile {} gives {} for it",
            input.name(), wanted, profile, values->size());
    return Done{};
}
} // namespace

Result<Done> GraphWriter::checkProfileOf(Tensor const& input, Bounds const* bounds, size_t profile, bool isShape) const
{
    if (bounds == nullptr || (isDynamic(input) && !bounds->dims[0]))
        return badConfig("input '{}' is dynamic ({}) and optimization profile {} does not set its dimensions",
            input.name(), show(input.declared()), profile);
    if (isShape && !bounds->values[0])
        return badConfig(
            "input '{}' is a shape tensor and optimization profile {} does not set its values", input.name(), profile);
    for (size_t select = 0; select < 3; ++select)
    {
        Dims const dims = bounds->dims[select].value_or(input.declared());
        bool fits = dims.nbDims == input.declared().nbDims;
        for (int32_t i = 0; fits && i < dims.nbDims; ++i)
            fits = input.declared().d[i] < 0 || input.declared().d[i] == dims.d[i];
        if (!fits)
            return badConfig("input '{}' is {} in the network and {} in optimization profile {}", input.name(),
                show(input.declared()), show(dims), profile);
        if (isShape)
            TENON_TRY(checkValueCount(input, bounds->values[select], volumeOf(extentsOf(dims)), profile));
    }
    return Done{};
}

Result<ShapeExpr> GraphWriter::extentOf(Tensor const& input, int32_t position, int32_t axis)
{
    auto const at = static_cast<size_t>(axis);
    std::string const& name = input.dimensionNames()[at];
    int64_t const declared = input.declared().d[at];
    Range range{declared, declared};
    if (declared < 0)
    {
        range = {INT64_MAX, 0};
        for (OptimizationProfile const* profile : mProfiles)
        {
            Bounds const& bounds = *profile->find(input.name());
            range.min = std::min(range.min, bounds.dims[0]->d[at]);
            range.max = std::max(range.max, bounds.dims[2]->d[at]);
        }
    }
    auto const named = name.empty() ? mNamedExtents.end() : mNamedExtents.find(name);
    if (named != mNamedExtents.end())
    {
        Range const other = named->second.range(mResult.graph.symbols());
        if (std::max(other.min, range.min) > std::min(other.max, range.max))
            return badConfig("input '{}': dimension '{}' lies in [{}, {}] here and in [{}, {}] elsewhere", input.name(),
                name, range.min, range.max, other.min, other.max);
        return named->second;
    }
    ShapeExpr extent{range.min};
    if (range.min != range.max)
        extent = ShapeExpr::symbol(mResult.graph.symbols().find(SymbolKind::kInputExtent, position, axis, name, range));
    if (!name.empty())
        mNamedExtents.emplace(name, extent);
    return extent;
}

Result<Done> GraphWriter::addFormats(Tensor const& tensor, PlanIO& io) const
{
    io.formats = tensor.getAllowedFormats();
    io.layout = TENON_TRY(chooseLayout(io.formats, io.dtype, io.dims.nbDims, io.isShape, tensor.name()));
    io.isDirect = mRequest.isDirect && tensor.hasOwnFormats();
    return Done{};
}

Result<Done> GraphWriter::addInput(int32_t position)
{
    Tensor const& input = *mNetwork.inputs()[static_cast<size_t>(position)];
    if (mBatch)
        return addSampleInput(position);
    bool const isShape = hasValues(input) && mNetwork.isReadForShapes(input);
    bool const lacksValues = !isShape && input.inferred.contents && mNetwork.isReadForShapes(input);
    if (hasValues(input) && !isShape)
        mNetwork.reporting().log().warning(fmt::format(
            "input '{}' is no shape tensor: what optimization profiles say of its values is ignored", input.name()));
    if (isDynamic(input) || isShape || lacksValues)
    {
        if (mProfiles.empty())
            return badConfig("input '{}' {}, and there is no optimization profile", input.name(),
                lacksValues ? "is a shape tensor" : "is dynamic");
        for (size_t i = 0; i < mProfiles.size(); ++i)
            TENON_TRY(checkProfileOf(input, mProfiles[i]->find(input.name()), i, isShape || lacksValues));
    }
    TensorType type{input.declaredType(), {}};
    for (int32_t axis = 0; axis < input.declared().nbDims; ++axis)
        type.shape.push_back(TENON_TRY(extentOf(input, position, axis)));
    ValueId const value = mResult.graph.addInput(input.name(), std::move(type));
    if (isShape)
        addContents(input, position, value);
    mValues[&input] = input.inferred.standsForReals ? TENON_TRY(dequantized(input, value)) : value;
    PlanIO io{.name = input.name(), .isInput = true, .isShape = isShape, .dtype = input.declaredType()};
    io.dims = input.declared();
    TENON_TRY(addFormats(input, io));
    io.dimensionNames.assign(input.dimensionNames().begin(), input.dimensionNames().begin() + io.dims.nbDims);
    mResult.io.push_back(std::move(io));
    return Done{};
}

Result<Done> GraphWriter::addSampleInput(int32_t position)
{
    Tensor const& input = *mNetwork.inputs()[static_cast<size_t>(position)];
    bool const isShared = input.isBroadcast;
    TensorType const sample{input.declaredType(), shapeOf(extentsOf(input.declared()))};
    ValueId const value = mBatch->addInput(input.name(), sample, position, isShared);
    mValues[&input] = input.inferred.standsForReals ? TENON_TRY(dequantized(input, value)) : value;
    PlanIO io{.name = input.name(), .isInput = true, .dtype = input.declaredType()};
    io.dims = inFront(isShared ? 1 : -1, input.declared());
    TENON_TRY(addFormats(input, io));
    io.dimensionNames = {isShared ? std::string{} : std::string{kBatchName}};
    io.dimensionNames.resize(static_cast<size_t>(io.dims.nbDims));
    mResult.io.push_back(std::move(io));
    return Done{};
}

void GraphWriter::addContents(Tensor const& input, int32_t position, ValueId value)
{
    Shape contents;
    size_t const count = mProfiles.front()->find(input.name())->values[0]->size();
    for (size_t i = 0; i < count; ++i)
    {
        Range range{INT64_MAX, INT64_MIN};
        for (OptimizationProfile const* profile : mProfiles)
        {
            Bounds const& bounds = *profile->find(input.name());
            range.min = std::min(range.min, bounds.values[0]->at(i));
            range.max = std::max(range.max, bounds.values[2]->at(i));
        }
        SymbolTable& symbols = mResult.graph.symbols();
        int32_t const id = symbols.find(
            SymbolKind::kInputValue, position, static_cast<int32_t>(i), fmt::format("{}[{}]", input.name(), i), range);
        symbols.at(id).isReal = input.declaredType() == DType::kFLOAT;
        contents.push_back(symbols.at(id).isReal ? realSymbol(id) : ShapeExpr::symbol(id));
    }
    mResult.graph.setContents(value, std::move(contents));
}

Result<Done> GraphWriter::addProfiles()
{
    if (mBatch)
    {
        int64_t const most = mNetwork.batch().most;
        PlanProfile plan;
        for (size_t i = 0; i < mResult.io.size(); ++i)
            if (Dims const& dims = mResult.io[i].dims; dims.d[0] < 0)
            {
                PlanProfileInput input{.io = static_cast<int32_t>(i), .min = dims, .opt = dims, .max = dims};
                input.min.d[0] = 1;
                input.opt.d[0] = input.max.d[0] = most;
                plan.inputs.push_back(std::move(input));
            }
        mResult.profiles.push_back(std::move(plan));
        return Done{};
    }
    for (OptimizationProfile const* profile : mProfiles)
    {
        TENON_TRY(profile->check());
        PlanProfile plan;
        for (size_t i = 0; i < mNetwork.inputs().size(); ++i)
        {
            Bounds const* bounds = profile->find(mNetwork.inputs()[i]->name());
            if (bounds == nullptr)
                continue;
            Dims const declared = mNetwork.inputs()[i]->declared();
            PlanProfileInput input{.io = static_cast<int32_t>(i)};
            input.min = bounds->dims[0].value_or(declared);
            input.opt = bounds->dims[1].value_or(declared);
            input.max = bounds->dims[2].value_or(declared);
            if (mResult.io[i].isShape)
            {
                input.minValues = *bounds->values[0];
                input.optValues = *bounds->values[1];
                input.maxValues = *bounds->values[2];
                input.isNarrow = bounds->isNarrow;
            }
            plan.inputs.push_back(std::move(input));
        }
        mResult.profiles.push_back(std::move(plan));
    }
    if (mResult.profiles.empty())
        mResult.profiles.emplace_back(); // Rule F6: a static network gets one by itself.
    return Done{};
}

//! Averages of integers are no integers: shapes cannot be made of them (rule D7).
Result<Done> GraphWriter::checkAverage(LayerBase& layer) const
{
    if (layer.kind() != Reduce::kName || !mNetwork.isReadForShapes(layer.output(0)))
        return Done{};
    auto const operation = static_cast<nvinfer1::IReduceLayer&>(*layer.layerFront()).getOperation();
    if (operation == nvinfer1::ReduceOperation::kAVG)
        return badConfig("[layer '{}'] its output is a shape tensor, which kAVG cannot make", layer.name());
    return Done{};
}

void GraphWriter::noteWeights(LayerBase const& layer, Operand const& operand)
{
    using nvinfer1::WeightsRole;
    constexpr std::pair<std::string_view, WeightsRole> kRoles[]{{".kernel", WeightsRole::kKERNEL},
        {".bias", WeightsRole::kBIAS}, {".shift", WeightsRole::kSHIFT}, {".scale", WeightsRole::kSCALE}};
    for (auto const& [end, role] : kRoles)
        if (operand.constant != nullptr && operand.name.ends_with(end))
            mRefit.note(layer.name(), role, operand.constant, false);
}

//! Weights have the name that the user gave them, in ONNX models that of the initializer; else the layer's.
std::string GraphWriter::nameOfConstant(Operand const& operand) const
{
    std::string given = mNetwork.nameOf({operand.constant->dtype, operand.constant->data, operand.constant->count()});
    return given.empty() ? operand.name : given;
}

Result<std::vector<ValueId>> GraphWriter::operandsOf(LayerBase const& layer, std::vector<Operand> const& operands)
{
    std::vector<ValueId> inputs;
    for (Operand const& operand : operands)
    {
        if (mBatch && operand.tensor != nullptr && !operand.tensor->inferred.valid)
            return badConfig("layer '{}' reads tensor '{}', whose shape could not be inferred", layer.name(),
                operand.tensor->name());
        noteWeights(layer, operand);
        if (operand.constant != nullptr)
            inputs.push_back(mResult.graph.addConstant(nameOfConstant(operand), operand.constant));
        else if (operand.tensor == nullptr)
            inputs.push_back(kNone);
        else
        {
            Result<ValueId> value = valueOf(*operand.tensor);
            if (!value)
                return std::move(value).error().in(fmt::format("layer '{}'", layer.name()));
            inputs.push_back(*value);
        }
    }
    return inputs;
}

Result<BatchAxis::Form> GraphWriter::formOf(LayerBase& layer)
{
    std::vector<Operand> operands = TENON_TRY(layer.operands());
    std::vector<ValueId> inputs = TENON_TRY(operandsOf(layer, operands));
    std::optional<DType> const read = readType(layer);
    if (read)
        TENON_TRY(convertOperands(layer, *read, inputs));
    if (!mBatch)
        return BatchAxis::Form{layer.fieldsAsLayer(), std::move(inputs), false};
    OperandViews const views =
        read ? OperandViews{std::move(operands), *read, layer.shapeOperands()} : OperandViews{std::move(operands)};
    return mBatch->formOf(layer.fieldsAsLayer(), {views.inputs(), layer.name()}, std::move(inputs));
}

Result<Done> GraphWriter::checkForm(LayerBase const& layer, int32_t output, ValueId value) const
{
    Shape const& sample = layer.output(output).inferred.type.shape;
    Shape const& made = mResult.graph.typeOf(value).shape;
    if (made.size() == sample.size() + 1 && std::equal(sample.begin(), sample.end(), made.begin() + 1))
        return Done{};
    return errorOf(ErrorCode::kINTERNAL_ERROR, "[layer '{}'] output {} is {} for a sample and {} for a batch",
        layer.name(), output, tenon::show(sample), tenon::show(made));
}

Result<Done> GraphWriter::addLayer(LayerBase& layer)
{
    if (layer.isBoundary())
        return Done{};
    Graph& graph = mResult.graph;
    std::shared_ptr<Constant const> const constant = TENON_TRY(layer.constantContents());
    if (constant != nullptr)
    {
        // Programs are made for single numbers, such as an epsilon; values that shapes come of stay as they are.
        if (!mNetwork.isReadForShapes(layer.output(0)))
            mRefit.note(layer.name(), nvinfer1::WeightsRole::kCONSTANT, constant, constant->count() == 1);
        mValues[&layer.output(0)] = graph.addConstant(layer.output(0).name(), constant);
        return Done{};
    }
    BatchAxis::Form form = TENON_TRY(formOf(layer));
    std::vector<ValueId> outputs;
    if (layer.kind() == CustomLayer::kName)
        outputs =
            TENON_TRY(addPlugin(mResult, static_cast<PluginLayer const&>(layer), std::move(form.inputs), mRequest));
    else
        outputs =
            graph.node(TENON_TRY(graph.addNode(std::move(form.layer), layer.name(), std::move(form.inputs)))).outputs;
    for (int32_t i = 0; i < layer.outputCount(); ++i)
    {
        if (form.isLed)
            mBatch->mark(outputs.at(static_cast<size_t>(i)));
        TENON_TRY(takeOutput(layer, i, outputs.at(static_cast<size_t>(i))));
        if (!form.isLed)
            continue;
        ValueId const value = mValues.at(&layer.output(i));
        mBatch->mark(value);
        TENON_TRY(checkForm(layer, i, value));
    }
    return Done{};
}

Result<Done> GraphWriter::takeOutput(LayerBase const& layer, int32_t output, ValueId value)
{
    Graph& graph = mResult.graph;
    Tensor const& tensor = layer.output(output);
    DType const wanted = tensor.inferred.type.dtype;
    DType const own = graph.typeOf(value).dtype;
    bool const isConvertible = isConverted(wanted) && isConverted(own);
    bool const isIdentity = layer.getType() == nvinfer1::LayerType::kIDENTITY; // Whose work it is to convert.
    if (tensor.isNetworkOutput() && !tensor.inferred.standsForReals && !isIdentity
        && isFloating(wanted) != isFloating(own))
        return badConfig("[layer '{}'] output '{}' is {}, and no output of a network becomes {} by itself: add a cast "
                         "layer",
            layer.name(), tensor.name(), nameOf(own), nameOf(wanted));
    if (tensor.inferred.standsForReals)
    {
        mQuantized[&tensor] = TENON_TRY(quantized(tensor, value));
        value = TENON_TRY(dequantized(tensor, mQuantized.at(&tensor)));
    }
    else if ((layer.outputType(output) || isConvertible) && wanted != own)
        value =
            graph.node(TENON_TRY(graph.addNode(makeLayer(Cast{wanted}), layer.name() + " to type", {value}))).output();
    graph.rename(value, tensor.name());
    mValues[&tensor] = value;
    return Done{};
}

//! Their readers stand behind all layers: no rule can put what it makes between a tensor and its reader.
Result<Done> GraphWriter::addDebugTensors()
{
    std::set<std::string> names;
    for (Tensor const* tensor : mNetwork.debugTensors())
    {
        std::string const& name = tensor->name();
        if (!names.insert(name).second)
            return badConfig("two debug tensors have the name '{}': give each its own, a listener knows no more", name);
        if (!mValues.contains(tensor))
            return badConfig("debug tensor '{}' is inside a loop or conditional, where it cannot be seen", name);
        TENON_TRY(mResult.graph.addNode(
            makeLayer(DebugTensor{name}), fmt::format("debug tensor '{}'", name), {mValues.at(tensor)}));
    }
    return Done{};
}

Result<Done> GraphWriter::addOutput(Tensor const& output)
{
    Graph& graph = mResult.graph;
    if (!mValues.contains(&output))
        return badConfig("tensor '{}' is inside a loop or conditional and cannot be an output: give it out by "
                         "addLoopOutput or addOutput, and mark that",
            output.name());
    auto const quantized = mQuantized.find(&output);
    ValueId value = quantized != mQuantized.end() ? quantized->second : mValues.at(&output);
    if (mBatch)
        value = TENON_TRY(mBatch->led(value, output.name()));
    if (graph.constantOf(value) != nullptr) // An output needs a step that writes it.
        value =
            graph.node(TENON_TRY(graph.addNode(makeLayer(Identity{}), output.name() + " copied", {value}))).output();
    graph.markOutput(value, output.name());
    PlanIO io{.name = output.name(), .isInput = false, .isShape = output.isMarkedForShapes};
    io.dtype = output.inferred.type.dtype;
    io.dims = dimsOf(mBatch ? graph.typeOf(value).shape : output.inferred.type.shape);
    TENON_TRY(addFormats(output, io));
    mResult.io.push_back(std::move(io));
    return Done{};
}

Result<NetworkGraph> Network::toGraph(GraphRequest const& request)
{
    inferStale();
    GraphWriter writer{*this, request};
    NetworkGraph written = TENON_TRY(writer.write());
    if (!request.keepsAddresses)
        alignConstants(written.graph, 1);
    return written;
}

} // namespace tenon::api
