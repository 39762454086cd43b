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

//! The type of a plugin attribute's values.
enum class PluginFieldType : int32_t
{
    //! 16-bit floating point.
    kFLOAT16 = 0,
    //! 32-bit floating point.
    kFLOAT32 = 1,
    //! 64-bit floating point.
    kFLOAT64 = 2,
    //! 8-bit signed integer.
    kINT8 = 3,
    //! 16-bit signed integer.
    kINT16 = 4,
    //! 32-bit signed integer.
    kINT32 = 5,
    //! Characters; length counts them, without a closing zero unless one is part of the value.
    kCHAR = 6,
    //! Objects of type Dims.
    kDIMS = 7,
    //! Bytes that only the plugin can read; length counts bytes.
    kUNKNOWN = 8,
    //! 16-bit floating point with 7 mantissa bits.
    kBF16 = 9,
    //! 64-bit signed integer.
    kINT64 = 10,
    //! 8-bit floating point.
    kFP8 = 11,
    //! 4-bit signed integer, two to a byte.
    kINT4 = 12,
    //! 4-bit floating point, two to a byte.
    kFP4 = 13,
};

//! One named attribute of a plugin: passed to a creator, or stored in a plan.
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
        : name(name_),
          data(data_),
          type(type_),
          length(length_)
    {
    }
};

//! A list of attributes.
struct PluginFieldCollection
{
    //! How many attributes there are.
    int32_t nbFields{};
    //! The first of them; they belong to whoever made the collection.
    PluginField const* fields{};
};

//! The three faces of a V3 plugin.
enum class PluginCapabilityType : int32_t
{
    //! Name, version, namespace: IPluginV3OneCore.
    kCORE = 0,
    //! What the builder asks: IPluginV3OneBuild.
    kBUILD = 1,
    //! What a run asks: IPluginV3OneRuntime.
    kRUNTIME = 2,
};

//! When a plugin is made.
enum class TensorRTPhase : int32_t
{
    //! While a network is built.
    kBUILD = 0,
    //! While a plan is loaded.
    kRUNTIME = 1,
};

TENON_V_1_0_BEGIN
//! Base of the faces of a V3 plugin.
class IPluginCapability : public IVersionedInterface
{
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IPluginCapability)

TENON_V_1_0_BEGIN
//! Something that several plugins share, kept in the registry under a key; implemented by users. The registry keeps a
//! clone and never touches the object it was given.
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

    //! Frees what the object holds; called once, on the registered clone, when its last user is gone. The object must
    //! still be fit to be cloned.
    //! \return 0 on success.
    virtual int32_t release() noexcept = 0;

    //! \return a copy that the registry owns, or null on failure.
    virtual IPluginResource* clone() noexcept = 0;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IPluginResource)

TENON_V_1_0_BEGIN
//! Base of all plugin creators; what the registry holds.
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
//! A layer implemented by the user, in the generation that replaces all V2 forms. The object itself only hands out its
//! faces and copies of itself; it is born ready and needs no initialization.
class IPluginV3 : public IVersionedInterface
{
  public:
    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"PLUGIN", 1, 0};
    }

    //! \return the face of the given type, owned by this object, or null if it has none. kBUILD may be missing in an
    //! object made for kRUNTIME.
    virtual IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept = 0;

    //! \return a copy with the same parameters and at least the same faces, owned by the caller; null on failure.
    virtual IPluginV3* clone() noexcept = 0;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IPluginV3)
} // namespace nvinfer1

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif // NV_INFER_PLUGIN_BASE_H
