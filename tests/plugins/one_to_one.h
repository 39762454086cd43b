// OneToOne: a V3 plugin of one input and one output of the same shape and type; tests override what they are about.
#pragma once

#include "NvInfer.h"
#include "plugins/journal.h"

#include <memory>
#include <string>
#include <vector>

namespace plugintest
{

using namespace nvinfer1;

//! P: the class itself, copyable; it has `static constexpr char const* kType` and gets its fields back by
//! `void restore(PluginFieldCollection const&)`.
//! Build: IPluginV3OneBuild or IPluginV3OneBuildV2.
template <typename P, typename Build = IPluginV3OneBuild>
class OneToOne : public IPluginV3, public IPluginV3OneCore, public Build, public IPluginV3OneRuntime, public Journaled
{
  public:
    OneToOne() = default;
    OneToOne(OneToOne const& other)
        : IPluginV3{},
          IPluginV3OneCore{},
          Build{},
          IPluginV3OneRuntime{},
          Journaled{},
          fields{other.fields}
    {
    }
    std::vector<PluginField> fields; //!< What getFieldsToSerialize gives.

    IPluginCapability* getCapabilityInterface(PluginCapabilityType kind) noexcept override
    {
        switch (kind)
        {
        case PluginCapabilityType::kCORE: return static_cast<IPluginV3OneCore*>(this);
        case PluginCapabilityType::kBUILD: return static_cast<Build*>(this);
        case PluginCapabilityType::kRUNTIME: return static_cast<IPluginV3OneRuntime*>(this);
        }
        return nullptr;
    }
    IPluginV3* clone() noexcept override
    {
        auto* copy = new P{static_cast<P const&>(*this)};
        note("clone", std::to_string(copy->number()));
        return copy;
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return P::kType;
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return "";
    }
    int32_t configurePlugin(
        DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*, int32_t) noexcept override
    {
        note("configurePlugin");
        return 0;
    }
    int32_t getOutputDataTypes(DataType* made, int32_t, DataType const* given, int32_t) const noexcept override
    {
        made[0] = given[0];
        return 0;
    }
    int32_t getOutputShapes(DimsExprs const* given, int32_t, DimsExprs const*, int32_t, DimsExprs* made, int32_t,
        IExprBuilder&) noexcept override
    {
        made[0] = given[0];
        return 0;
    }
    bool supportsFormatCombination(
        int32_t pos, DynamicPluginTensorDesc const* ports, int32_t, int32_t) noexcept override
    {
        return ports[pos].desc.format == TensorFormat::kLINEAR && ports[pos].desc.type == ports[0].desc.type;
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 1;
    }
    int32_t setTactic(int32_t given) noexcept override
    {
        note("setTactic", std::to_string(given));
        return 0;
    }
    int32_t onShapeChange(PluginTensorDesc const*, int32_t, PluginTensorDesc const*, int32_t) noexcept override
    {
        note("onShapeChange");
        return 0;
    }
    IPluginV3* attachToContext(IPluginResourceContext*) noexcept override
    {
        return clone();
    }
    PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        note("getFieldsToSerialize");
        mCollection = {static_cast<int32_t>(fields.size()), fields.data()};
        return &mCollection;
    }
    void restore(PluginFieldCollection const&) {}

  private:
    PluginFieldCollection mCollection{};
};

template <typename P>
class OneToOneCreator final : public IPluginCreatorV3One
{
  public:
    explicit OneToOneCreator(char const* nameSpace = "")
        : mNameSpace{nameSpace}
    {
    }
    IPluginV3* createPlugin(AsciiChar const*, PluginFieldCollection const* fields, TensorRTPhase) noexcept override
    {
        auto plugin = std::make_unique<P>();
        if (fields != nullptr)
            plugin->restore(*fields);
        return plugin.release();
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mNames;
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return P::kType;
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return mNameSpace;
    }

  private:
    char const* mNameSpace;
    PluginFieldCollection mNames{0, nullptr};
};

} // namespace plugintest
