// Flexible: plugins whose every answer a test may replace; left alone they copy their first input to each output.
#pragma once

#include "NvInfer.h"
#include "plugins/circ_pad.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace plugintest
{

using TensorDescs = PluginTensorDesc const*;
using DynamicDescs = DynamicPluginTensorDesc const*;

inline int64_t volumeOf(Dims const& dims)
{
    int64_t volume{1};
    for (int32_t i = 0; i < dims.nbDims; ++i)
        volume *= dims.d[i];
    return volume;
}

//! What all copies of a V3 plugin answer. An empty function stands for the plain answer.
struct Behaviour
{
    std::string name{"Flexible"};
    std::string version{"1"};
    std::string nameSpace;
    int32_t outputs{1};
    int32_t limit{IPluginV3OneBuild::kDEFAULT_FORMAT_COMBINATION_LIMIT};
    size_t workspace{0};
    char const* metadata{nullptr};
    std::vector<int32_t> tactics;
    std::vector<PluginField> fields;
    //! Lacks this capability; −1: has all.
    int32_t lacks{-1};
    bool confuses{false}; //!< Gives the capability for running where that for building is asked for.

    std::function<int32_t(DataType* out, DataType const* in)> types;
    std::function<int32_t(DimsExprs const* in, DimsExprs const* values, DimsExprs* out, IExprBuilder& builder)> shapes;
    std::function<bool(int32_t position, DynamicDescs descs)> supports;
    std::function<int32_t(DynamicDescs in, int32_t inputs, DynamicDescs out)> configure;
    std::function<int32_t(TensorDescs in, TensorDescs out)> shapeChange;
    std::function<int32_t(
        TensorDescs in, TensorDescs out, void const* const* inputs, void* const* outputs, void* workspace)>
        enqueue;
    std::function<int32_t(int32_t tactic)> setTactic;
    std::function<int32_t(int32_t output)> aliased;
    std::function<IPluginV3*(IPluginV3& self)> clone;
    std::function<IPluginV3*(IPluginV3& self, IPluginResourceContext* resources)> attach;
};

//! Build: IPluginV3OneBuild or IPluginV3OneBuildV2.
template <typename Build>
class FlexibleOf : public IPluginV3, public IPluginV3OneCore, public Build, public IPluginV3OneRuntime, public Journaled
{
  public:
    explicit FlexibleOf(std::shared_ptr<Behaviour> behaviour)
        : mBehaviour{std::move(behaviour)}
    {
    }
    FlexibleOf(FlexibleOf const& other)
        : FlexibleOf{other.mBehaviour}
    {
    }
    IPluginCapability* getCapabilityInterface(PluginCapabilityType kind) noexcept override
    {
        if (static_cast<int32_t>(kind) == mBehaviour->lacks)
            return nullptr;
        switch (kind)
        {
        case PluginCapabilityType::kCORE: return static_cast<IPluginV3OneCore*>(this);
        case PluginCapabilityType::kBUILD:
            if (mBehaviour->confuses)
                return static_cast<IPluginV3OneRuntime*>(this);
            return static_cast<Build*>(this);
        case PluginCapabilityType::kRUNTIME: return static_cast<IPluginV3OneRuntime*>(this);
        }
        return nullptr;
    }
    IPluginV3* clone() noexcept override
    {
        note("clone");
        return mBehaviour->clone ? mBehaviour->clone(*this) : new FlexibleOf{*this};
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return mBehaviour->name.c_str();
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return mBehaviour->version.c_str();
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return mBehaviour->nameSpace.c_str();
    }
    int32_t getNbOutputs() const noexcept override
    {
        return mBehaviour->outputs;
    }
    int32_t configurePlugin(DynamicDescs in, int32_t inputs, DynamicDescs out, int32_t) noexcept override
    {
        note("configurePlugin");
        return mBehaviour->configure ? mBehaviour->configure(in, inputs, out) : 0;
    }
    int32_t getOutputDataTypes(
        DataType* out, int32_t outputs, DataType const* in, int32_t inputs) const noexcept override
    {
        note("getOutputDataTypes");
        std::fill_n(out, outputs, inputs > 0 ? in[0] : DataType::kFLOAT);
        return mBehaviour->types ? mBehaviour->types(out, in) : 0;
    }
    int32_t getOutputShapes(DimsExprs const* in, int32_t inputs, DimsExprs const* values, int32_t, DimsExprs* out,
        int32_t outputs, IExprBuilder& builder) noexcept override
    {
        note("getOutputShapes", std::to_string(inputs));
        if (mBehaviour->shapes)
            return mBehaviour->shapes(in, values, out, builder);
        std::fill_n(out, outputs, in[0]);
        return 0;
    }
    bool supportsFormatCombination(int32_t position, DynamicDescs descs, int32_t, int32_t) noexcept override
    {
        note("supportsFormatCombination", std::to_string(position));
        if (mBehaviour->supports)
            return mBehaviour->supports(position, descs);
        return descs[position].desc.format == TensorFormat::kLINEAR && descs[position].desc.type == descs[0].desc.type;
    }
    size_t getWorkspaceSize(DynamicDescs, int32_t, DynamicDescs, int32_t) const noexcept override
    {
        note("getWorkspaceSize");
        return mBehaviour->workspace;
    }
    int32_t getNbTactics() noexcept override
    {
        return static_cast<int32_t>(mBehaviour->tactics.size());
    }
    int32_t getValidTactics(int32_t* tactics, int32_t count) noexcept override
    {
        std::copy_n(mBehaviour->tactics.begin(), count, tactics);
        return 0;
    }
    int32_t getFormatCombinationLimit() noexcept override
    {
        return mBehaviour->limit;
    }
    char const* getMetadataString() noexcept override
    {
        return mBehaviour->metadata;
    }
    int32_t setTactic(int32_t tactic) noexcept override
    {
        note("setTactic", std::to_string(tactic));
        return mBehaviour->setTactic ? mBehaviour->setTactic(tactic) : 0;
    }
    int32_t onShapeChange(TensorDescs in, int32_t, TensorDescs out, int32_t) noexcept override
    {
        note("onShapeChange", text(in[0].dims));
        return mBehaviour->shapeChange ? mBehaviour->shapeChange(in, out) : 0;
    }
    int32_t enqueue(TensorDescs in, TensorDescs out, void const* const* inputs, void* const* outputs, void* workspace,
        cudaStream_t) noexcept override
    {
        note("enqueue", text(in[0].dims));
        if (mBehaviour->enqueue)
            return mBehaviour->enqueue(in, out, inputs, outputs, workspace);
        for (int32_t i = 0; i < mBehaviour->outputs; ++i)
            std::memcpy(outputs[i], inputs[0], static_cast<size_t>(volumeOf(out[i].dims)) * elementSize(out[i].type));
        return 0;
    }
    IPluginV3* attachToContext(IPluginResourceContext* resources) noexcept override
    {
        note("attachToContext");
        return mBehaviour->attach ? mBehaviour->attach(*this, resources) : new FlexibleOf{*this};
    }
    PluginFieldCollection const* getFieldsToSerialize() noexcept override
    {
        note("getFieldsToSerialize");
        mCollection = {static_cast<int32_t>(mBehaviour->fields.size()), mBehaviour->fields.data()};
        return &mCollection;
    }
    Behaviour& behaviour() noexcept
    {
        return *mBehaviour;
    }

  protected:
    std::shared_ptr<Behaviour> mBehaviour;

  private:
    PluginFieldCollection mCollection{};
};

using Flexible = FlexibleOf<IPluginV3OneBuild>;

//! With aliases.
class FlexibleV2 final : public FlexibleOf<IPluginV3OneBuildV2>
{
  public:
    using FlexibleOf::FlexibleOf;
    IPluginV3* clone() noexcept override
    {
        return new FlexibleV2{mBehaviour};
    }
    IPluginV3* attachToContext(IPluginResourceContext*) noexcept override
    {
        return new FlexibleV2{mBehaviour};
    }
    int32_t getAliasedInput(int32_t output) noexcept override
    {
        note("getAliasedInput");
        return mBehaviour->aliased ? mBehaviour->aliased(output) : -1;
    }
};

//! Makes plugins of one behaviour and keeps what it was given.
template <typename P>
class FlexibleCreator final : public IPluginCreatorV3One
{
  public:
    struct Given
    {
        std::string name;
        PluginFieldType type;
        int32_t length;
        std::vector<uint8_t> data;
    };
    explicit FlexibleCreator(std::shared_ptr<Behaviour> behaviour)
        : mBehaviour{std::move(behaviour)}
    {
    }
    IPluginV3* createPlugin(
        AsciiChar const*, PluginFieldCollection const* fields, TensorRTPhase phase) noexcept override
    {
        phases.push_back(phase);
        given.clear();
        for (int32_t i = 0; i < fields->nbFields; ++i)
        {
            PluginField const& field = fields->fields[i];
            auto const* bytes = static_cast<uint8_t const*>(field.data);
            size_t const size = bytesOf ? bytesOf(field) : 0;
            given.push_back({field.name, field.type, field.length, {bytes, bytes + size}});
            hadAddresses = hadAddresses && field.data != nullptr;
        }
        return make ? make() : new P{mBehaviour};
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mNone;
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return mBehaviour->name.c_str();
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return mBehaviour->version.c_str();
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return mBehaviour->nameSpace.c_str();
    }
    std::vector<TensorRTPhase> phases;
    std::vector<Given> given; //!< Of the last call.
    bool hadAddresses{true};
    std::function<size_t(PluginField const&)> bytesOf;
    std::function<IPluginV3*()> make;

  private:
    std::shared_ptr<Behaviour> mBehaviour;
    PluginFieldCollection mNone{};
};

} // namespace plugintest
