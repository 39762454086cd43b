// Faulty: y = x · scale + offset by way of the workspace, with one thing wrong at a time, in four generations.
#pragma once

#include "NvInfer.h"

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace plugintest
{

using namespace nvinfer1;

enum class Fault
{
    kNone,
    kCloneForgets,
    kCloneForgetsConfiguration,
    kCloneIsItself,
    kCloneNotInitialized,
    kAttachIsItself,
    kTerminateFreesShared,
    kInitializeOnlyOnce,
    kDestroyFreesShared,
    kDetachFreesShared,
    kKeepsContextMemory,
    kLooksAhead,
    kUnstableFormats,
    kAcceptsNothing,
    kNoCombinations,
    kWorkspaceOverrun,
    kWorkspaceGarbage,
    kUnwrittenTail,
    kWritesPastEnd,
    kWritesBeforeBegin,
    kChangesInput,
    kSerializesMore,
    kSerializesLess,
    kReadLosesField,
    kStoreLosesField,
    kSharedScratch,
    kCounts,
    kFailsWhenEmpty,
    kConstantShape,
    kOutputTooLarge,
    kTacticsTwice,
    kTacticZero,
    kAliasOutOfRange,
    kOtherVersion,
    kNullNamespace,
    kForgetsNamespace,
    kFieldTwice,
    kWrongResult,
    kCrashes,
    kHangs,
    kExits,
    kLeaves, //!< _exit(0)
    kWorkspaceOfSmall,
    kReturnsError, //!< From the callback of `where`.
    kThrows,       //!< The same.
};

//! What is wrong, for all objects of a test; they are made by creators that know nothing of it.
struct Wrong
{
    Fault fault{Fault::kNone};
    std::string where;
    static Wrong& now()
    {
        static Wrong wrong;
        return wrong;
    }
};

inline bool isFault(Fault fault)
{
    return Wrong::now().fault == fault;
}

//! At the beginning of each callback: throws where it shall; true: return an error.
inline bool trips(char const* callback)
{
    if (Wrong::now().where != callback)
        return false;
    if (isFault(Fault::kThrows))
        throw std::runtime_error{std::string{"thrown in "} + callback};
    return isFault(Fault::kReturnsError);
}

constexpr size_t kMaxScratch{1024};
constexpr size_t kWorkspaceBytes{kMaxScratch * sizeof(float)};

//! `rows`: of the input, at most.
inline size_t workspaceFor(int64_t rows)
{
    return kWorkspaceBytes + (isFault(Fault::kWorkspaceOfSmall) && rows == 3 ? 1 : 0);
}

//! What the generations share.
struct FaultyCore
{
    float scale{1.5F};
    float offset{0.25F};
    std::shared_ptr<float> table; //!< Made by initialize(), or with the object; clones share it.
    bool wasInitialized{false};
    int32_t runs{0};

    FaultyCore() = default;
    FaultyCore(FaultyCore const& other)
        : scale{other.scale},
          offset{isFault(Fault::kCloneForgets) ? 0.0F : other.offset},
          table{isFault(Fault::kCloneNotInitialized) ? nullptr : other.table},
          wasInitialized{other.wasInitialized}
    {
    }
    int32_t initialize()
    {
        if (trips("initialize"))
            return 7;
        if (isFault(Fault::kInitializeOnlyOnce) && wasInitialized)
            return 0;
        wasInitialized = true;
        if (table == nullptr)
            table = std::make_shared<float>(scale);
        return 0;
    }
    void spoil() const
    {
        if (table != nullptr)
            *table = -1.0F;
    }
    void terminate()
    {
        if (isFault(Fault::kTerminateFreesShared))
            spoil();
        table.reset();
    }

    //! y from x, with all that can go wrong on the way.
    int32_t run(int64_t count, float const* x, float* y, float* workspace)
    {
        if (trips("enqueue") || table == nullptr || (count == 0 && isFault(Fault::kFailsWhenEmpty)))
            return 3;
        if (isFault(Fault::kCrashes))
            std::raise(SIGSEGV);
        if (isFault(Fault::kExits))
            std::exit(0);
        if (isFault(Fault::kLeaves))
            _exit(0);
        if (isFault(Fault::kHangs))
            pthread_setname_np(pthread_self(), "hanging"); // For who looks from outside.
        while (isFault(Fault::kHangs))
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        int64_t const written = isFault(Fault::kUnwrittenTail) ? count - 1 : count;
        float const extra = (isFault(Fault::kWorkspaceGarbage) && (*reinterpret_cast<char*>(workspace) & 1) != 0) ? 1.0F
            : isFault(Fault::kCounts) ? static_cast<float>(++runs)
                                      : 0.0F;
        static std::array<std::atomic<float>, kMaxScratch> shared;
        for (int64_t i = 0; i < count; ++i)
            workspace[i] = x[i] * *table;
        if (isFault(Fault::kSharedScratch))
        {
            for (int64_t i = 0; i < count; ++i)
                shared[static_cast<size_t>(i)] = workspace[i];
            std::this_thread::sleep_for(std::chrono::microseconds{100});
            for (int64_t i = 0; i < count; ++i)
                workspace[i] = shared[static_cast<size_t>(i)];
        }
        for (int64_t i = 0; i < written; ++i)
            y[i] = workspace[i] + (isFault(Fault::kWrongResult) && i == 5 ? 2.0F : 1.0F) * offset + extra;
        if (isFault(Fault::kWritesPastEnd))
            y[count] = 1.0F;
        if (isFault(Fault::kWritesBeforeBegin))
            y[-1] = 1.0F;
        if (isFault(Fault::kWorkspaceOverrun))
            workspace[kMaxScratch] = 1.0F;
        if (isFault(Fault::kChangesInput) && count > 0)
            const_cast<float*>(x)[0] += 1.0F;
        return 0;
    }
};

//! Whether a port takes a type; `types` has what stands at all ports.
inline bool acceptsPort(int32_t position, std::vector<DataType> const& types, TensorFormat format)
{
    static std::atomic<int32_t> asked{0};
    auto const at = static_cast<size_t>(position);
    if (trips("supportsFormatCombination") || isFault(Fault::kAcceptsNothing))
        return false;
    if (isFault(Fault::kUnstableFormats) && position == 0 && types[at] == DataType::kHALF)
        return ++asked % 2 == 0;
    if (isFault(Fault::kLooksAhead) && position == 0 && types[1] == DataType::kINT8)
        return false;
    return types[at] == DataType::kFLOAT && format == TensorFormat::kLINEAR;
}

inline int64_t volume(Dims const& dims)
{
    int64_t count{1};
    for (int32_t i = 0; i < dims.nbDims; ++i)
        count *= dims.d[i];
    return count;
}

//! Shape of the output: that of the input.
inline DimsExprs sameShape(DimsExprs dims, IExprBuilder& builder)
{
    if (isFault(Fault::kConstantShape))
        dims.d[0] = builder.constant(dims.d[0]->getConstantValue());
    if (isFault(Fault::kOutputTooLarge))
        dims.d[dims.nbDims - 1] =
            builder.operation(DimensionOperation::kSUM, *dims.d[dims.nbDims - 1], *builder.constant(1));
    return dims;
}

//! The V2 family. P: the class itself; Base: its generation.
template <typename P, typename Base>
class FaultyOfV2 : public Base
{
  public:
    FaultyCore core;

    AsciiChar const* getPluginType() const noexcept override
    {
        trips("getPluginType");
        return P::kType;
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        trips("getPluginVersion");
        return isFault(Fault::kOtherVersion) ? "2" : "1";
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 1;
    }
    int32_t initialize() noexcept override
    {
        return core.initialize();
    }
    void terminate() noexcept override
    {
        core.terminate();
    }
    void destroy() noexcept override
    {
        if (isFault(Fault::kDestroyFreesShared))
            core.spoil();
        delete static_cast<P*>(this);
    }
    //! For clone(), which each class declares with a type of its own.
    P* copied() const
    {
        if (trips("clone"))
            return nullptr;
        if (isFault(Fault::kCloneIsItself))
            return const_cast<P*>(static_cast<P const*>(this));
        return new P{static_cast<P const&>(*this)};
    }
    size_t getSerializationSize() const noexcept override
    {
        return 2 * sizeof(float) + (isFault(Fault::kSerializesLess) ? 4 : 0);
    }
    void serialize(void* buffer) const noexcept override
    {
        auto* to = static_cast<float*>(buffer);
        to[0] = core.scale;
        to[1] = isFault(Fault::kStoreLosesField) ? 0.0F : core.offset;
        if (isFault(Fault::kSerializesMore))
            to[2] = core.offset;
    }
    void load(void const* data, size_t length)
    {
        auto const* from = static_cast<float const*>(data);
        core.scale = from[0];
        core.offset = length >= 8 && !isFault(Fault::kReadLosesField) ? from[1] : 0.0F;
    }
    void setPluginNamespace(AsciiChar const* given) noexcept override
    {
        if (!isFault(Fault::kForgetsNamespace))
            mNameSpace = given;
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        trips("getPluginNamespace");
        return isFault(Fault::kNullNamespace) ? nullptr : mNameSpace.c_str();
    }
    DataType getOutputDataType(int32_t, DataType const* types, int32_t) const noexcept override
    {
        return types[0];
    }
    void attachToContext(cudnnContext*, cublasContext*, IGpuAllocator* allocator) noexcept override
    {
        if (isFault(Fault::kKeepsContextMemory))
            mMemory = allocator->allocate(64, 0, 0);
    }
    void detachFromContext() noexcept override
    {
        if (isFault(Fault::kDetachFreesShared))
            core.spoil();
    }

  private:
    std::string mNameSpace;
    void* mMemory{nullptr};
};

class FaultyDynamic final : public FaultyOfV2<FaultyDynamic, IPluginV2DynamicExt>
{
  public:
    static constexpr char const* kType{"FaultyDynamic"};
    FaultyDynamic* clone() const noexcept override
    {
        return copied();
    }
    DimsExprs getOutputDimensions(int32_t, DimsExprs const* inputs, int32_t, IExprBuilder& builder) noexcept override
    {
        return sameShape(inputs[0], builder);
    }
    bool supportsFormatCombination(
        int32_t pos, PluginTensorDesc const* ports, int32_t in, int32_t out) noexcept override
    {
        std::vector<DataType> types;
        for (int32_t i = 0; i < in + out; ++i)
            types.push_back(ports[i].type);
        return acceptsPort(pos, types, ports[pos].format);
    }
    void configurePlugin(
        DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*, int32_t) noexcept override
    {
        trips("configurePlugin");
    }
    size_t getWorkspaceSize(
        PluginTensorDesc const* inputs, int32_t, PluginTensorDesc const*, int32_t) const noexcept override
    {
        return workspaceFor(inputs[0].dims.d[0]);
    }
    int32_t enqueue(PluginTensorDesc const* inputs, PluginTensorDesc const*, void const* const* x, void* const* y,
        void* workspace, cudaStream_t) noexcept override
    {
        return core.run(volume(inputs[0].dims), static_cast<float const*>(x[0]), static_cast<float*>(y[0]),
            static_cast<float*>(workspace));
    }
};

//! Generations without the batch: extents come by configuration.
template <typename P, typename Base>
class FaultyBatchless : public FaultyOfV2<P, Base>
{
  public:
    int64_t elements{0};

    FaultyBatchless() = default;
    FaultyBatchless(FaultyBatchless const& other)
        : FaultyOfV2<P, Base>{other},
          elements{isFault(Fault::kCloneForgetsConfiguration) ? 1 : other.elements}
    {
    }
    Dims getOutputDimensions(int32_t, Dims const* inputs, int32_t) noexcept override
    {
        return inputs[0];
    }
    bool isOutputBroadcastAcrossBatch(int32_t, bool const*, int32_t) const noexcept override
    {
        return false;
    }
    bool canBroadcastInputAcrossBatch(int32_t) const noexcept override
    {
        return false;
    }
    size_t getWorkspaceSize(int32_t batch) const noexcept override
    {
        return workspaceFor(batch);
    }
    size_t getSerializationSize() const noexcept override
    {
        return FaultyOfV2<P, Base>::getSerializationSize() + sizeof(elements);
    }
    void serialize(void* buffer) const noexcept override
    {
        FaultyOfV2<P, Base>::serialize(buffer);
        std::memcpy(static_cast<char*>(buffer) + 2 * sizeof(float), &elements, sizeof(elements));
    }
    void load(void const* data, size_t length)
    {
        FaultyOfV2<P, Base>::load(data, length);
        std::memcpy(&elements, static_cast<char const*>(data) + 2 * sizeof(float), sizeof(elements));
    }
    int32_t enqueue(
        int32_t batch, void const* const* x, void* const* y, void* workspace, cudaStream_t) noexcept override
    {
        return this->core.run(batch * elements, static_cast<float const*>(x[0]), static_cast<float*>(y[0]),
            static_cast<float*>(workspace));
    }
};

class FaultyV2Ext final : public FaultyBatchless<FaultyV2Ext, IPluginV2Ext>
{
  public:
    static constexpr char const* kType{"FaultyV2Ext"};
    FaultyV2Ext* clone() const noexcept override
    {
        return copied();
    }
    bool supportsFormat(DataType type, PluginFormat format) const noexcept override
    {
        return acceptsPort(0, {type, type}, format);
    }
    void configurePlugin(Dims const* dims, int32_t, Dims const*, int32_t, DataType const*, DataType const*, bool const*,
        bool const*, PluginFormat, int32_t) noexcept override
    {
        elements = volume(dims[0]);
    }
};

class FaultyV2IOExt final : public FaultyBatchless<FaultyV2IOExt, IPluginV2IOExt>
{
  public:
    static constexpr char const* kType{"FaultyV2IOExt"};
    FaultyV2IOExt* clone() const noexcept override
    {
        return copied();
    }
    bool supportsFormatCombination(
        int32_t pos, PluginTensorDesc const* ports, int32_t in, int32_t out) const noexcept override
    {
        std::vector<DataType> types;
        for (int32_t i = 0; i < in + out; ++i)
            types.push_back(ports[i].type);
        return acceptsPort(pos, types, ports[pos].format);
    }
    void configurePlugin(PluginTensorDesc const* ports, int32_t, PluginTensorDesc const*, int32_t) noexcept override
    {
        elements = volume(ports[0].dims);
    }
};

class FaultyV3 final : public IPluginV3, public IPluginV3OneCore, public IPluginV3OneBuildV2, public IPluginV3OneRuntime
{
  public:
    static constexpr char const* kType{"FaultyV3"};
    FaultyCore core;

    FaultyV3()
    {
        core.initialize(); // Objects are born ready.
    }
    FaultyV3(FaultyV3 const& other)
        : IPluginV3{},
          IPluginV3OneCore{},
          IPluginV3OneBuildV2{},
          IPluginV3OneRuntime{},
          core{other.core}
    {
    }
    ~FaultyV3() override
    {
        if (isFault(Fault::kDestroyFreesShared))
            core.spoil();
    }
    IPluginCapability* getCapabilityInterface(PluginCapabilityType kind) noexcept override
    {
        if (trips("getCapabilityInterface"))
            return nullptr;
        switch (kind)
        {
        case PluginCapabilityType::kCORE: return static_cast<IPluginV3OneCore*>(this);
        case PluginCapabilityType::kBUILD: return static_cast<IPluginV3OneBuildV2*>(this);
        case PluginCapabilityType::kRUNTIME: return static_cast<IPluginV3OneRuntime*>(this);
        }
        return nullptr;
    }
    IPluginV3* clone() noexcept override
    {
        if (trips("clone"))
            return nullptr;
        return isFault(Fault::kCloneIsItself) ? this : new FaultyV3{*this};
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return kType;
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return isFault(Fault::kOtherVersion) ? "2" : "1";
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return isFault(Fault::kNullNamespace) ? nullptr : "";
    }
    int32_t configurePlugin(
        DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*, int32_t) noexcept override
    {
        return trips("configurePlugin") ? 5 : 0;
    }
    int32_t getOutputDataTypes(DataType* out, int32_t, DataType const* in, int32_t) const noexcept override
    {
        out[0] = in[0];
        return trips("getOutputDataTypes") ? 5 : 0;
    }
    int32_t getOutputShapes(DimsExprs const* inputs, int32_t, DimsExprs const*, int32_t, DimsExprs* outputs, int32_t,
        IExprBuilder& builder) noexcept override
    {
        outputs[0] = sameShape(inputs[0], builder);
        return trips("getOutputShapes") ? 5 : 0;
    }
    bool supportsFormatCombination(
        int32_t pos, DynamicPluginTensorDesc const* ports, int32_t in, int32_t out) noexcept override
    {
        std::vector<DataType> types;
        for (int32_t i = 0; i < in + out; ++i)
            types.push_back(ports[i].desc.type);
        return acceptsPort(pos, types, ports[pos].desc.format);
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 1;
    }
    size_t getWorkspaceSize(
        DynamicPluginTensorDesc const* inputs, int32_t, DynamicPluginTensorDesc const*, int32_t) const noexcept override
    {
        return workspaceFor(inputs[0].max.d[0]);
    }
    int32_t getNbTactics() noexcept override
    {
        return isFault(Fault::kTacticZero) || isFault(Fault::kTacticsTwice) ? 2 : 0;
    }
    int32_t getValidTactics(int32_t* tactics, int32_t) noexcept override
    {
        tactics[0] = 4;
        tactics[1] = isFault(Fault::kTacticZero) ? 0 : 4;
        return 0;
    }
    int32_t getFormatCombinationLimit() noexcept override
    {
        return isFault(Fault::kNoCombinations) ? 0 : 10;
    }
    int32_t getAliasedInput(int32_t) noexcept override
    {
        return isFault(Fault::kAliasOutOfRange) ? 5 : -1;
    }
    int32_t setTactic(int32_t) noexcept override
    {
        return trips("setTactic") ? 5 : 0;
    }
    int32_t onShapeChange(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) noexcept override
    {
        return trips("onShapeChange") ? 5 : 0;
    }
    int32_t enqueue(PluginTensorDesc const* inputs, PluginTensorDesc const*, void const* const* x, void* const* y,
        void* workspace, cudaStream_t) noexcept override
    {
        return core.run(volume(inputs[0].dims), static_cast<float const*>(x[0]), static_cast<float*>(y[0]),
            static_cast<float*>(workspace));
    }
    IPluginV3* attachToContext(IPluginResourceContext* context) noexcept override
    {
        if (trips("attachToContext"))
            return nullptr;
        if (isFault(Fault::kAttachIsItself))
            return this;
        auto* copy = new FaultyV3{*this};
        copy->core.offset = core.offset;
        if (isFault(Fault::kKeepsContextMemory))
            context->getGpuAllocator()->allocate(64, 0, 0);
        return copy;
    }
    PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        bool const isShort = isFault(Fault::kStoreLosesField);
        mFields = {{"scale", &core.scale, PluginFieldType::kFLOAT32, 1},
            {"offset", &core.offset, PluginFieldType::kFLOAT32, trips("getFieldsToSerialize") ? -1 : 1}};
        mCollection = {isShort ? 1 : 2, mFields.data()};
        return &mCollection;
    }

  private:
    std::vector<PluginField> mFields;
    PluginFieldCollection mCollection{};
};

inline FaultyCore readCore(FaultyCore core, PluginFieldCollection const* fields)
{
    for (int32_t i = 0; fields != nullptr && i < fields->nbFields; ++i)
    {
        auto const* value = static_cast<float const*>(fields->fields[i].data);
        if (std::strcmp(fields->fields[i].name, "scale") == 0)
            core.scale = *value;
        else
            core.offset = *value;
    }
    return core;
}

//! Field names of both kinds of creators.
struct FaultyFields
{
    std::array<PluginField, 2> fields{PluginField{"scale", nullptr, PluginFieldType::kFLOAT32, 1},
        PluginField{"offset", nullptr, PluginFieldType::kFLOAT32, 1}};
    PluginFieldCollection names{2, fields.data()};

    PluginFieldCollection const* get()
    {
        fields[1].name = isFault(Fault::kFieldTwice) ? "scale" : "offset";
        return &names;
    }
};

template <typename P>
class FaultyCreator final : public IPluginCreator
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
        return mFields.get();
    }
    IPluginV2* createPlugin(AsciiChar const*, PluginFieldCollection const* fields) noexcept override
    {
        if (trips("createPlugin"))
            return nullptr;
        auto* plugin = new P;
        plugin->core.scale = readCore(plugin->core, fields).scale;
        return plugin;
    }
    IPluginV2* deserializePlugin(AsciiChar const*, void const* data, size_t length) noexcept override
    {
        if (trips("deserializePlugin"))
            return nullptr;
        auto* plugin = new P;
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
    FaultyFields mFields;
};

class FaultyCreatorV3 final : public IPluginCreatorV3One
{
  public:
    IPluginV3* createPlugin(
        AsciiChar const*, PluginFieldCollection const* fields, TensorRTPhase phase) noexcept override
    {
        if (trips("createPlugin"))
            return nullptr;
        auto plugin = std::make_unique<FaultyV3>();
        FaultyCore const read = readCore(plugin->core, fields);
        plugin->core.scale = read.scale;
        bool const isLost =
            isFault(Fault::kReadLosesField) || (isFault(Fault::kStoreLosesField) && phase == TensorRTPhase::kRUNTIME);
        plugin->core.offset = isLost ? 0.0F : phase == TensorRTPhase::kBUILD ? 0.25F : read.offset;
        if (isFault(Fault::kReadLosesField))
            plugin->core.offset = phase == TensorRTPhase::kBUILD ? 0.25F : 0.0F;
        *plugin->core.table = plugin->core.scale;
        return plugin.release();
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return mFields.get();
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return FaultyV3::kType;
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return "";
    }

  private:
    FaultyFields mFields;
};

} // namespace plugintest
