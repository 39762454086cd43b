// The faces of stock plugins: IPluginV2DynamicExt and IPluginV3 over a Body, and their creators.
#include "plugins/builtin/stock.h"

#include "base/half.h"
#include "plugins/builtin/setting.h"
#include "plugins/failure.h"
#include "plugins/field_bytes.h"

#include <algorithm>
#include <limits>

namespace tenon::plugins::builtin
{

using namespace nvinfer1;

namespace
{
//! The nearest number that T can hold; 0 for a NaN where T has none.
template <typename T, typename From>
T nearest(From value) noexcept
{
    if constexpr (std::is_floating_point_v<T>)
        return static_cast<T>(value);
    else
    {
        if (value != value)
            return T{0};
        // Both limits of T are numbers of every wider type; those of int32_t are not floats, hence double.
        using Wide = std::conditional_t<std::is_floating_point_v<From>, double, int64_t>;
        auto const wide = static_cast<Wide>(value);
        if (wide <= static_cast<Wide>(std::numeric_limits<T>::min()))
            return std::numeric_limits<T>::min();
        if (wide >= static_cast<Wide>(std::numeric_limits<T>::max()))
            return std::numeric_limits<T>::max();
        return static_cast<T>(wide);
    }
}

template <typename From, typename T>
std::vector<T> converted(void const* data, int32_t count)
{
    auto const* const first = static_cast<From const*>(data);
    std::vector<T> values(static_cast<size_t>(count));
    std::transform(first, first + count, values.begin(), [](From value) { return nearest<T>(value); });
    return values;
}

//! Of 16-bit floats.
template <typename T>
std::vector<T> widened(void const* data, int32_t count, float (*toFloat)(uint16_t) noexcept)
{
    auto const* const first = static_cast<uint16_t const*>(data);
    std::vector<T> values(static_cast<size_t>(count));
    std::transform(first, first + count, values.begin(), [&](uint16_t bits) { return nearest<T>(toFloat(bits)); });
    return values;
}

bool isLinear(PluginTensorDesc const& desc) noexcept
{
    return desc.format == TensorFormat::kLINEAR;
}

//! The V2 face.
class Dynamic final : public IPluginV2DynamicExt
{
  public:
    Dynamic(StockPlugin const& kind, BodyPtr body, std::string nameSpace)
        : mKind{kind},
          mBody{std::move(body)},
          mNameSpace{std::move(nameSpace)}
    {
    }

    AsciiChar const* getPluginType() const noexcept override
    {
        return mKind.name;
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return mKind.version;
    }
    int32_t getNbOutputs() const noexcept override
    {
        return mBody->outputs();
    }
    int32_t initialize() noexcept override
    {
        return mSetting.refusal(); // A build fails where no extent is left to the run.
    }
    void terminate() noexcept override {}
    size_t getSerializationSize() const noexcept override
    {
        return stored().size();
    }
    void serialize(void* buffer) const noexcept override
    {
        Bytes const bytes = stored();
        std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t*>(buffer));
    }
    void destroy() noexcept override
    {
        delete this;
    }
    Dynamic* clone() const noexcept override
    {
        return new Dynamic{*this}; // As configured as this one (K10).
    }
    void setPluginNamespace(AsciiChar const* nameSpace) noexcept override
    {
        mNameSpace = nameSpace == nullptr ? "" : nameSpace;
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return mNameSpace.c_str();
    }
    DataType getOutputDataType(int32_t index, DataType const* types, int32_t count) const noexcept override
    {
        return mBody->outputType(index, {types, static_cast<size_t>(count)});
    }
    DimsExprs getOutputDimensions(
        int32_t index, DimsExprs const* inputs, int32_t count, IExprBuilder& builder) noexcept override
    {
        if (!mBody->takes(count))
            return {-1, {}};
        return mBody->outputDims(index, {inputs, static_cast<size_t>(count)}, builder);
    }
    bool supportsFormatCombination(
        int32_t pos, PluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) noexcept override
    {
        return isLinear(inOut[pos]) && mBody->acceptsType(pos, {inOut, static_cast<size_t>(nbInputs + nbOutputs)});
    }
    void configurePlugin(DynamicPluginTensorDesc const* in, int32_t nbInputs, DynamicPluginTensorDesc const* out,
        int32_t nbOutputs) noexcept override
    {
        mSetting.set(*mBody, in, nbInputs, out, nbOutputs);
    }
    size_t getWorkspaceSize(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) const noexcept override
    {
        return 0; // The setting has its own.
    }
    int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const* inputs, void* const* outputs,
        void*, cudaStream_t) noexcept override
    {
        return mSetting.run(*mBody, inputs, outputs);
    }

  private:
    Bytes stored() const
    {
        std::vector<PluginField> const fields = mBody->fields();
        auto bytes = encodeFields({static_cast<int32_t>(fields.size()), fields.data()});
        return bytes ? *std::move(bytes) : Bytes{};
    }

    StockPlugin const& mKind;
    BodyPtr mBody;
    std::string mNameSpace;
    Setting mSetting;
};

//! The V3 face.
class Newer final : public IPluginV3, public IPluginV3OneCore, public IPluginV3OneBuild, public IPluginV3OneRuntime
{
  public:
    Newer(StockPlugin const& kind, BodyPtr body, std::string nameSpace)
        : mKind{kind},
          mBody{std::move(body)},
          mNameSpace{std::move(nameSpace)}
    {
    }

    IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override
    {
        switch (type)
        {
        case PluginCapabilityType::kCORE: return static_cast<IPluginV3OneCore*>(this);
        case PluginCapabilityType::kBUILD: return static_cast<IPluginV3OneBuild*>(this);
        case PluginCapabilityType::kRUNTIME: return static_cast<IPluginV3OneRuntime*>(this);
        }
        return nullptr;
    }
    IPluginV3* clone() noexcept override
    {
        return new Newer{*this};
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return mKind.name;
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return mKind.version;
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return mNameSpace.c_str();
    }
    int32_t configurePlugin(
        DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*, int32_t) noexcept override
    {
        return 0;
    }
    int32_t getOutputDataTypes(
        DataType* outputTypes, int32_t nbOutputs, DataType const* types, int32_t count) const noexcept override
    {
        for (int32_t i = 0; i < nbOutputs; ++i)
            outputTypes[i] = mBody->outputType(i, {types, static_cast<size_t>(count)});
        return 0;
    }
    int32_t getOutputShapes(DimsExprs const* inputs, int32_t nbInputs, DimsExprs const*, int32_t nbShapeInputs,
        DimsExprs* outputs, int32_t nbOutputs, IExprBuilder& builder) noexcept override
    {
        if (!mBody->takes(nbInputs) || nbShapeInputs != 0)
            return 1;
        for (int32_t i = 0; i < nbOutputs; ++i)
            outputs[i] = mBody->outputDims(i, {inputs, static_cast<size_t>(nbInputs)}, builder);
        return 0;
    }
    bool supportsFormatCombination(
        int32_t pos, DynamicPluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) noexcept override
    {
        std::vector<PluginTensorDesc> descs;
        for (int32_t i = 0; i < nbInputs + nbOutputs; ++i)
            descs.push_back(inOut[i].desc);
        return isLinear(descs[static_cast<size_t>(pos)]) && mBody->acceptsType(pos, descs);
    }
    int32_t getNbOutputs() const noexcept override
    {
        return mBody->outputs();
    }
    size_t getWorkspaceSize(
        DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*, int32_t) const noexcept override
    {
        return 0; // The setting has its own.
    }
    int32_t onShapeChange(
        PluginTensorDesc const* in, int32_t nbInputs, PluginTensorDesc const* out, int32_t nbOutputs) noexcept override
    {
        mSetting.set(*mBody, in, nbInputs, out, nbOutputs);
        return mSetting.refusal();
    }
    int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const* inputs, void* const* outputs,
        void*, cudaStream_t) noexcept override
    {
        return mSetting.run(*mBody, inputs, outputs);
    }
    IPluginV3* attachToContext(IPluginResourceContext*) noexcept override
    {
        return clone();
    }
    PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        mFields = mBody->fields();
        mCollection = {static_cast<int32_t>(mFields.size()), mFields.data()};
        return &mCollection;
    }

  private:
    StockPlugin const& mKind;
    BodyPtr mBody;
    std::string mNameSpace;
    Setting mSetting;
    std::vector<PluginField> mFields;
    PluginFieldCollection mCollection{};
};

class OlderCreator final : public IPluginCreator
{
  public:
    OlderCreator(StockPlugin const& kind, std::string nameSpace)
        : mKind{kind},
          mNameSpace{std::move(nameSpace)},
          mNames{static_cast<int32_t>(kind.fields.size()), kind.fields.data()}
    {
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return mKind.name;
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return mKind.version;
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mNames;
    }
    IPluginV2* createPlugin(AsciiChar const*, PluginFieldCollection const* fields) noexcept override
    {
        BodyPtr body = mKind.make(FieldReader{fields});
        return body == nullptr ? nullptr : new Dynamic{mKind, std::move(body), mNameSpace};
    }
    IPluginV2* deserializePlugin(AsciiChar const* name, void const* data, size_t length) noexcept override
    {
        auto const fields = DecodedFields::decode({static_cast<uint8_t const*>(data), length});
        if (!fields)
            return nullptr;
        PluginFieldCollection const collection = fields->collection();
        return createPlugin(name, &collection);
    }
    void setPluginNamespace(AsciiChar const* nameSpace) noexcept override
    {
        mNameSpace = nameSpace == nullptr ? "" : nameSpace;
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return mNameSpace.c_str();
    }

  private:
    StockPlugin const& mKind;
    std::string mNameSpace;
    PluginFieldCollection mNames;
};

class NewerCreator final : public IPluginCreatorV3One
{
  public:
    NewerCreator(StockPlugin const& kind, std::string nameSpace)
        : mKind{kind},
          mNameSpace{std::move(nameSpace)},
          mNames{static_cast<int32_t>(kind.fields.size()), kind.fields.data()}
    {
    }
    IPluginV3* createPlugin(AsciiChar const*, PluginFieldCollection const* fields, TensorRTPhase) noexcept override
    {
        BodyPtr body = mKind.make(FieldReader{fields});
        return body == nullptr ? nullptr : new Newer{mKind, std::move(body), mNameSpace};
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mNames;
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return mKind.name;
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return mKind.version;
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return mNameSpace.c_str();
    }

  private:
    StockPlugin const& mKind;
    std::string mNameSpace;
    PluginFieldCollection mNames;
};
} // namespace

int32_t failed(char const* why) noexcept
{
    try
    {
        explain(why);
    }
    catch (std::exception const&)
    {
        return 2; // No memory for the reason.
    }
    return 1;
}

PluginField const* FieldReader::find(std::string_view name) const noexcept
{
    for (int32_t i = 0; mFields != nullptr && i < mFields->nbFields; ++i)
        if (mFields->fields[i].name != nullptr && mFields->fields[i].name == name)
            return &mFields->fields[i];
    return nullptr;
}

template <typename T>
std::optional<std::vector<T>> FieldReader::list(std::string_view name) const
{
    PluginField const* const field = find(name);
    if (field == nullptr || field->length < 0 || (field->data == nullptr && field->length > 0))
        return std::nullopt;
    switch (field->type)
    {
    case PluginFieldType::kFLOAT32: return converted<float, T>(field->data, field->length);
    case PluginFieldType::kFLOAT64: return converted<double, T>(field->data, field->length);
    case PluginFieldType::kCHAR:
    case PluginFieldType::kINT8: return converted<int8_t, T>(field->data, field->length);
    case PluginFieldType::kINT16: return converted<int16_t, T>(field->data, field->length);
    case PluginFieldType::kINT32: return converted<int32_t, T>(field->data, field->length);
    case PluginFieldType::kINT64: return converted<int64_t, T>(field->data, field->length);
    case PluginFieldType::kFLOAT16: return widened<T>(field->data, field->length, &halfToFloat);
    case PluginFieldType::kBF16: return widened<T>(field->data, field->length, &bfloatToFloat);
    default: return std::nullopt;
    }
}

template std::optional<std::vector<float>> FieldReader::list<float>(std::string_view) const;
template std::optional<std::vector<double>> FieldReader::list<double>(std::string_view) const;
template std::optional<std::vector<int32_t>> FieldReader::list<int32_t>(std::string_view) const;
template std::optional<std::vector<char>> FieldReader::list<char>(std::string_view) const;

std::unique_ptr<IPluginCreatorInterface> creatorOf(StockPlugin const& plugin, std::string nameSpace)
{
    if (plugin.isV3)
        return std::make_unique<NewerCreator>(plugin, std::move(nameSpace));
    return std::make_unique<OlderCreator>(plugin, std::move(nameSpace));
}

bool hasExtents(Dims const& dims, std::initializer_list<int64_t> extents) noexcept
{
    return dims.nbDims == static_cast<int32_t>(extents.size()) && std::equal(extents.begin(), extents.end(), dims.d);
}

int64_t volume(Dims const& dims, int32_t first, int32_t last) noexcept
{
    int64_t product{1};
    for (int32_t i = first; i < last; ++i)
        if (__builtin_mul_overflow(product, dims.d[i], &product))
            return std::numeric_limits<int64_t>::max(); // A tensor with such extents is empty in others.
    return product;
}

} // namespace tenon::plugins::builtin
