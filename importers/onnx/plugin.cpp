// Nodes that stand for custom layers: attributes become the fields that the creator names.
#include "plugin.h"

#include "own_calls.h"

#include "impl/NvInferPythonPlugin.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>

namespace tenon::onnx
{
namespace
{

using namespace nvinfer1;
using ::onnx::AttributeProto;

constexpr char const* kVersion{"plugin_version"};
constexpr char const* kNamespace{"plugin_namespace"};
constexpr char const* kShapeInputs{"tensorrt_plugin_shape_input_indices"};

AttributeProto const* attributeOf(::onnx::NodeProto const& proto, std::string_view name)
{
    for (AttributeProto const& attribute : proto.attribute())
    {
        if (attribute.name() == name)
        {
            return &attribute;
        }
    }
    return nullptr;
}

[[noreturn]] void refuseAttribute(AttributeProto const& attribute, std::string const& why)
{
    fail(ErrorCode::kUNSUPPORTED_NODE_ATTR, fmt::format("attribute '{}' {}", attribute.name(), why));
}

//! The type, which old exporters leave out: what is there says it then.
AttributeProto::AttributeType kindOf(AttributeProto const& attribute)
{
    if (attribute.type() != AttributeProto::UNDEFINED)
    {
        return attribute.type();
    }
    return attribute.has_t()            ? AttributeProto::TENSOR
        : attribute.has_s()             ? AttributeProto::STRING
        : attribute.has_i()             ? AttributeProto::INT
        : attribute.has_f()             ? AttributeProto::FLOAT
        : attribute.ints_size() != 0    ? AttributeProto::INTS
        : attribute.floats_size() != 0  ? AttributeProto::FLOATS
        : attribute.strings_size() != 0 ? AttributeProto::STRINGS
                                        : AttributeProto::UNDEFINED;
}

std::string textOr(::onnx::NodeProto const& proto, std::string_view name, std::string const& otherwise)
{
    AttributeProto const* const attribute = attributeOf(proto, name);
    if (attribute == nullptr)
    {
        return otherwise;
    }
    switch (kindOf(*attribute))
    {
    case AttributeProto::STRING: return attribute->s();
    case AttributeProto::INT: return std::to_string(attribute->i()); // Exporters write versions so, too.
    default: refuseAttribute(*attribute, "is neither a text nor an integer");
    }
}

//! Integers as they are; everything else as doubles, which hold what ONNX has beside them. Those of a tensor are in
//! row-major order.
using Numbers = std::variant<Integers, std::vector<double>>;

Numbers numbersOf(AttributeProto const& attribute, Model& model)
{
    switch (kindOf(attribute))
    {
    case AttributeProto::INT: return Integers{attribute.i()};
    case AttributeProto::FLOAT: return std::vector<double>{attribute.f()};
    case AttributeProto::INTS: return Integers{attribute.ints().begin(), attribute.ints().end()};
    case AttributeProto::FLOATS: return std::vector<double>{attribute.floats().begin(), attribute.floats().end()};
    case AttributeProto::TENSOR:
    {
        Constant const constant = model.tensor(attribute.t());
        if (isFloating(constant.type))
        {
            return numbersOf(constant);
        }
        return integersOf(constant);
    }
    default: refuseAttribute(attribute, "holds no numbers, which the plugin's field of that name wants");
    }
}

//! The number in the type of the field; a number that the type has not is an error. Fractions are cut off, as by Cast.
template <typename T, typename From>
T narrowedAttribute(From value, AttributeProto const& attribute)
{
    if constexpr (std::is_integral_v<T> && std::is_integral_v<From>)
    {
        if (std::in_range<T>(value))
        {
            return static_cast<T>(value);
        }
    }
    else if constexpr (std::is_integral_v<T>)
    {
        // Both are powers of two, or one less in the type itself: exact as doubles once the upper one is open.
        constexpr double kBelow{-static_cast<double>(uint64_t{1} << (sizeof(T) * 8 - 1))};
        if (std::trunc(value) >= kBelow && std::trunc(value) < -kBelow)
        {
            return static_cast<T>(value);
        }
    }
    else
    {
        return static_cast<T>(value);
    }
    refuseAttribute(attribute,
        fmt::format("has the value {}, which is not within the {} bits of the plugin's field", value, sizeof(T) * 8));
}

//! The fields of one call, and the memory behind them.
class Fields
{
  public:
    explicit Fields(Model& model)
        : mModel{&model}
    {
    }
    void add(PluginField const& declared, AttributeProto const& attribute)
    {
        std::string const& name = mNames.emplace_back(declared.name);
        switch (declared.type)
        {
        case PluginFieldType::kFLOAT32: addNumbers<float>(name, declared.type, attribute); break;
        case PluginFieldType::kFLOAT64: addNumbers<double>(name, declared.type, attribute); break;
        case PluginFieldType::kINT8: addNumbers<int8_t>(name, declared.type, attribute); break;
        case PluginFieldType::kINT16: addNumbers<int16_t>(name, declared.type, attribute); break;
        case PluginFieldType::kINT32: addNumbers<int32_t>(name, declared.type, attribute); break;
        case PluginFieldType::kINT64: addNumbers<int64_t>(name, declared.type, attribute); break;
        case PluginFieldType::kFLOAT16: addHalves(name, declared.type, DataType::kHALF, attribute); break;
        case PluginFieldType::kBF16: addHalves(name, declared.type, DataType::kBF16, attribute); break;
        case PluginFieldType::kDIMS: addDims(name, attribute); break;
        case PluginFieldType::kCHAR:
        case PluginFieldType::kUNKNOWN: addAsItIs(name, declared.type, attribute); break;
        default:
            refuseAttribute(attribute,
                fmt::format("stands for a plugin field of type {}, which no attribute can give",
                    static_cast<int32_t>(declared.type)));
        }
    }
    PluginFieldCollection collection() const
    {
        return {static_cast<int32_t>(mFields.size()), mFields.data()};
    }

  private:
    template <typename T>
    void addNumbers(std::string const& name, PluginFieldType type, AttributeProto const& attribute)
    {
        std::vector<T> values;
        auto const add = [&](auto const& numbers) {
            for (auto const number : numbers)
            {
                values.push_back(narrowedAttribute<T>(number, attribute));
            }
        };
        std::visit(add, numbersOf(attribute, *mModel));
        push(name, type, values.data(), values.size() * sizeof(T), static_cast<int32_t>(values.size()));
    }
    //! Floats of 16 bits: those of a tensor of that type as they are, other numbers rounded to the nearest.
    void addHalves(std::string const& name, PluginFieldType type, DataType kind, AttributeProto const& attribute)
    {
        Constant halves;
        if (kindOf(attribute) == AttributeProto::TENSOR)
        {
            halves = mModel->tensor(attribute.t());
        }
        if (halves.data == nullptr || halves.type != kind)
        {
            auto const rounded = [&](auto const& numbers) {
                std::vector<double> const wide(numbers.begin(), numbers.end());
                return constantOf(*mModel, wide, kind, {static_cast<int64_t>(wide.size())});
            };
            halves = std::visit(rounded, numbersOf(attribute, *mModel));
        }
        push(name, type, halves.data, static_cast<size_t>(halves.count) * 2, static_cast<int32_t>(halves.count));
    }
    void addDims(std::string const& name, AttributeProto const& attribute)
    {
        Numbers const numbers = numbersOf(attribute, *mModel);
        auto const* const extents = std::get_if<Integers>(&numbers);
        if (extents == nullptr)
        {
            refuseAttribute(attribute, "holds no integers, which the plugin's field of that name wants as extents");
        }
        if (extents->size() > static_cast<size_t>(Dims::MAX_DIMS))
        {
            refuseAttribute(attribute, fmt::format("has {} extents, at most 8 are supported", extents->size()));
        }
        Dims dims{static_cast<int32_t>(extents->size()), {}};
        std::copy(extents->begin(), extents->end(), dims.d);
        push(name, PluginFieldType::kDIMS, &dims, sizeof(dims), 1);
    }
    //! Text as characters; numbers as the attribute has them; of a tensor the bytes of its elements.
    void addAsItIs(std::string const& name, PluginFieldType type, AttributeProto const& attribute)
    {
        switch (kindOf(attribute))
        {
        case AttributeProto::STRING:
            push(name, PluginFieldType::kCHAR, attribute.s().data(), attribute.s().size(),
                static_cast<int32_t>(attribute.s().size()));
            break;
        case AttributeProto::INT:
        case AttributeProto::INTS: addNumbers<int32_t>(name, PluginFieldType::kINT32, attribute); break;
        case AttributeProto::FLOAT:
        case AttributeProto::FLOATS: addNumbers<float>(name, PluginFieldType::kFLOAT32, attribute); break;
        case AttributeProto::TENSOR:
        {
            Constant const constant = mModel->tensor(attribute.t());
            auto const bytes = static_cast<size_t>(constant.count * bytesOf(constant.type));
            push(name, type, constant.data, bytes, static_cast<int32_t>(bytes));
            break;
        }
        default: refuseAttribute(attribute, "is of a kind that plugin fields do not have");
        }
    }
    void push(std::string const& name, PluginFieldType type, void const* data, size_t bytes, int32_t length)
    {
        auto& words = mData.emplace_back(bytes / sizeof(uint64_t) + 1);
        std::copy_n(static_cast<char const*>(data), bytes, reinterpret_cast<char*>(words.data()));
        mFields.emplace_back(name.c_str(), words.data(), type, length);
    }

    Model* mModel;
    std::deque<std::string> mNames;
    std::deque<std::vector<uint64_t>> mData;
    std::vector<PluginField> mFields;
};

//! Attributes that the creator names as fields; those that the node lacks are left to the plugin.
Fields fieldsOf(Model& model, ::onnx::NodeProto const& proto, PluginFieldCollection const* declared)
{
    Fields fields{model};
    for (int32_t i = 0; declared != nullptr && i < declared->nbFields; ++i)
    {
        PluginField const& field = declared->fields[i];
        AttributeProto const* const attribute = field.name == nullptr ? nullptr : attributeOf(proto, field.name);
        if (attribute != nullptr)
        {
            fields.add(field, *attribute);
        }
    }
    return fields;
}

//! One integer is a list of one.
Integers integersOf(AttributeProto const& attribute)
{
    switch (kindOf(attribute))
    {
    case AttributeProto::INT: return {attribute.i()};
    case AttributeProto::INTS: return {attribute.ints().begin(), attribute.ints().end()};
    default: refuseAttribute(attribute, "is no list of integers");
    }
}

//! Which inputs only their values count of.
std::vector<bool> shapeInputsOf(::onnx::NodeProto const& proto, int inputs)
{
    std::vector<bool> isShape(static_cast<size_t>(inputs), false);
    if (AttributeProto const* const attribute = attributeOf(proto, kShapeInputs))
    {
        for (int64_t const index : integersOf(*attribute))
        {
            if (index < 0 || index >= inputs)
            {
                fail(ErrorCode::kINVALID_NODE,
                    fmt::format("attribute '{}' names input {}, but there are {}", kShapeInputs, index, inputs));
            }
            isShape[static_cast<size_t>(index)] = true;
        }
    }
    return isShape;
}

//! What createPlugin() gives, or an error with what the creator says.
template <typename Create>
auto created(Node& node, Create&& create)
{
    takeExplanation(); // Of something before this.
    auto* const plugin = create(node.name().c_str());
    if (plugin == nullptr)
    {
        std::string const why = takeExplanation();
        fail(ErrorCode::kINVALID_NODE,
            fmt::format("createPlugin() of the creator of plugin '{}' returned null for the attributes{}{}", node.op(),
                why.empty() ? "" : ": ", why));
    }
    return plugin;
}

ILayer* addV2(Node& node, IPluginCreator& creator, PluginFieldCollection const& fields,
    std::vector<ITensor*> const& data, bool hasShapeInputs)
{
    if (hasShapeInputs)
    {
        fail(ErrorCode::kUNSUPPORTED_NODE_INPUT,
            fmt::format("plugin '{}' is of a V2 generation, which knows no shape inputs", node.op()));
    }
    IPluginV2* const plugin = created(node, [&](char const* name) { return creator.createPlugin(name, &fields); });
    plugin->setPluginNamespace(creator.getPluginNamespace()); // Where the plan's reader finds the creator again.
    ILayer* const layer = node.api().addPluginV2(data.data(), static_cast<int32_t>(data.size()), *plugin);
    plugin->destroy();
    return layer;
}

ILayer* addV3(Node& node, IPluginCreatorV3One& creator, PluginFieldCollection const& fields,
    std::vector<ITensor*> const& data, std::vector<ITensor*> const& shape)
{
    std::unique_ptr<IPluginV3> const plugin{
        created(node, [&](char const* name) { return creator.createPlugin(name, &fields, TensorRTPhase::kBUILD); })};
    return node.api().addPluginV3(
        data.data(), static_cast<int32_t>(data.size()), shape.data(), static_cast<int32_t>(shape.size()), *plugin);
}

//! Which form of a decorated Python plugin the network wants (N7).
QuickPluginCreationRequest requestOf(INetworkDefinition const& network)
{
    bool const jit = network.getFlag(NetworkDefinitionCreationFlag::kPREFER_JIT_PYTHON_PLUGINS);
    bool const aot = network.getFlag(NetworkDefinitionCreationFlag::kPREFER_AOT_PYTHON_PLUGINS);
    return jit == aot ? QuickPluginCreationRequest::kUNKNOWN
        : aot         ? QuickPluginCreationRequest::kPREFER_AOT
                      : QuickPluginCreationRequest::kPREFER_JIT;
}

ILayer* addQuick(Node& node, IPluginCreatorV3Quick& creator, PluginFieldCollection const& fields,
    std::vector<ITensor*> const& data, std::vector<ITensor*> const& shape)
{
    // Creators of this generation are told the plugin's name: one may make many.
    std::unique_ptr<IPluginV3> const plugin{created(node, [&](char const*) {
        return creator.createPlugin(creator.getPluginName(), creator.getPluginNamespace(), &fields,
            TensorRTPhase::kBUILD, requestOf(node.api()));
    })};
    return node.api().addPluginV3(
        data.data(), static_cast<int32_t>(data.size()), shape.data(), static_cast<int32_t>(shape.size()), *plugin);
}

template <typename Creator>
std::string nameAs(IPluginCreatorInterface& creator)
{
    char const* const name = static_cast<Creator&>(creator).getPluginName();
    return name == nullptr ? "" : name;
}

} // namespace

IPluginCreatorInterface* creatorFor(Network& network, ::onnx::NodeProto const& proto)
{
    IPluginRegistry& registry = network.api.getBuilder().getPluginRegistry();
    std::string const version = textOr(proto, kVersion, "1");
    if (attributeOf(proto, kNamespace) != nullptr)
    {
        std::string const nameSpace = textOr(proto, kNamespace, "");
        return registry.getCreator(proto.op_type().c_str(), version.c_str(), nameSpace.c_str());
    }
    IPluginCreatorInterface* const plain = registry.getCreator(proto.op_type().c_str(), version.c_str(), "");
    return plain != nullptr ? plain
                            : registry.getCreator(proto.op_type().c_str(), version.c_str(), proto.domain().c_str());
}

std::string missingCreator(Network& network, ::onnx::NodeProto const& proto)
{
    std::string const version = textOr(proto, kVersion, "1");
    std::string const nameSpace = textOr(proto, kNamespace, "");
    bool const isDomainTried = attributeOf(proto, kNamespace) == nullptr && !proto.domain().empty();
    std::string const why =
        missingPlugin(network.api.getBuilder().getPluginRegistry(), proto.op_type(), version, nameSpace);
    return fmt::format("no plugin of version '{}' and namespace '{}'{} stands for it{}{}", version, nameSpace,
        isDomainTried ? fmt::format(" or '{}'", proto.domain()) : "", why.empty() ? "" : ": ", why);
}

bool isCreatorOf(IPluginCreatorInterface& creator, std::string_view type)
{
    std::string_view const kind{creator.getInterfaceInfo().kind};
    return (kind == "PLUGIN CREATOR_V1" && nameAs<IPluginCreator>(creator) == type)
        || (kind == "PLUGIN CREATOR_V3QUICK" && nameAs<IPluginCreatorV3Quick>(creator) == type)
        || (kind == "PLUGIN CREATOR_V3ONE" && nameAs<IPluginCreatorV3One>(creator) == type);
}

bool overridesOperator(Network const& network, ::onnx::NodeProto const& proto)
{
    return network.pluginsOverride || attributeOf(proto, kNamespace) != nullptr;
}

Outputs importPlugin(Node& node, ::onnx::NodeProto const& proto, IPluginCreatorInterface& creator)
{
    std::vector<bool> const isShape = shapeInputsOf(proto, node.nbInputs());
    std::vector<ITensor*> data;
    std::vector<ITensor*> shape;
    for (int i = 0; i < node.nbInputs(); ++i)
    {
        (isShape[static_cast<size_t>(i)] ? shape : data).push_back(&node.tensor(node.in(i)));
    }
    std::string_view const kind{creator.getInterfaceInfo().kind};
    ILayer* layer{nullptr};
    if (kind == "PLUGIN CREATOR_V1")
    {
        auto& older = static_cast<IPluginCreator&>(creator);
        Fields const fields = fieldsOf(node.network().model, proto, older.getFieldNames());
        layer = addV2(node, older, fields.collection(), data, !shape.empty());
    }
    else if (kind == "PLUGIN CREATOR_V3ONE")
    {
        auto& newer = static_cast<IPluginCreatorV3One&>(creator);
        Fields const fields = fieldsOf(node.network().model, proto, newer.getFieldNames());
        layer = addV3(node, newer, fields.collection(), data, shape);
    }
    else if (kind == "PLUGIN CREATOR_V3QUICK")
    {
        auto& quick = static_cast<IPluginCreatorV3Quick&>(creator);
        Fields const fields = fieldsOf(node.network().model, proto, quick.getFieldNames());
        layer = addQuick(node, quick, fields.collection(), data, shape);
    }
    else
    {
        fail(ErrorCode::kUNSUPPORTED_NODE, fmt::format("the creator of plugin '{}' is of kind '{}'", node.op(), kind));
    }
    Outputs outputs;
    node.added(layer);
    for (int32_t i = 0; i < layer->getNbOutputs(); ++i)
    {
        outputs.emplace_back(layer->getOutput(i));
    }
    return outputs;
}

} // namespace tenon::onnx
