// CircPad: circular padding of the two last axes, the same small operator in five plugin generations.
#pragma once

#include "NvInfer.h"
#include "plugins/journal.h"
#include "plugins/on_host.h"

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace plugintest
{

using namespace nvinfer1;

inline size_t elementSize(DataType type)
{
    switch (type)
    {
    case DataType::kHALF:
    case DataType::kBF16: return 2;
    case DataType::kINT8:
    case DataType::kUINT8:
    case DataType::kBOOL: return 1;
    case DataType::kINT64: return 8;
    default: return 4;
    }
}

inline size_t elementsOf(Dims const& dims)
{
    size_t product{1};
    for (int32_t i = 0; i < dims.nbDims; ++i)
        product *= static_cast<size_t>(dims.d[i]);
    return product;
}

//! What all generations store and compute. `before` and `after` are for rows and columns.
struct CircPadCore
{
    std::array<int32_t, 2> before{1, 2};
    std::array<int32_t, 2> after{3, 1};

    //! The work of an enqueue(), which also writes all of its workspace.
    void enqueue(Dims const& in, Dims const& out, DataType type, void const* const* inputs, void* const* outputs,
        void* workspace, cudaStream_t stream) const
    {
        constexpr size_t kWorkspace{128};
        size_t const element = elementSize(type);
        onHost(stream, inputs[0], element * elementsOf(in), {outputs[0], element * elementsOf(out)},
            {workspace, kWorkspace}, [&](void const* x, void* y, void* scratch) {
                std::memset(scratch, 0x5A, kWorkspace);
                run(in, out, element, x, y);
            });
    }

    //! y[…, i, j] = x[…, (i − before) mod rows, (j − before) mod columns]. Whole dims, the batch included.
    void run(Dims const& in, Dims const& out, size_t element, void const* x, void* y) const
    {
        int64_t planes{1};
        for (int32_t i = 0; i + 2 < in.nbDims; ++i)
            planes *= in.d[i];
        int64_t const rows = in.d[in.nbDims - 2];
        int64_t const columns = in.d[in.nbDims - 1];
        int64_t const outRows = out.d[out.nbDims - 2];
        int64_t const outColumns = out.d[out.nbDims - 1];
        auto const* from = static_cast<char const*>(x);
        auto* to = static_cast<char*>(y);
        for (int64_t p = 0; p < planes; ++p)
            for (int64_t i = 0; i < outRows; ++i)
                for (int64_t j = 0; j < outColumns; ++j, to += element)
                {
                    int64_t const row = ((i - before[0]) % rows + rows) % rows;
                    int64_t const column = ((j - before[1]) % columns + columns) % columns;
                    std::memcpy(
                        to, from + ((p * rows + row) * columns + column) * static_cast<int64_t>(element), element);
                }
    }
};

inline bool isPadType(DataType type)
{
    return type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kINT8 || type == DataType::kINT32;
}

inline std::string text(Dims const& dims)
{
    std::string all;
    for (int32_t i = 0; i < dims.nbDims; ++i)
        all += (i == 0 ? "" : "x") + std::to_string(dims.d[i]);
    return all;
}

//! What the generations of the V2 family share: names, storing, lives. P: the class of the generation.
template <typename P, typename Base>
class CircPadOfV2 : public Base, public Journaled
{
  public:
    CircPadCore core;
    std::string nameSpace;
    DataType type{DataType::kFLOAT};
    Dims in{};
    Dims out{};

    AsciiChar const* getPluginType() const noexcept override
    {
        return P::kType;
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    int32_t getNbOutputs() const noexcept override
    {
        note("getNbOutputs");
        return 1;
    }
    int32_t initialize() noexcept override
    {
        note("initialize");
        return 0;
    }
    void terminate() noexcept override
    {
        note("terminate");
    }
    void destroy() noexcept override
    {
        note("destroy");
        delete static_cast<P*>(this);
    }
    //! For clone(), which each generation declares with a type of its own.
    P* copied() const
    {
        auto* copy = new P{static_cast<P const&>(*this)};
        note("clone", std::to_string(copy->number()));
        return copy;
    }
    size_t getSerializationSize() const noexcept override
    {
        note("getSerializationSize");
        return sizeof(CircPadCore) + sizeof(type) + 2 * sizeof(Dims);
    }
    void serialize(void* buffer) const noexcept override
    {
        note("serialize");
        auto* to = static_cast<char*>(buffer);
        std::memcpy(to, &core, sizeof(core));
        std::memcpy(to += sizeof(core), &type, sizeof(type));
        std::memcpy(to += sizeof(type), &in, sizeof(in));
        std::memcpy(to += sizeof(in), &out, sizeof(out));
    }
    void load(void const* buffer, size_t length)
    {
        if (length != sizeof(CircPadCore) + sizeof(type) + 2 * sizeof(Dims))
            return;
        auto const* from = static_cast<char const*>(buffer);
        std::memcpy(&core, from, sizeof(core));
        std::memcpy(&type, from += sizeof(core), sizeof(type));
        std::memcpy(&in, from += sizeof(type), sizeof(in));
        std::memcpy(&out, from += sizeof(in), sizeof(out));
    }
    void setPluginNamespace(AsciiChar const* given) noexcept override
    {
        note("setPluginNamespace", given);
        nameSpace = given;
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return nameSpace.c_str();
    }
};

//! The generations whose dims leave out the batch.
template <typename P, typename Base>
class CircPadBatchless : public CircPadOfV2<P, Base>
{
  public:
    Dims getOutputDimensions(int32_t index, Dims const* inputs, int32_t nbInputDims) noexcept override
    {
        this->note("getOutputDimensions", text(inputs[0]));
        if (index != 0 || nbInputDims != 1 || inputs[0].nbDims < 2)
            return Dims{-1, {}};
        Dims padded = inputs[0];
        for (size_t i = 0; i < 2; ++i)
            padded.d[padded.nbDims - 2 + static_cast<int32_t>(i)] += this->core.before[i] + this->core.after[i];
        return padded;
    }
    size_t getWorkspaceSize(int32_t maxBatchSize) const noexcept override
    {
        this->note("getWorkspaceSize", std::to_string(maxBatchSize));
        return 128;
    }
    int32_t enqueue(int32_t batchSize, void const* const* inputs, void* const* outputs, void* workspace,
        cudaStream_t stream) noexcept override
    {
        this->note("enqueue", std::to_string(batchSize));
        auto const whole = [&](Dims dims) {
            std::copy_backward(dims.d, dims.d + dims.nbDims, dims.d + dims.nbDims + 1);
            dims.d[0] = batchSize;
            ++dims.nbDims;
            return dims;
        };
        this->core.enqueue(whole(this->in), whole(this->out), this->type, inputs, outputs, workspace, stream);
        return 0;
    }

  protected:
    void configured(Dims const& given, Dims const& made, DataType kind, int32_t batch)
    {
        this->note("configure", text(given) + " batch " + std::to_string(batch));
        this->in = given;
        this->out = made;
        this->type = kind;
    }
};

class CircPadV2 final : public CircPadBatchless<CircPadV2, IPluginV2>
{
  public:
    static constexpr char const* kType{"CircPadV2"};
    CircPadV2* clone() const noexcept override
    {
        return copied();
    }
    bool supportsFormat(DataType kind, PluginFormat format) const noexcept override
    {
        note("supportsFormat", std::to_string(static_cast<int32_t>(format)));
        return isPadType(kind) && format == PluginFormat::kLINEAR;
    }
    void configureWithFormat(Dims const* inputDims, int32_t, Dims const* outputDims, int32_t, DataType kind,
        PluginFormat, int32_t maxBatchSize) noexcept override
    {
        configured(inputDims[0], outputDims[0], kind, maxBatchSize);
    }
};

//! What V2Ext adds.
template <typename P, typename Base>
class CircPadExt : public CircPadBatchless<P, Base>
{
  public:
    DataType getOutputDataType(int32_t, DataType const* inputTypes, int32_t) const noexcept override
    {
        this->note("getOutputDataType");
        return inputTypes[0];
    }
    bool isOutputBroadcastAcrossBatch(int32_t, bool const*, int32_t) const noexcept override
    {
        return false;
    }
    bool canBroadcastInputAcrossBatch(int32_t) const noexcept override
    {
        return false;
    }
    void attachToContext(cudnnContext* cudnn, cublasContext* cublas, IGpuAllocator* allocator) noexcept override
    {
        this->note("attachToContext", cudnn == nullptr && cublas == nullptr ? "no handles" : "handles");
        this->allocator = allocator;
    }
    void detachFromContext() noexcept override
    {
        this->note("detachFromContext");
    }
    IGpuAllocator* allocator{nullptr};
};

class CircPadV2Ext final : public CircPadExt<CircPadV2Ext, IPluginV2Ext>
{
  public:
    static constexpr char const* kType{"CircPadV2Ext"};
    CircPadV2Ext* clone() const noexcept override
    {
        return copied();
    }
    bool supportsFormat(DataType kind, PluginFormat format) const noexcept override
    {
        note("supportsFormat", std::to_string(static_cast<int32_t>(format)));
        return isPadType(kind) && format == PluginFormat::kLINEAR;
    }
    void configurePlugin(Dims const* inputDims, int32_t, Dims const* outputDims, int32_t, DataType const* inputTypes,
        DataType const*, bool const*, bool const*, PluginFormat, int32_t maxBatchSize) noexcept override
    {
        configured(inputDims[0], outputDims[0], inputTypes[0], maxBatchSize);
    }
};

class CircPadV2IOExt final : public CircPadExt<CircPadV2IOExt, IPluginV2IOExt>
{
  public:
    static constexpr char const* kType{"CircPadV2IOExt"};
    CircPadV2IOExt* clone() const noexcept override
    {
        return copied();
    }
    bool supportsFormatCombination(
        int32_t pos, PluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) const noexcept override
    {
        note("supportsFormatCombination", std::to_string(pos));
        for (int32_t later = pos + 1; later < nbInputs + nbOutputs; ++later)
            if (static_cast<int32_t>(inOut[later].type) >= 0)
                note("sawLaterEntry");
        return inOut[pos].format == TensorFormat::kLINEAR && isPadType(inOut[pos].type)
            && inOut[pos].type == inOut[0].type;
    }
    void configurePlugin(
        PluginTensorDesc const* given, int32_t, PluginTensorDesc const* made, int32_t) noexcept override
    {
        configured(given[0].dims, made[0].dims, given[0].type, 0);
    }
};

class CircPadV2DynamicExt final : public CircPadOfV2<CircPadV2DynamicExt, IPluginV2DynamicExt>
{
  public:
    static constexpr char const* kType{"CircPadV2DynamicExt"};
    CircPadV2DynamicExt* clone() const noexcept override
    {
        return copied();
    }
    DataType getOutputDataType(int32_t, DataType const* inputTypes, int32_t) const noexcept override
    {
        note("getOutputDataType", std::to_string(static_cast<int32_t>(inputTypes[0])));
        return inputTypes[0];
    }
    DimsExprs getOutputDimensions(int32_t, DimsExprs const* inputs, int32_t, IExprBuilder& builder) noexcept override
    {
        note("getOutputDimensions");
        DimsExprs padded = inputs[0];
        for (int32_t i = 0; i < 2; ++i)
        {
            auto const at = static_cast<size_t>(i);
            IDimensionExpr const*& extent = padded.d[padded.nbDims - 2 + i];
            extent = builder.operation(
                DimensionOperation::kSUM, *extent, *builder.constant(core.before[at] + core.after[at]));
        }
        return padded;
    }
    bool supportsFormatCombination(
        int32_t pos, PluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) noexcept override
    {
        note("supportsFormatCombination", std::to_string(pos));
        for (int32_t later = pos + 1; later < nbInputs + nbOutputs; ++later)
            if (static_cast<int32_t>(inOut[later].type) >= 0)
                note("sawLaterEntry");
        return inOut[pos].format == TensorFormat::kLINEAR && isPadType(inOut[pos].type)
            && inOut[pos].type == inOut[0].type;
    }
    void configurePlugin(
        DynamicPluginTensorDesc const* given, int32_t, DynamicPluginTensorDesc const*, int32_t) noexcept override
    {
        note("configurePlugin",
            text(given[0].desc.dims) + " in " + text(given[0].min) + ":" + text(given[0].opt) + ":"
                + text(given[0].max));
    }
    size_t getWorkspaceSize(
        PluginTensorDesc const* inputs, int32_t, PluginTensorDesc const*, int32_t) const noexcept override
    {
        note("getWorkspaceSize", text(inputs[0].dims));
        return 128;
    }
    int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const* outputDesc, void const* const* inputs,
        void* const* outputs, void* workspace, cudaStream_t stream) noexcept override
    {
        note("enqueue", text(inputDesc[0].dims));
        core.enqueue(inputDesc[0].dims, outputDesc[0].dims, inputDesc[0].type, inputs, outputs, workspace, stream);
        return 0;
    }
    void attachToContext(cudnnContext*, cublasContext*, IGpuAllocator*) noexcept override
    {
        note("attachToContext");
    }
    void detachFromContext() noexcept override
    {
        note("detachFromContext");
    }
};

//! V3; with `byShape`, a shape input of two values says how much to add after.
class CircPadV3 : public IPluginV3,
                  public IPluginV3OneCore,
                  public IPluginV3OneBuild,
                  public IPluginV3OneRuntime,
                  public Journaled
{
  public:
    static constexpr char const* kType{"CircPadV3"};
    CircPadCore core;
    std::string nameSpace;
    std::vector<int32_t> tactics;
    int32_t tactic{-1};

    ~CircPadV3() override
    {
        note("destructor");
    }
    IPluginCapability* getCapabilityInterface(PluginCapabilityType kind) noexcept override
    {
        switch (kind)
        {
        case PluginCapabilityType::kCORE: return static_cast<IPluginV3OneCore*>(this);
        case PluginCapabilityType::kBUILD: return static_cast<IPluginV3OneBuild*>(this);
        case PluginCapabilityType::kRUNTIME: return static_cast<IPluginV3OneRuntime*>(this);
        }
        return nullptr;
    }
    IPluginV3* clone() noexcept override
    {
        auto* copy = new CircPadV3{*this};
        note("clone", std::to_string(copy->number()));
        return copy;
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return kType;
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return nameSpace.c_str();
    }
    int32_t configurePlugin(
        DynamicPluginTensorDesc const* given, int32_t, DynamicPluginTensorDesc const*, int32_t) noexcept override
    {
        note("configurePlugin",
            text(given[0].desc.dims) + " in " + text(given[0].min) + ":" + text(given[0].opt) + ":"
                + text(given[0].max));
        return 0;
    }
    int32_t getOutputDataTypes(
        DataType* outputTypes, int32_t, DataType const* inputTypes, int32_t) const noexcept override
    {
        note("getOutputDataTypes", std::to_string(static_cast<int32_t>(inputTypes[0])));
        outputTypes[0] = inputTypes[0];
        return 0;
    }
    int32_t getOutputShapes(DimsExprs const* inputs, int32_t nbInputs, DimsExprs const* shapeInputs,
        int32_t nbShapeInputs, DimsExprs* outputs, int32_t, IExprBuilder& builder) noexcept override
    {
        note("getOutputShapes", std::to_string(nbInputs) + "+" + std::to_string(nbShapeInputs));
        outputs[0] = inputs[0];
        for (int32_t i = 0; i < 2; ++i)
        {
            auto const at = static_cast<size_t>(i);
            IDimensionExpr const*& extent = outputs[0].d[outputs[0].nbDims - 2 + i];
            extent = builder.operation(DimensionOperation::kSUM, *extent, *builder.constant(core.before[at]));
            extent = builder.operation(DimensionOperation::kSUM, *extent,
                nbShapeInputs > 0 ? *shapeInputs[0].d[i] : *builder.constant(core.after[at]));
        }
        return 0;
    }
    bool supportsFormatCombination(
        int32_t pos, DynamicPluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) noexcept override
    {
        note("supportsFormatCombination", std::to_string(pos));
        for (int32_t later = pos + 1; later < nbInputs + nbOutputs; ++later)
            if (static_cast<int32_t>(inOut[later].desc.type) >= 0)
                note("sawLaterEntry");
        return inOut[pos].desc.format == TensorFormat::kLINEAR && isPadType(inOut[pos].desc.type)
            && inOut[pos].desc.type == inOut[0].desc.type;
    }
    int32_t getNbOutputs() const noexcept override
    {
        note("getNbOutputs");
        return 1;
    }
    size_t getWorkspaceSize(
        DynamicPluginTensorDesc const* inputs, int32_t, DynamicPluginTensorDesc const*, int32_t) const noexcept override
    {
        note("getWorkspaceSize", text(inputs[0].max));
        return 128;
    }
    int32_t getNbTactics() noexcept override
    {
        note("getNbTactics");
        return static_cast<int32_t>(tactics.size());
    }
    int32_t getValidTactics(int32_t* given, int32_t count) noexcept override
    {
        note("getValidTactics");
        std::copy_n(tactics.begin(), count, given);
        return 0;
    }
    char const* getTimingCacheID() noexcept override
    {
        note("getTimingCacheID");
        return nullptr;
    }
    int32_t setTactic(int32_t given) noexcept override
    {
        note("setTactic", std::to_string(given));
        tactic = given;
        return 0;
    }
    int32_t onShapeChange(
        PluginTensorDesc const* given, int32_t, PluginTensorDesc const* made, int32_t) noexcept override
    {
        note("onShapeChange", text(given[0].dims) + "->" + text(made[0].dims));
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const* inputDesc, PluginTensorDesc const* outputDesc, void const* const* inputs,
        void* const* outputs, void* workspace, cudaStream_t stream) noexcept override
    {
        note("enqueue", text(inputDesc[0].dims));
        core.enqueue(inputDesc[0].dims, outputDesc[0].dims, inputDesc[0].type, inputs, outputs, workspace, stream);
        return 0;
    }
    IPluginV3* attachToContext(IPluginResourceContext* context) noexcept override
    {
        auto* copy = new CircPadV3{*this};
        note("attachToContext", std::to_string(copy->number()));
        copy->resources = context;
        return copy;
    }
    PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        note("getFieldsToSerialize");
        mFields = {{"before", core.before.data(), PluginFieldType::kINT32, 2},
            {"after", core.after.data(), PluginFieldType::kINT32, 2}};
        mCollection = {static_cast<int32_t>(mFields.size()), mFields.data()};
        return &mCollection;
    }
    IPluginResourceContext* resources{nullptr};

  protected:
    CircPadV3(CircPadV3 const& other)
        : IPluginV3{},
          IPluginV3OneCore{},
          IPluginV3OneBuild{},
          IPluginV3OneRuntime{},
          Journaled{},
          core{other.core},
          nameSpace{other.nameSpace},
          tactics{other.tactics},
          tactic{other.tactic}
    {
    }

  public:
    CircPadV3() = default;

  private:
    std::vector<PluginField> mFields;
    PluginFieldCollection mCollection{};
};

//! Fields "before" and "after" of a collection.
inline CircPadCore coreOf(PluginFieldCollection const* fields)
{
    CircPadCore core;
    for (int32_t i = 0; fields != nullptr && i < fields->nbFields; ++i)
    {
        PluginField const& field = fields->fields[i];
        if (field.length != 2)
            continue;
        auto const* values = static_cast<int32_t const*>(field.data);
        auto& target = std::string{field.name} == "before" ? core.before : core.after;
        std::copy_n(values, 2, target.begin());
    }
    return core;
}

template <typename P>
class CircPadCreator final : public IPluginCreator
{
  public:
    AsciiChar const* getPluginName() const noexcept override
    {
        return P::kType;
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mNames;
    }
    IPluginV2* createPlugin(AsciiChar const*, PluginFieldCollection const* fields) noexcept override
    {
        auto* plugin = new P;
        plugin->core = coreOf(fields);
        return plugin;
    }
    IPluginV2* deserializePlugin(AsciiChar const* name, void const* data, size_t length) noexcept override
    {
        auto* plugin = new P;
        Journal::get().note(plugin->number(), "deserializePlugin", std::string{name} + " " + std::to_string(length));
        plugin->load(data, length);
        return plugin;
    }
    void setPluginNamespace(AsciiChar const* given) noexcept override
    {
        mNameSpace = given;
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return mNameSpace.c_str();
    }

  private:
    std::string mNameSpace;
    std::array<PluginField, 2> mFields{PluginField{"before", nullptr, PluginFieldType::kINT32, 2},
        PluginField{"after", nullptr, PluginFieldType::kINT32, 2}};
    PluginFieldCollection mNames{2, mFields.data()};
};

class CircPadCreatorV3 : public IPluginCreatorV3One
{
  public:
    std::string nameSpace; //!< Of it and of its plugins.

    IPluginV3* createPlugin(
        AsciiChar const* name, PluginFieldCollection const* fields, TensorRTPhase phase) noexcept override
    {
        auto* plugin = new CircPadV3;
        Journal::get().note(plugin->number(), "createPlugin",
            std::string{name} + (phase == TensorRTPhase::kBUILD ? " build" : " runtime"));
        plugin->core = coreOf(fields);
        plugin->nameSpace = nameSpace;
        return plugin;
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mNames;
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return CircPadV3::kType;
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return nameSpace.c_str();
    }

  private:
    std::array<PluginField, 2> mFields{PluginField{"before", nullptr, PluginFieldType::kINT32, 2},
        PluginField{"after", nullptr, PluginFieldType::kINT32, 2}};
    PluginFieldCollection mNames{2, mFields.data()};
};

} // namespace plugintest
