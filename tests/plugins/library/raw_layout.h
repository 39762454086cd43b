// Records and tables of functions as the published layout table of TensorRT 10.16 gives them
// (tools/api/abi-10.16.json), and nothing else: no header of the API. An object is a record whose first word points to
// a table of functions; each function stands beside the name that its slot has in the layout table, and tests compare
// those names with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace raw
{

struct Dims
{
    int32_t nbDims;
    int64_t d[8];
};

struct TensorDesc
{
    Dims dims;
    int32_t type;
    int32_t format;
    float scale;
};

struct DynamicDesc
{
    TensorDesc desc;
    Dims min;
    Dims max;
    Dims opt;
};

struct Field
{
    char const* name;
    void const* data;
    int32_t type;
    int32_t length;
};

struct Fields
{
    int32_t nbFields;
    Field const* fields;
};

struct Info
{
    char const* kind;
    int32_t major;
    int32_t minor;
};

struct DimsExprs
{
    int32_t nbDims;
    void const* d[8];
};

//! Where a member stands, for comparison with the table.
struct Place
{
    char const* record;
    char const* member; //!< Empty: the size of the record.
    int64_t at;
};

inline constexpr Place kPlaces[]{
    {"nvinfer1::Dims64", "", sizeof(Dims)},
    {"nvinfer1::Dims64", "nbDims", offsetof(Dims, nbDims)},
    {"nvinfer1::Dims64", "d", offsetof(Dims, d)},
    {"nvinfer1::PluginTensorDesc", "", sizeof(TensorDesc)},
    {"nvinfer1::PluginTensorDesc", "dims", offsetof(TensorDesc, dims)},
    {"nvinfer1::PluginTensorDesc", "type", offsetof(TensorDesc, type)},
    {"nvinfer1::PluginTensorDesc", "format", offsetof(TensorDesc, format)},
    {"nvinfer1::PluginTensorDesc", "scale", offsetof(TensorDesc, scale)},
    {"nvinfer1::DynamicPluginTensorDesc", "", sizeof(DynamicDesc)},
    {"nvinfer1::DynamicPluginTensorDesc", "desc", offsetof(DynamicDesc, desc)},
    {"nvinfer1::DynamicPluginTensorDesc", "min", offsetof(DynamicDesc, min)},
    {"nvinfer1::DynamicPluginTensorDesc", "max", offsetof(DynamicDesc, max)},
    {"nvinfer1::DynamicPluginTensorDesc", "opt", offsetof(DynamicDesc, opt)},
    {"nvinfer1::PluginField", "", sizeof(Field)},
    {"nvinfer1::PluginField", "name", offsetof(Field, name)},
    {"nvinfer1::PluginField", "data", offsetof(Field, data)},
    {"nvinfer1::PluginField", "type", offsetof(Field, type)},
    {"nvinfer1::PluginField", "length", offsetof(Field, length)},
    {"nvinfer1::PluginFieldCollection", "", sizeof(Fields)},
    {"nvinfer1::PluginFieldCollection", "nbFields", offsetof(Fields, nbFields)},
    {"nvinfer1::PluginFieldCollection", "fields", offsetof(Fields, fields)},
    {"nvinfer1::InterfaceInfo", "", sizeof(Info)},
    {"nvinfer1::InterfaceInfo", "kind", offsetof(Info, kind)},
    {"nvinfer1::InterfaceInfo", "major", offsetof(Info, major)},
    {"nvinfer1::InterfaceInfo", "minor", offsetof(Info, minor)},
    {"nvinfer1::DimsExprs", "", sizeof(DimsExprs)},
    {"nvinfer1::DimsExprs", "nbDims", offsetof(DimsExprs, nbDims)},
    {"nvinfer1::DimsExprs", "d", offsetof(DimsExprs, d)},
    {"nvinfer1::IExprBuilder", "mImpl", 8},
};

// Numbers that the layout table does not hold; those of the enumerations of 10.16.
inline constexpr int32_t kFloat{0};
inline constexpr int32_t kInt32{3};
inline constexpr int32_t kLinear{0};
inline constexpr int32_t kProduct{1};
inline constexpr int32_t kCeilDiv{8};
inline constexpr int32_t kFieldFloat32{1};
inline constexpr int32_t kFieldInt32{5};
inline constexpr int32_t kCapabilityCore{0};
inline constexpr int32_t kCapabilityBuild{1};
inline constexpr int32_t kCapabilityRuntime{2};
inline constexpr int32_t kVerbose{4};
inline constexpr int32_t kVersion{(3 << 24) | 101600}; // The upper byte: V2DynamicExt.

// ---- tables of functions

using Code = void (*)();

//! One row of a table: what the layout table calls the slot, and what stands there.
struct Slot
{
    char const* name;
    Code code;
};

template <typename R, typename... A>
Code code(R (*function)(A...))
{
    return reinterpret_cast<Code>(function);
}

template <size_t N>
struct Table
{
    Code slots[N];
    explicit Table(Slot const (&rows)[N])
    {
        for (size_t i = 0; i < N; ++i)
            slots[i] = rows[i].code;
    }
};

//! What lies behind the first word of an object from elsewhere.
inline Code slotOf(void const* object, size_t index)
{
    return (*static_cast<Code const* const*>(object))[index];
}

//! Functions of the engine's objects that this library calls.
struct Called
{
    char const* record;
    size_t slot;
    char const* name;
};
inline constexpr Called kConstant{"nvinfer1::apiv::VExprBuilder", 2, "const IDimensionExpr* constant(long)"};
inline constexpr Called kOperation{"nvinfer1::apiv::VExprBuilder", 3,
    "const IDimensionExpr* operation(DimensionOperation, const IDimensionExpr&, const IDimensionExpr&)"};
inline constexpr Called kFindLogger{"nvinfer1::ILoggerFinder", 0, "ILogger* findLogger()"};
inline constexpr Called kLog{"nvinfer1::ILogger", 0, "void log(ILogger::Severity, const char*)"};
inline constexpr Called kCalls[]{kConstant, kOperation, kFindLogger, kLog};

inline void const* constant(void* builder, int64_t value)
{
    void* const impl = static_cast<void**>(builder)[1];
    return reinterpret_cast<void const* (*)(void*, int64_t)>(slotOf(impl, kConstant.slot))(impl, value);
}

inline void const* operation(void* builder, int32_t what, void const* first, void const* second)
{
    void* const impl = static_cast<void**>(builder)[1];
    using Call = void const* (*)(void*, int32_t, void const*, void const*);
    return reinterpret_cast<Call>(slotOf(impl, kOperation.slot))(impl, what, first, second);
}

inline void log(void* finder, char const* text)
{
    void* const logger = reinterpret_cast<void* (*)(void*)>(slotOf(finder, kFindLogger.slot))(finder);
    if (logger != nullptr)
        reinterpret_cast<void (*)(void*, int32_t, char const*)>(slotOf(logger, kLog.slot))(logger, kVerbose, text);
}

inline bool isPlain(TensorDesc const& desc, int32_t firstType)
{
    return desc.format == kLinear && (desc.type == kFloat || desc.type == kInt32) && desc.type == firstType;
}

inline int64_t planesOf(Dims const& dims)
{
    int64_t planes{1};
    for (int32_t i = 0; i + 1 < dims.nbDims; ++i)
        planes *= dims.d[i];
    return planes;
}

inline Field const* fieldOf(Fields const* fields, char const* name, int32_t type)
{
    for (int32_t i = 0; fields != nullptr && i < fields->nbFields; ++i)
        if (std::strcmp(fields->fields[i].name, name) == 0 && fields->fields[i].type == type
            && fields->fields[i].length == 1)
            return fields->fields + i;
    return nullptr;
}

inline int32_t languageIsCpp(void const*)
{
    return 0;
}
inline void nothing(void*) {}

inline char const* one(void const*)
{
    return "1";
}
inline int32_t oneOutput(void const*)
{
    return 1;
}

//! A row of text for each slot: "slot", record, position, name.
template <size_t N>
void describe(std::string& text, char const* record, Slot const (&rows)[N])
{
    for (size_t i = 0; i < N; ++i)
        text += std::string{"slot\t"} + record + "\t" + std::to_string(i) + "\t" + rows[i].name + "\n";
}

//! What a plugin brings to the library: its creator, and its part of the description.
void* repeatCreator();
void* strideCreator();
void describeRepeat(std::string& text);
void describeStride(std::string& text);

} // namespace raw
