// The faces of stock plugins: IPluginV2DynamicExt and IPluginV3 over a Body, and their creators.
#include "plugins/builtin/stock.h"

#include "plugins/builtin/batchless.h"
#include "plugins/builtin/older_face.h"
#include "plugins/failure.h"

#include <atomic>
#include <limits>

namespace tenon::plugins::builtin
{

using namespace nvinfer1;

namespace
{
//! The V2 face.
class Dynamic final : public OlderFace<IPluginV2DynamicExt>
{
  public:
    using OlderFace::OlderFace;

    Dynamic* clone() const noexcept override
    {
        return new Dynamic{*this}; // As configured as this one (K10).
    }
    DimsExprs getOutputDimensions(
        int32_t index, DimsExprs const* inputs, int32_t count, IExprBuilder& builder) noexcept override
    {
        if (!body().takes(count))
            return {-1, {}};
        return body().outputDims(index, {inputs, static_cast<size_t>(count)}, builder);
    }
    bool supportsFormatCombination(
        int32_t pos, PluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) noexcept override
    {
        return supports(pos, inOut, nbInputs + nbOutputs);
    }
    void configurePlugin(DynamicPluginTensorDesc const* in, int32_t nbInputs, DynamicPluginTensorDesc const* out,
        int32_t nbOutputs) noexcept override
    {
        setting().set(body(), in, nbInputs, out, nbOutputs);
    }
    size_t getWorkspaceSize(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) const noexcept override
    {
        return 0; // The setting has its own.
    }
    int32_t enqueue(PluginTensorDesc const*, PluginTensorDesc const*, void const* const* inputs, void* const* outputs,
        void*, cudaStream_t) noexcept override
    {
        return setting().run(body(), inputs, outputs);
    }
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
        return inOut[pos].desc.format == mBody->formatOf(pos) && mBody->acceptsType(pos, descs);
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
    BodyPtr const& sharedBody() const noexcept
    {
        return mBody;
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

//! Where the virtual functions of the faces stand: users' objects may have no type information to ask for.
std::atomic<void const*> gBatchlessFace{nullptr};
std::atomic<void const*> gOlderFace{nullptr};
std::atomic<void const*> gNewerFace{nullptr};

template <typename Interface>
void const* functionsOf(Interface const* object) noexcept
{
    return object == nullptr ? nullptr : *reinterpret_cast<void const* const*>(object);
}

//! Null when the fields make no sense, which the message about it will say.
BodyPtr bodyOf(StockPlugin const& kind, PluginFieldCollection const* fields, Report report) noexcept
{
    try
    {
        FieldReader const reader{kind.name, kind.version, fields};
        Result<Done> known = reader.check(kind.fields);
        Result<BodyPtr> body = known ? kind.make(reader) : Result<BodyPtr>{std::move(known).error()};
        if (body)
            return *std::move(body);
        if (report != nullptr)
            report(body.error());
        explain(std::move(body).error().message);
    }
    catch (std::exception const&)
    {
        static_cast<void>(failed("no memory"));
    }
    return nullptr;
}

class OlderCreator final : public IPluginCreator
{
  public:
    OlderCreator(StockPlugin const& kind, std::string nameSpace, Report report)
        : mKind{kind},
          mNameSpace{std::move(nameSpace)},
          mReport{report},
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
        return made(fields, {}, mReport);
    }
    IPluginV2* deserializePlugin(AsciiChar const*, void const* data, size_t length) noexcept override
    {
        auto fields = DecodedFields::decode({static_cast<uint8_t const*>(data), length});
        if (!fields)
        {
            explain(std::move(fields).error().message);
            return nullptr;
        }
        PluginFieldCollection const all = fields->collection();
        std::vector<PluginField> own(all.fields, all.fields + all.nbFields);
        ConfiguredPorts const ports = mKind.isBatchless ? takePorts(own) : ConfiguredPorts{};
        PluginFieldCollection const collection{static_cast<int32_t>(own.size()), own.data()};
        return made(&collection, ports, nullptr); // Whoever loads a plan says why it fails.
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
    IPluginV2* made(PluginFieldCollection const* fields, ConfiguredPorts ports, Report report) const noexcept
    {
        BodyPtr body = bodyOf(mKind, fields, report);
        if (body == nullptr)
            return nullptr;
        if (mKind.isBatchless)
        {
            IPluginV2* const face = makeBatchless(mKind, std::move(body), mNameSpace, ports);
            gBatchlessFace = functionsOf(face);
            return face;
        }
        auto* const face = new Dynamic{mKind, std::move(body), mNameSpace};
        gOlderFace = functionsOf<IPluginV2>(face);
        return face;
    }

    StockPlugin const& mKind;
    std::string mNameSpace;
    Report mReport;
    PluginFieldCollection mNames;
};

class NewerCreator final : public IPluginCreatorV3One
{
  public:
    NewerCreator(StockPlugin const& kind, std::string nameSpace, Report report)
        : mKind{kind},
          mNameSpace{std::move(nameSpace)},
          mReport{report},
          mNames{static_cast<int32_t>(kind.fields.size()), kind.fields.data()}
    {
    }
    IPluginV3* createPlugin(
        AsciiChar const*, PluginFieldCollection const* fields, TensorRTPhase phase) noexcept override
    {
        BodyPtr body = bodyOf(mKind, fields, phase == TensorRTPhase::kBUILD ? mReport : nullptr);
        if (body == nullptr)
            return nullptr;
        auto* const face = new Newer{mKind, std::move(body), mNameSpace};
        gNewerFace = functionsOf<IPluginV3>(face);
        return face;
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
    Report mReport;
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

std::unique_ptr<IPluginCreatorInterface> creatorOf(StockPlugin const& plugin, std::string nameSpace, Report report)
{
    if (plugin.isV3)
        return std::make_unique<NewerCreator>(plugin, std::move(nameSpace), report);
    return std::make_unique<OlderCreator>(plugin, std::move(nameSpace), report);
}

bool hasExtents(Dims const& dims, std::initializer_list<int64_t> extents) noexcept
{
    return dims.nbDims == static_cast<int32_t>(extents.size()) && std::equal(extents.begin(), extents.end(), dims.d);
}

bool isStock(IPluginV2 const* v2, IPluginV3 const* v3) noexcept
{
    void const* const functions = functionsOf(v2);
    return (v2 != nullptr && (functions == gOlderFace || functions == gBatchlessFace))
        || (v3 != nullptr && functionsOf(v3) == gNewerFace);
}

BodyPtr bodyBehind(IPluginV2 const* v2, IPluginV3 const* v3) noexcept
{
    if (v3 != nullptr)
        return functionsOf(v3) == gNewerFace ? static_cast<Newer const*>(v3)->sharedBody() : nullptr;
    if (v2 == nullptr || functionsOf(v2) == nullptr)
        return nullptr;
    if (functionsOf(v2) == gOlderFace)
        return static_cast<Dynamic const*>(v2)->sharedBody();
    return functionsOf(v2) == gBatchlessFace ? bodyOfBatchless(*v2) : nullptr;
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
