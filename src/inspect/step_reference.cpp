// StepReference: operands of a step as host tensors, and the layer's plain loops on them.
#include "inspect/step_reference.h"

#include "base/shown.h"

#include "layers/convolution.h"
#include "layers/deconvolution.h"
#include "layers/embedding_norm.h"
#include "layers/fill.h"
#include "layers/gather.h"
#include "layers/layer_table.h"
#include "layers/matrix_multiply.h"
#include "layers/quantized_convolution.h"
#include "layers/quantized_matrix_multiply.h"
#include "layers/sequence_lengths.h"

#include <algorithm>
#include <cmath>

namespace tenon::inspect
{

namespace
{
Result<Done> checkOutput(TensorType const& made, TensorArg const& given, SymbolTable const& symbols, size_t position)
{
    bool fits = made.shape.size() == given.extents.size();
    for (size_t k = 0; fits && k < given.extents.size(); ++k)
    {
        ShapeExpr const& extent = made.shape[k];
        fits = extent.isConstant() ? *extent.constant() == given.extents[k]
                                   : given.extents[k] <= extent.range(symbols).max;
    }
    if (!fits)
        return badArgument("output {} has extents {}, but the layer makes {}", position, tenon::show(given.extents),
            tenon::show(made.shape));
    return Done{};
}

//! A plan may lie: the layer's rules accept the operands and make what the step made, before its loops trust them.
Result<Done> checkOperands(Layer const& layer, HostTensors const& in, ObservedStep const& step)
{
    constexpr int64_t kMaxReals{256}; // Scales and the like; larger ones are data.
    std::vector<TensorType> types(in.size());
    std::vector<std::shared_ptr<Constant const>> constants(in.size());
    std::vector<Input> views(in.size());
    for (size_t i = 0; i < in.size(); ++i)
    {
        if (in[i] == nullptr)
            continue;
        types[i] = {in[i]->dtype, shapeOf(in[i]->extents)};
        if (!in[i]->isReal() || in[i]->count() <= kMaxReals)
            constants[i] = in[i]->toConstant();
        views[i] = {&types[i], nullptr, constants[i].get(), "?"};
    }
    SymbolTable symbols;
    std::vector<TensorType> const made = TENON_TRY(layer.infer(Inputs{std::move(views), step.step->name, &symbols, 0}));
    if (made.size() != step.outputs.size())
        return badArgument("the step gives {} outputs where the layer makes {}", step.outputs.size(), made.size());
    for (size_t i = 0; i < made.size(); ++i)
        TENON_TRY(checkOutput(made[i], step.outputs[i], symbols, i));
    return Done{};
}
} // namespace

namespace
{
HostTensor linearOnHost(TensorArg const& arg, void const* data)
{
    if (arg.layout == Layout::kLinear || arg.extents.size() < 3)
        return HostTensor::fromBytes(arg.dtype, arg.extents, data);
    int64_t const batch = arg.extents[0];
    int64_t const channels = arg.extents[1];
    int64_t const spatial = volumeOf({arg.extents.begin() + 2, arg.extents.end()});
    int64_t const elements = arg.bytes() / std::max<int64_t>(bytesOf(arg.dtype, 1), 1);
    HostTensor const stored = HostTensor::fromBytes(arg.dtype, {elements}, data);
    HostTensor linear{arg.dtype, arg.extents};
    ElementOrder const order = elementOrder(arg.layout, channels, spatial);
    for (int64_t n = 0; n < batch; ++n)
        for (int64_t c = 0; c < channels; ++c)
            for (int64_t s = 0; s < spatial; ++s)
            {
                int64_t const from = order.offset(n, c, s);
                int64_t const to = (n * channels + c) * spatial + s;
                if (linear.isReal())
                    linear.reals[static_cast<size_t>(to)] = stored.reals[static_cast<size_t>(from)];
                else
                    linear.integers[static_cast<size_t>(to)] = stored.integers[static_cast<size_t>(from)];
            }
    return linear;
}
} // namespace

Result<HostTensor> linearTensor(Device& device, TensorArg const& arg, void const* data)
{
    if (device.usesHostMemory() || arg.place == Place::kHost)
        return linearOnHost(arg, data);
    auto const bytes = static_cast<size_t>(std::max<int64_t>(arg.bytes(), 0));
    std::vector<uint8_t> copy(std::max<size_t>(bytes, 1));
    TENON_TRY(device.copyToHost(copy.data(), data, bytes, kApartStream));
    return linearOnHost(arg, copy.data());
}

std::string StepReference::layerOf(ObservedStep const& step) const
{
    if (isCopy(step))
        return step.step->name;
    std::string names;
    for (std::string const& origin : mPlan.graph.nodes.at(static_cast<size_t>(step.step->graphNode)).origins)
        names += (names.empty() ? "" : " + ") + origin;
    return names;
}

Result<HostTensor> StepReference::weight(int32_t index)
{
    auto const known = mWeights.find(index);
    if (known != mWeights.end())
        return known->second;
    PlanWeight const& stored = mStored.at(static_cast<size_t>(index));
    if (stored.isStripped())
        return badConfig("weight '{}' was left out of the plan: refit the engine first", stored.name);
    HostTensor host;
    if (stored.packing.empty())
        host = HostTensor::fromBytes(stored.dtype, stored.extents, stored.data);
    else
        host = HostTensor::fromConstant(
            *TENON_TRY(mBackend.unpack(stored.packing, stored.dtype, stored.extents, stored.data, stored.bytes)));
    return mWeights.emplace(index, std::move(host)).first->second;
}

Result<std::optional<HostTensor>> StepReference::operand(
    PlanNode const& node, ObservedStep const& step, size_t i, bool flat)
{
    int32_t const value = node.inputs[i];
    if (value < 0)
        return std::optional<HostTensor>{};
    int32_t const weightIndex = mPlan.graph.values.at(static_cast<size_t>(value)).weight;
    if (weightIndex >= 0)
        return std::optional{TENON_TRY(weight(weightIndex))};
    bool const reaches = i < step.inputs.size() && (step.inputs[i].present || !step.inputs[i].extents.empty());
    if (!reaches)
        return badArgument("operand {} of the layer does not reach the step", i);
    TensorArg const& arg = step.inputs[i];
    if (step.inputData[i] != nullptr)
        return std::optional{TENON_TRY(linearTensor(mDevice, arg, step.inputData[i]))};
    // Not read as data: the extents are the values of a shape tensor.
    auto const count = static_cast<int64_t>(arg.extents.size());
    HostTensor host{arg.dtype, flat ? std::vector<int64_t>{count} : std::vector<int64_t>{}};
    for (int64_t k = 0; k < host.count(); ++k)
        host.setInteger(k, arg.extents[static_cast<size_t>(k)]);
    return std::optional{std::move(host)};
}

Result<std::vector<HostTensor>> StepReference::copied(ObservedStep const& step)
{
    if (step.inputs.size() != 1 || step.outputs.size() != 1)
        return badArgument("a copy has {} inputs and {} outputs", step.inputs.size(), step.outputs.size());
    TensorArg const& from = step.inputs[0];
    std::vector<HostTensor> result;
    if (step.inputData[0] != nullptr)
        result.push_back(TENON_TRY(linearTensor(mDevice, from, step.inputData[0])));
    else // The extents are the values of a shape tensor.
    {
        HostTensor& values = result.emplace_back(step.outputs[0].dtype, step.outputs[0].extents);
        if (values.count() != static_cast<int64_t>(from.extents.size()))
            return badArgument("{} values for {} elements", from.extents.size(), values.count());
        for (int64_t i = 0; i < values.count(); ++i)
            values.setInteger(i, from.extents[static_cast<size_t>(i)]);
    }
    return result;
}

bool StepReference::isRandom(ObservedStep const& step) const
{
    if (isCopy(step))
        return false;
    PlanNode const& node = mPlan.graph.nodes.at(static_cast<size_t>(step.step->graphNode));
    if (node.layer != Fill::kName)
        return false;
    Result<LayerPtr> const layer = loadLayer(node.layer, node.fields);
    return layer && as<Fill>(**layer)->isRandom();
}

Result<std::vector<HostTensor>> StepReference::evaluate(ObservedStep const& step)
{
    if (isCopy(step) && step.outputs.empty()) // It tells a value.
        return std::vector<HostTensor>{};
    if (isCopy(step))
        return copied(step);
    PlanNode const& node = mPlan.graph.nodes.at(static_cast<size_t>(step.step->graphNode));
    LayerPtr const layer = TENON_TRY(loadLayer(node.layer, node.fields));
    return evaluate(step, *layer, false);
}

namespace
{
//! The same sums for magnitudes: what is not linear becomes its steepest line.
template <typename L>
LayerPtr forMagnitudes(Layer const& layer)
{
    L const* fields = as<L>(layer);
    if (fields == nullptr)
        return nullptr;
    L changed = *fields;
    for (EpilogueStep& step : changed.epilogue.steps)
        if (step.kind != EpilogueKind::kAdd && step.kind != EpilogueKind::kMultiply)
            step = {EpilogueKind::kLinear, Epilogue::steepness(step),
                step.kind == EpilogueKind::kLinear ? std::abs(step.beta) : 0.0F};
    if constexpr (requires { changed.alpha; })
        changed.alpha = std::abs(changed.alpha);
    return makeLayer(std::move(changed));
}
} // namespace

std::optional<HostTensor> StepReference::magnitudes(ObservedStep const& step)
{
    if (isCopy(step))
        return std::nullopt;
    PlanNode const& node = mPlan.graph.nodes.at(static_cast<size_t>(step.step->graphNode));
    Result<LayerPtr> const layer = loadLayer(node.layer, node.fields);
    if (!layer)
        return std::nullopt;
    for (auto const& change :
        {&forMagnitudes<Convolution>, &forMagnitudes<Deconvolution>, &forMagnitudes<MatrixMultiply>})
        if (LayerPtr const changed = change(**layer))
        {
            Result<std::vector<HostTensor>> sums = evaluate(step, *changed, true);
            return sums ? std::optional{std::move((*sums).front())} : std::nullopt;
        }
    return std::nullopt;
}

namespace
{
double stepOfProduct(Epilogue const& epilogue, float outputScale)
{
    double step{0.0};
    for (EpilogueStep const& each : epilogue.steps)
        if (each.kind == EpilogueKind::kRound)
            step += static_cast<double>(each.alpha); // What comes in a step later may be rounded to one more.
        else
            step *= static_cast<double>(Epilogue::steepness(each));
    return outputScale > 0.0F ? std::ceil(step / static_cast<double>(outputScale)) + 1.0 : step;
}
} // namespace

double StepReference::roundingStep(ObservedStep const& step) const
{
    if (isCopy(step))
        return 0.0;
    PlanNode const& node = mPlan.graph.nodes.at(static_cast<size_t>(step.step->graphNode));
    if (node.layer != QuantizedConvolution::kName && node.layer != QuantizedMatrixMultiply::kName)
        return 0.0;
    Result<LayerPtr> const layer = loadLayer(node.layer, node.fields);
    if (!layer)
        return 0.0;
    if (auto const* conv = as<QuantizedConvolution>(**layer))
        return stepOfProduct(conv->product.epilogue, conv->outputScale);
    auto const* const product = as<QuantizedMatrixMultiply>(**layer);
    return stepOfProduct(product->product.epilogue, product->outputScale);
}

std::string ValueOutOfRange::show() const
{
    return fmt::format("[layer '{}', tensor '{}'] the {} {} at position {} is out of range: {}", shownName(layer),
        shownName(tensor), what, value, position, why);
}

std::optional<std::vector<int64_t>> StepReference::extentsOf(
    PlanNode const& node, ObservedStep const& step, size_t i) const
{
    if (i >= node.inputs.size() || node.inputs[i] < 0)
        return std::nullopt;
    int32_t const weight = mPlan.graph.values.at(static_cast<size_t>(node.inputs[i])).weight;
    if (weight >= 0)
        return mPlan.weights.at(static_cast<size_t>(weight)).extents;
    return i < step.inputs.size() ? std::optional{step.inputs[i].extents} : std::nullopt;
}

std::optional<ValueOutOfRange> StepReference::valueOutOfRange(ObservedStep const& step)
{
    if (isCopy(step))
        return std::nullopt;
    PlanNode const& node = mPlan.graph.nodes.at(static_cast<size_t>(step.step->graphNode));
    Result<LayerPtr> const layer = loadLayer(node.layer, node.fields);
    if (!layer) // What is wrong with the plan shows where the step is evaluated.
        return std::nullopt;
    if (Gather const* const gather = as<Gather>(**layer))
        return indexOutOfRange(node, step, *gather, 0);
    if (as<EmbeddingNorm>(**layer) != nullptr)
    {
        for (int32_t term = 0; term < EmbeddingNorm::terms(static_cast<int32_t>(node.inputs.size())); ++term)
            if (auto found = indexOutOfRange(node, step, Gather{}, static_cast<size_t>(EmbeddingNorm::tableOf(term))))
                return found;
        return std::nullopt;
    }
    return lengthOutOfRange(node, step, **layer);
}

std::optional<ValueOutOfRange> StepReference::indexOutOfRange(
    PlanNode const& node, ObservedStep const& step, Gather const& gather, size_t first)
{
    size_t const at = first + 1;
    std::optional<std::vector<int64_t>> const data = extentsOf(node, step, first);
    if (!data || !extentsOf(node, step, at))
        return std::nullopt;
    Result<std::optional<HostTensor>> const indices = operand(node, step, at, true);
    if (!indices || !*indices)
        return std::nullopt;
    std::optional<Gather::Outside> const outside = gather.firstOutside(*data, **indices);
    if (!outside)
        return std::nullopt;
    return ValueOutOfRange{step.index, layerOf(step), mPlan.graph.values.at(static_cast<size_t>(node.inputs[at])).name,
        outside->position, outside->value, outside->extent, "index",
        fmt::format("the axis has extent {}, and the API gives 0 for it", outside->extent)};
}

std::optional<ValueOutOfRange> StepReference::lengthOutOfRange(
    PlanNode const& node, ObservedStep const& step, Layer const& layer)
{
    for (SequenceLengths const& each : sequenceLengthsOf(layer))
    {
        auto const at = static_cast<size_t>(each.operand);
        std::optional<std::vector<int64_t>> const rows = extentsOf(node, step, static_cast<size_t>(each.rows));
        if (!rows || !extentsOf(node, step, at))
            continue;
        auto const axis =
            static_cast<size_t>(each.axis < 0 ? each.axis + static_cast<int32_t>(rows->size()) : each.axis);
        Result<std::optional<HostTensor>> const values = operand(node, step, at, true);
        if (axis >= rows->size() || !values || !*values)
            continue;
        int64_t const count = (*rows)[axis];
        std::optional<int64_t> const position = each.firstOutside(**values, count);
        if (!position)
            continue;
        std::string const why = each.areStarts
            ? fmt::format("there are {} rows, and no sequence begins before the one in front of it; what lies outside "
                          "counts as the nearest end of the rows, and a sequence that ends before it begins as empty",
                count)
            : fmt::format("a sequence has 0 to {} rows; it counts as the nearest of these", count);
        return ValueOutOfRange{step.index, layerOf(step),
            mPlan.graph.values.at(static_cast<size_t>(node.inputs[at])).name, *position, (*values)->integer(*position),
            count, each.areStarts ? "sequence start" : "sequence length", why};
    }
    return std::nullopt;
}

Result<std::vector<HostTensor>> StepReference::evaluate(ObservedStep const& step, Layer const& layer, bool magnitudes)
{
    PlanNode const& node = mPlan.graph.nodes.at(static_cast<size_t>(step.step->graphNode));
    std::optional<Error> first;
    for (bool const flat : {true, false}) // Values of one element may be of rank 1 or 0: the layer knows.
    {
        std::vector<std::optional<HostTensor>> held;
        for (size_t i = 0; i < node.inputs.size(); ++i)
            held.push_back(TENON_TRY(operand(node, step, i, flat)));
        HostTensors inputs;
        for (auto const& each : held)
            inputs.push_back(each ? &*each : nullptr);
        for (auto& each : held)
            if (magnitudes && each)
                for (double& real : each->reals)
                    real = std::abs(real);
        Result<Done> const fits = checkOperands(layer, inputs, step);
        Result<std::vector<HostTensor>> result =
            fits ? layer.reference(inputs) : Result<std::vector<HostTensor>>{fits.error()};
        if (result)
            return result;
        if (!first)
            first = std::move(result).error();
    }
    return *std::move(first);
}

} // namespace tenon::inspect
