// RawStride: a V3 plugin made from the layout table. Every `step`-th element of the last axis.
#include "raw_layout.h"

namespace raw
{
namespace
{
struct Stride;

//! One of the four objects that a V3 plugin is, and the way back to the whole.
struct Part
{
    Code const* table;
    Stride* whole;
};

struct Stride
{
    Part plugin; //!< First: its address is that of the whole.
    Part core;
    Part build;
    Part runtime;
    int32_t step;
    int32_t tactic;
    Field field;
    Fields fields;
};
extern Table<6> const kStrideTable;
extern Table<7> const kStrideCoreTable;
extern Table<15> const kStrideBuildTable;
extern Table<9> const kStrideRuntimeTable;

Stride& strideOf(void const* part)
{
    return *static_cast<Part const*>(part)->whole;
}
void* newStride(int32_t step)
{
    auto* plugin = new Stride{{kStrideTable.slots, nullptr}, {kStrideCoreTable.slots, nullptr},
        {kStrideBuildTable.slots, nullptr}, {kStrideRuntimeTable.slots, nullptr}, step, -1, {}, {}};
    for (Part* part : {&plugin->plugin, &plugin->core, &plugin->build, &plugin->runtime})
        part->whole = plugin;
    return plugin;
}
Info pluginInfo(void const*)
{
    return {"PLUGIN", 1, 0};
}
Info coreInfo(void const*)
{
    return {"PLUGIN_V3ONE_CORE", 1, 0};
}
Info buildInfo(void const*)
{
    return {"PLUGIN_V3ONE_BUILD", 1, 0};
}
Info runtimeInfo(void const*)
{
    return {"PLUGIN_V3ONE_RUNTIME", 1, 0};
}
void strideDelete(void* self)
{
    delete &strideOf(self);
}
void* strideCapability(void* self, int32_t kind)
{
    Stride& plugin = strideOf(self);
    switch (kind)
    {
    case kCapabilityCore: return &plugin.core;
    case kCapabilityBuild: return &plugin.build;
    case kCapabilityRuntime: return &plugin.runtime;
    default: return nullptr;
    }
}
void* strideClone(void* self)
{
    return newStride(strideOf(self).step);
}
char const* strideName(void const*)
{
    return "RawStride";
}
char const* rawNameSpace(void const*)
{
    return "raw";
}
int32_t strideConfigure(void*, DynamicDesc const* in, int32_t nbIn, DynamicDesc const* out, int32_t nbOut)
{
    return nbIn == 1 && nbOut == 1 && in[0].desc.type == out[0].desc.type && in[0].max.nbDims == in[0].desc.dims.nbDims
        ? 0
        : 1;
}
int32_t strideTypes(void const*, int32_t* out, int32_t, int32_t const* in, int32_t)
{
    out[0] = in[0];
    return 0;
}
int32_t strideShapes(
    void* self, DimsExprs const* in, int32_t, DimsExprs const*, int32_t, DimsExprs* out, int32_t, void* builder)
{
    out[0] = in[0];
    void const*& last = out[0].d[out[0].nbDims - 1];
    last = operation(builder, kCeilDiv, last, constant(builder, strideOf(self).step));
    return last == nullptr ? 1 : 0;
}
bool strideSupports(void*, int32_t position, DynamicDesc const* descs, int32_t, int32_t)
{
    return isPlain(descs[position].desc, descs[0].desc.type);
}
size_t strideWorkspace(void const*, DynamicDesc const*, int32_t, DynamicDesc const*, int32_t)
{
    return 32;
}
int32_t strideTactics(void*, int32_t* tactics, int32_t count)
{
    if (count != 1)
        return 1;
    tactics[0] = 7;
    return 0;
}
int32_t strideTacticCount(void*)
{
    return 1;
}
char const* noText(void*)
{
    return nullptr;
}
int32_t strideLimit(void*)
{
    return 10;
}
char const* strideMetadata(void*)
{
    return "raw stride";
}
int32_t strideSetTactic(void* self, int32_t tactic)
{
    strideOf(self).tactic = tactic;
    return tactic == 7 ? 0 : 1;
}
int32_t strideShapeChange(void*, TensorDesc const*, int32_t, TensorDesc const*, int32_t)
{
    return 0;
}
int32_t strideEnqueue(void* self, TensorDesc const* in, TensorDesc const* out, void const* const* inputs,
    void* const* outputs, void* workspace, void*)
{
    Stride const& plugin = strideOf(self);
    if (plugin.tactic != 7)
        return 2;
    std::memset(workspace, 0x3C, 32);
    int64_t const columns = in[0].dims.d[in[0].dims.nbDims - 1];
    int64_t const kept = out[0].dims.d[out[0].dims.nbDims - 1];
    auto const* x = static_cast<int32_t const*>(inputs[0]); // Both types have four bytes.
    auto* y = static_cast<int32_t*>(outputs[0]);
    for (int64_t plane = 0; plane < planesOf(in[0].dims); ++plane)
        for (int64_t j = 0; j < kept; ++j)
            y[plane * kept + j] = x[plane * columns + j * plugin.step];
    return 0;
}
void* strideAttach(void* self, void*)
{
    return strideClone(self);
}
Fields const* strideStored(void* self)
{
    Stride& plugin = strideOf(self);
    plugin.field = {"step", &plugin.step, kFieldInt32, 1};
    plugin.fields = {1, &plugin.field};
    return &plugin.fields;
}

Slot const kStrideSlots[]{
    {"APILanguage getAPILanguage() const", code(languageIsCpp)},
    {"InterfaceInfo getInterfaceInfo() const", code(pluginInfo)},
    {"~", code(nothing)},
    {"~ delete", code(strideDelete)},
    {"IPluginCapability* getCapabilityInterface(PluginCapabilityType)", code(strideCapability)},
    {"IPluginV3* clone()", code(strideClone)},
};
Slot const kStrideCoreSlots[]{
    {"APILanguage getAPILanguage() const", code(languageIsCpp)},
    {"InterfaceInfo getInterfaceInfo() const", code(coreInfo)},
    {"~", code(nothing)},
    {"~ delete", code(nothing)},
    {"const char* getPluginName() const", code(strideName)},
    {"const char* getPluginVersion() const", code(one)},
    {"const char* getPluginNamespace() const", code(rawNameSpace)},
};
Slot const kStrideBuildSlots[]{
    {"APILanguage getAPILanguage() const", code(languageIsCpp)},
    {"InterfaceInfo getInterfaceInfo() const", code(buildInfo)},
    {"~", code(nothing)},
    {"~ delete", code(nothing)},
    {"int configurePlugin(const DynamicPluginTensorDesc*, int, const DynamicPluginTensorDesc*, int)",
        code(strideConfigure)},
    {"int getOutputDataTypes(DataType*, int, const DataType*, int) const", code(strideTypes)},
    {"int getOutputShapes(const DimsExprs*, int, const DimsExprs*, int, DimsExprs*, int, IExprBuilder&)",
        code(strideShapes)},
    {"bool supportsFormatCombination(int, const DynamicPluginTensorDesc*, int, int)", code(strideSupports)},
    {"int getNbOutputs() const", code(oneOutput)},
    {"unsigned long getWorkspaceSize(const DynamicPluginTensorDesc*, int, const DynamicPluginTensorDesc*, int) const",
        code(strideWorkspace)},
    {"int getValidTactics(int*, int)", code(strideTactics)},
    {"int getNbTactics()", code(strideTacticCount)},
    {"const char* getTimingCacheID()", code(noText)},
    {"int getFormatCombinationLimit()", code(strideLimit)},
    {"const char* getMetadataString()", code(strideMetadata)},
};
Slot const kStrideRuntimeSlots[]{
    {"APILanguage getAPILanguage() const", code(languageIsCpp)},
    {"InterfaceInfo getInterfaceInfo() const", code(runtimeInfo)},
    {"~", code(nothing)},
    {"~ delete", code(nothing)},
    {"int setTactic(int)", code(strideSetTactic)},
    {"int onShapeChange(const PluginTensorDesc*, int, const PluginTensorDesc*, int)", code(strideShapeChange)},
    {"int enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void*const*, void*const*, void*, "
     "CUstream_st*)",
        code(strideEnqueue)},
    {"IPluginV3* attachToContext(IPluginResourceContext*)", code(strideAttach)},
    {"const PluginFieldCollection* getFieldsToSerialize()", code(strideStored)},
};
Table<6> const kStrideTable{kStrideSlots};
Table<7> const kStrideCoreTable{kStrideCoreSlots};
Table<15> const kStrideBuildTable{kStrideBuildSlots};
Table<9> const kStrideRuntimeTable{kStrideRuntimeSlots};

// ---- the creator

Info creatorV3Info(void const*)
{
    return {"PLUGIN CREATOR_V3ONE", 1, 0};
}
void* strideCreate(void*, char const*, Fields const* fields, int32_t)
{
    Field const* const step = fieldOf(fields, "step", kFieldInt32);
    return step == nullptr ? nullptr : newStride(*static_cast<int32_t const*>(step->data));
}
Fields const* strideFieldNames(void*)
{
    static Field const kName{"step", nullptr, kFieldInt32, 1};
    static Fields const kAll{1, &kName};
    return &kAll;
}

Slot const kStrideCreatorSlots[]{
    {"APILanguage getAPILanguage() const", code(languageIsCpp)},
    {"InterfaceInfo getInterfaceInfo() const", code(creatorV3Info)},
    {"~", code(nothing)},
    {"~ delete", code(nothing)},
    {"IPluginV3* createPlugin(const char*, const PluginFieldCollection*, TensorRTPhase)", code(strideCreate)},
    {"const PluginFieldCollection* getFieldNames()", code(strideFieldNames)},
    {"const char* getPluginName() const", code(strideName)},
    {"const char* getPluginVersion() const", code(one)},
    {"const char* getPluginNamespace() const", code(rawNameSpace)},
};

struct StrideCreator
{
    Code const* table;
};
} // namespace

void* strideCreator()
{
    static Table<9> const kTable{kStrideCreatorSlots};
    static StrideCreator creator{kTable.slots};
    return &creator;
}

void describeStride(std::string& text)
{
    describe(text, "nvinfer1::IPluginV3", kStrideSlots);
    describe(text, "nvinfer1::IPluginV3OneCore", kStrideCoreSlots);
    describe(text, "nvinfer1::IPluginV3OneBuild", kStrideBuildSlots);
    describe(text, "nvinfer1::IPluginV3OneRuntime", kStrideRuntimeSlots);
    describe(text, "nvinfer1::IPluginCreatorV3One", kStrideCreatorSlots);
}

} // namespace raw
