// RawRepeat: a V2DynamicExt plugin made from the layout table. Each element of the last axis `times` times, multiplied
// by `factor`.
#include "raw_layout.h"

#include <cstdio>

namespace raw
{
namespace
{
struct Repeat
{
    Code const* table;
    int32_t times;
    float factor;
    char nameSpace[64];
};
extern Table<30> const kRepeatTable;

Repeat* newRepeat(int32_t times, float factor)
{
    return new Repeat{kRepeatTable.slots, times, factor, ""};
}
int32_t repeatVersion(void const*)
{
    return kVersion;
}
char const* repeatName(void const*)
{
    return "RawRepeat";
}
Dims olderDims(void*, int32_t, Dims const*, int32_t)
{
    return Dims{-1, {}};
}
bool olderFormat(void const*, int32_t, int32_t)
{
    return false;
}
void olderConfigure(void*, Dims const*, int32_t, Dims const*, int32_t, int32_t, int32_t, int32_t) {}
int32_t succeed(void*)
{
    return 0;
}
size_t olderWorkspace(void const*, int32_t)
{
    return 0;
}
int32_t olderEnqueue(void*, int32_t, void const* const*, void* const*, void*, void*)
{
    return 1;
}
size_t repeatStoredSize(void const*)
{
    return sizeof(int32_t) + sizeof(float);
}
void repeatStore(void const* self, void* buffer)
{
    auto const& plugin = *static_cast<Repeat const*>(self);
    std::memcpy(buffer, &plugin.times, sizeof(int32_t));
    std::memcpy(static_cast<char*>(buffer) + sizeof(int32_t), &plugin.factor, sizeof(float));
}
void repeatDestroy(void* self)
{
    delete static_cast<Repeat*>(self);
}
void* repeatClone(void const* self)
{
    return new Repeat{*static_cast<Repeat const*>(self)};
}
void repeatSetNameSpace(void* self, char const* given)
{
    auto& plugin = *static_cast<Repeat*>(self);
    std::snprintf(plugin.nameSpace, sizeof(plugin.nameSpace), "%s", given);
}
char const* repeatNameSpace(void const* self)
{
    return static_cast<Repeat const*>(self)->nameSpace;
}
int32_t repeatType(void const*, int32_t, int32_t const* types, int32_t)
{
    return types[0];
}
bool noBroadcast(void const*, int32_t, bool const*, int32_t)
{
    return false;
}
bool noInputBroadcast(void const*, int32_t)
{
    return false;
}
void extConfigure(void*, Dims const*, int32_t, Dims const*, int32_t, int32_t const*, int32_t const*, bool const*,
    bool const*, int32_t, int32_t)
{
}
void attach(void*, void*, void*, void*) {}
DimsExprs repeatShape(void* self, int32_t, DimsExprs const* inputs, int32_t, void* builder)
{
    DimsExprs shape = inputs[0];
    void const*& last = shape.d[shape.nbDims - 1];
    last = operation(builder, kProduct, last, constant(builder, static_cast<Repeat*>(self)->times));
    return shape;
}
bool repeatSupports(void*, int32_t position, TensorDesc const* descs, int32_t, int32_t)
{
    return isPlain(descs[position], descs[0].type);
}
void repeatConfigure(void*, DynamicDesc const*, int32_t, DynamicDesc const*, int32_t) {}
size_t repeatWorkspace(void const*, TensorDesc const*, int32_t, TensorDesc const*, int32_t)
{
    return 0;
}

template <typename T>
void repeat(Repeat const& plugin, Dims const& in, void const* from, void* to)
{
    int64_t const columns = in.d[in.nbDims - 1];
    auto const* x = static_cast<T const*>(from);
    auto* y = static_cast<T*>(to);
    for (int64_t i = 0; i < planesOf(in) * columns; ++i)
        for (int32_t k = 0; k < plugin.times; ++k)
            *y++ = static_cast<T>(static_cast<float>(x[i]) * plugin.factor);
}

int32_t repeatEnqueue(
    void* self, TensorDesc const* in, TensorDesc const*, void const* const* inputs, void* const* outputs, void*, void*)
{
    auto const& plugin = *static_cast<Repeat*>(self);
    if (in[0].type == kFloat)
        repeat<float>(plugin, in[0].dims, inputs[0], outputs[0]);
    else
        repeat<int32_t>(plugin, in[0].dims, inputs[0], outputs[0]);
    return 0;
}

Slot const kRepeatSlots[]{
    {"int getTensorRTVersion() const", code(repeatVersion)},
    {"const char* getPluginType() const", code(repeatName)},
    {"const char* getPluginVersion() const", code(one)},
    {"int getNbOutputs() const", code(oneOutput)},
    {"Dims64 getOutputDimensions(int, const Dims64*, int)", code(olderDims)},
    {"bool supportsFormat(DataType, TensorFormat) const", code(olderFormat)},
    {"void configureWithFormat(const Dims64*, int, const Dims64*, int, DataType, TensorFormat, int)",
        code(olderConfigure)},
    {"int initialize()", code(succeed)},
    {"void terminate()", code(nothing)},
    {"unsigned long getWorkspaceSize(int) const", code(olderWorkspace)},
    {"int enqueue(int, const void*const*, void*const*, void*, CUstream_st*)", code(olderEnqueue)},
    {"unsigned long getSerializationSize() const", code(repeatStoredSize)},
    {"void serialize(void*) const", code(repeatStore)},
    {"void destroy()", code(repeatDestroy)},
    {"IPluginV2* clone() const", code(repeatClone)},
    {"void setPluginNamespace(const char*)", code(repeatSetNameSpace)},
    {"const char* getPluginNamespace() const", code(repeatNameSpace)},
    {"~", code(nothing)},
    {"~ delete", code(repeatDestroy)},
    {"DataType getOutputDataType(int, const DataType*, int) const", code(repeatType)},
    {"bool isOutputBroadcastAcrossBatch(int, const bool*, int) const", code(noBroadcast)},
    {"bool canBroadcastInputAcrossBatch(int) const", code(noInputBroadcast)},
    {"void configurePlugin(const Dims64*, int, const Dims64*, int, const DataType*, const DataType*, const bool*, "
     "const bool*, TensorFormat, int)",
        code(extConfigure)},
    {"void attachToContext(cudnnContext*, cublasContext*, IGpuAllocator*)", code(attach)},
    {"void detachFromContext()", code(nothing)},
    {"DimsExprs getOutputDimensions(int, const DimsExprs*, int, IExprBuilder&)", code(repeatShape)},
    {"bool supportsFormatCombination(int, const PluginTensorDesc*, int, int)", code(repeatSupports)},
    {"void configurePlugin(const DynamicPluginTensorDesc*, int, const DynamicPluginTensorDesc*, int)",
        code(repeatConfigure)},
    {"unsigned long getWorkspaceSize(const PluginTensorDesc*, int, const PluginTensorDesc*, int) const",
        code(repeatWorkspace)},
    {"int enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void*const*, void*const*, void*, "
     "CUstream_st*)",
        code(repeatEnqueue)},
};
Table<30> const kRepeatTable{kRepeatSlots};

// ---- the creator

struct Creator
{
    Code const* table;
    char nameSpace[64];
};

Info creatorV1Info(void const*)
{
    return {"PLUGIN CREATOR_V1", 1, 0};
}
Fields const* repeatFieldNames(void*)
{
    static Field const kNames[]{{"times", nullptr, kFieldInt32, 1}, {"factor", nullptr, kFieldFloat32, 1}};
    static Fields const kAll{2, kNames};
    return &kAll;
}
void* repeatCreate(void* self, char const*, Fields const* fields)
{
    Field const* const times = fieldOf(fields, "times", kFieldInt32);
    Field const* const factor = fieldOf(fields, "factor", kFieldFloat32);
    if (times == nullptr || factor == nullptr)
        return nullptr;
    Repeat* const made = newRepeat(*static_cast<int32_t const*>(times->data), *static_cast<float const*>(factor->data));
    repeatSetNameSpace(made, static_cast<Creator*>(self)->nameSpace);
    return made;
}
void* repeatRestore(void*, char const*, void const* data, size_t length)
{
    if (length != sizeof(int32_t) + sizeof(float))
        return nullptr;
    int32_t times{0};
    float factor{0.0F};
    std::memcpy(&times, data, sizeof(times));
    std::memcpy(&factor, static_cast<char const*>(data) + sizeof(times), sizeof(factor));
    return newRepeat(times, factor);
}
void creatorSetNameSpace(void* self, char const* given)
{
    auto& creator = *static_cast<Creator*>(self);
    std::snprintf(creator.nameSpace, sizeof(creator.nameSpace), "%s", given);
}
char const* creatorNameSpace(void const* self)
{
    return static_cast<Creator const*>(self)->nameSpace;
}

Slot const kRepeatCreatorSlots[]{
    {"APILanguage getAPILanguage() const", code(languageIsCpp)},
    {"InterfaceInfo getInterfaceInfo() const", code(creatorV1Info)},
    {"~", code(nothing)},
    {"~ delete", code(nothing)},
    {"const char* getPluginName() const", code(repeatName)},
    {"const char* getPluginVersion() const", code(one)},
    {"const PluginFieldCollection* getFieldNames()", code(repeatFieldNames)},
    {"IPluginV2* createPlugin(const char*, const PluginFieldCollection*)", code(repeatCreate)},
    {"IPluginV2* deserializePlugin(const char*, const void*, unsigned long)", code(repeatRestore)},
    {"void setPluginNamespace(const char*)", code(creatorSetNameSpace)},
    {"const char* getPluginNamespace() const", code(creatorNameSpace)},
};
} // namespace

void* repeatCreator()
{
    static Table<11> const kTable{kRepeatCreatorSlots};
    static Creator creator{kTable.slots, "raw"};
    return &creator;
}

void describeRepeat(std::string& text)
{
    describe(text, "nvinfer1::IPluginV2DynamicExt", kRepeatSlots);
    describe(text, "nvinfer1::IPluginCreator", kRepeatCreatorSlots);
}

} // namespace raw
