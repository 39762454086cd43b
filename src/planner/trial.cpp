// Trials: keys, operands and kernels of offers.
#include "planner/trial.h"

#include "backend/reference_offer.h"

namespace tenon::planner
{

namespace
{
//! Goes up where the number of a tactic comes to mean another kernel: times of before are those of other kernels.
constexpr int64_t kTacticsVersion{2};
} // namespace

void KeyWriter::add(std::string_view text)
{
    mKey += text;
    mKey += '\0';
}

void KeyWriter::add(int64_t number)
{
    mKey += std::to_string(number);
    mKey += ' ';
}

void KeyWriter::add(DType dtype, Layout layout, std::vector<int64_t> const& extents)
{
    add(static_cast<int64_t>(dtype));
    add(static_cast<int64_t>(layout));
    add(static_cast<int64_t>(extents.size()));
    for (int64_t const extent : extents)
        add(extent);
}

Trials::Trials(TimingRequest const& request)
    : mRequest{request},
      mGraph{request.kernels.graph}
{
    for (int32_t id = 0; id < mGraph.symbols().size(); ++id)
        if (Symbol const& symbol = mGraph.symbols().at(id); symbol.kind == SymbolKind::kData)
            mDataDependent.insert(symbol.source);
}

bool Trials::isDataDependent(Node const& node) const
{
    return !node.outputs.empty() && mDataDependent.contains(node.outputs.front());
}

std::string Trials::keyOf(Node const& node, Offer const& offer) const
{
    KeyWriter key;
    key.add(kTacticsVersion);
    key.add(node.layer->name());
    Bytes const fields = node.layer->stored();
    key.add({reinterpret_cast<char const*>(fields.data()), fields.size()});
    key.add(offer.candidate);
    key.add(offer.tactic);
    for (size_t i = 0; i < node.inputs.size(); ++i)
    {
        TensorArg const arg = inputArg(node, offer, i);
        key.add(arg.present ? 1 : 0);
        key.add(mGraph.constantOf(node.inputs[i]) != nullptr ? 1 : 0);
        key.add(arg.dtype, arg.layout, arg.extents);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i)
    {
        TensorArg const arg = outputArg(node, offer, i);
        key.add(arg.dtype, arg.layout, arg.extents);
    }
    return key.take();
}

TensorArg Trials::tensorArg(ValueId value, Layout layout, Place place) const
{
    TensorType const& type = mGraph.typeOf(value);
    TensorArg arg{type.dtype, layout, {}, true, mGraph.value(value).name, place};
    for (ShapeExpr const& extent : type.shape)
        arg.extents.push_back(extent.evaluate(mRequest.kernels.typical));
    return arg;
}

TensorArg Trials::inputArg(Node const& node, Offer const& offer, size_t input) const
{
    ValueId const value = node.inputs[input];
    TensorArg const absent{DType::kFLOAT, Layout::kLinear, {}, false};
    if (value == kNone)
        return absent;
    bool const isConstant = mGraph.constantOf(value) != nullptr;
    if (!offer.isUnread(input))
        return tensorArg(value, isConstant ? Layout::kLinear : offer.inputs[input], offer.place);
    std::optional<Shape> const contents = knownContents(mGraph.value(value));
    if (!contents || hasReal(*contents))
        return absent;
    TensorArg values{mGraph.typeOf(value).dtype, Layout::kLinear, {}, false, mGraph.value(value).name};
    for (ShapeExpr const& each : *contents)
        values.extents.push_back(each.evaluate(mRequest.kernels.typical));
    return values;
}

TensorArg Trials::outputArg(Node const& node, Offer const& offer, size_t output) const
{
    return tensorArg(node.outputs[output], offer.outputs[output], offer.place);
}

WeightArg Trials::weightArg(Node const& node, KernelSpec const& spec, size_t input) const
{
    Constant const* const constant = mGraph.constantOf(node.inputs[input]);
    if (constant == nullptr)
        return {};
    for (PackedWeight const& packed : spec.packed)
        if (packed.input == static_cast<int32_t>(input))
            return {packed.data->data, packed.bytes, constant->dtype, constant->extents, packed.packing};
    return {constant->data, static_cast<size_t>(constant->bytes()), constant->dtype, constant->extents, {}};
}

Result<std::unique_ptr<LoadedTrial>> Trials::load(Node const& node, Offer const& offer, KernelSpec spec) const
{
    auto made = std::make_unique<LoadedTrial>();
    made->spec = std::move(spec);
    made->fields = node.layer->stored();
    KernelSource& source = made->source;
    source = {.kernel = made->spec.kernel,
        .args = made->spec.args,
        .weights = {},
        .outputs = node.outputs.size(),
        .layer = node.name,
        .fields = made->fields,
        .place = offer.place};
    if (MadeCode const* const code = std::get_if<MadeCode>(&made->spec.code); code != nullptr)
    {
        made->made = {code->name, code->form, code->target, *code->bytes};
        source.code = &made->made;
    }
    for (size_t i = 0; i < node.inputs.size(); ++i)
    {
        made->inputs.push_back(inputArg(node, offer, i));
        source.weights.push_back(weightArg(node, made->spec, i));
    }
    for (size_t i = 0; i < node.outputs.size(); ++i)
        made->outputs.push_back(outputArg(node, offer, i));
    made->kernel = TENON_TRY(mRequest.device.load(source));
    made->prepared = TENON_TRY(made->kernel->prepare(made->inputs, made->outputs, mRequest.hostThreads));
    return made;
}

bool isTried(Offer const& offer) noexcept
{
    return !offer.isView && !isReference(offer);
}

Result<Done> stillThere(Device& device)
{
    void* const stream = TENON_TRY(device.createStream());
    device.destroyStream(stream);
    return Done{};
}

} // namespace tenon::planner
