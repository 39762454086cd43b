//! \file
//! What every plugin generation shares: fields, capabilities, creators, resources.

#ifndef NV_INFER_PLUGIN_BASE_H
#define NV_INFER_PLUGIN_BASE_H

#include "NvInferRuntimeBase.h"

#if defined(__GNUC__)
// Deprecated calls refer to one another here; only their use elsewhere is worth a warning.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace nvinfer1
{

enum class PluginFieldType : int32_t
{
    kFLOAT16 = 0,
    kFLOAT32 = 1,
    kFLOAT64 = 2,
    kINT8 = 3,
    kINT16 = 4,
    kINT32 = 5,
    kCHAR = 6,
    kDIMS = 7,
    kUNKNOWN = 8,
    kBF16 = 9,
    kINT64 = 10,
    kFP8 = 11,
    kINT4 = 12,
    kFP4 = 13,
};

class PluginField
{
  public:
    //! The attribute's name, unique within its collection.
    AsciiChar const* name;

    //! The first of the values; whoever makes the field owns them.
    void const* data;

    //! The type of the values.
    PluginFieldType type;

    //! How many values data points to; bytes where the type is kUNKNOWN.
    int32_t length;

    //! A field that refers to the given name and values and copies neither.
    PluginField(AsciiChar const* const name_ = nullptr, void const* const data_ = nullptr,
        PluginFieldType const type_ = PluginFieldType::kUNKNOWN, int32_t const length_ = 0) noexcept
        : name(name_)
        , data(data_)
        , type(type_)
        , length(length_)
    {
    }
};

struct PluginFieldCollection
{
    int32_t nbFields{};
    PluginField const* fields{};
};

enum class PluginCapabilityType : int32_t
{
    kCORE = 0,
    kBUILD = 1,
    kRUNTIME = 2,
};

enum class TensorRTPhase : int32_t
{
    kBUILD = 0,
    kRUNTIME = 1,
};

TENON_V_1_0_BEGIN
class IPluginCapability : public IVersionedInterface
{
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IPluginCapability)

TENON_V_1_0_BEGIN
class IPluginResource : public IVersionedInterface
{
  public:
    IPluginResource() = default;
    IPluginResource(IPluginResource const&) = default;
    IPluginResource(IPluginResource&&) = default;
    IPluginResource& operator=(IPluginResource const&) & = default;
    IPluginResource& operator=(IPluginResource&&) & = default;

    ~IPluginResource() noexcept override = default;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IPluginResource", 1, 0};
    }

    virtual int32_t release() noexcept = 0;

    virtual IPluginResource* clone() noexcept = 0;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IPluginResource)

TENON_V_1_0_BEGIN
class IPluginCreatorInterface : public IVersionedInterface
{
  public:
    ~IPluginCreatorInterface() noexcept override = default;

  protected:
    IPluginCreatorInterface() = default;
    IPluginCreatorInterface(IPluginCreatorInterface const&) = default;
    IPluginCreatorInterface(IPluginCreatorInterface&&) = default;
    IPluginCreatorInterface& operator=(IPluginCreatorInterface const&) & = default;
    IPluginCreatorInterface& operator=(IPluginCreatorInterface&&) & = default;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IPluginCreatorInterface)

TENON_V_1_0_BEGIN
class IPluginV3 : public IVersionedInterface
{
  public:
    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN", 1, 0};
    }

    virtual IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept = 0;

    virtual IPluginV3* clone() noexcept = 0;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IPluginV3)
} // namespace nvinfer1

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif // NV_INFER_PLUGIN_BASE_H
