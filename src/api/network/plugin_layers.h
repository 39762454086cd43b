// Layers whose work is the user's: IPluginV2Layer and IPluginV3Layer.
#pragma once

#include "api/network/layer_base.h"

#include "layers/plugin.h"

namespace tenon::api
{

//! What both have: the object behind them, and inputs that are data first and shape inputs then.
class PluginLayer : public LayerBase
{
  public:
    PluginLayer(Network& network, nvinfer1::LayerType type, CustomLayer fields, int32_t outputs)
        : LayerBase{network, CustomLayer::kName, {.type = type, .maxInputs = 0, .outputs = outputs}},
          mFields{std::move(fields)}
    {
    }
    LayerPtr fieldsAsLayer() const override
    {
        return makeLayer(mFields);
    }
    CustomLayer const& fields() const noexcept
    {
        return mFields;
    }
    uint32_t shapeOperands() const noexcept override
    {
        auto const count = static_cast<int32_t>(inputs().size());
        uint32_t mask{0};
        for (int32_t i = mFields.dataInputs(count); i >= 0 && i < count && i < 32; ++i)
            mask |= 1U << static_cast<uint32_t>(i);
        return mask;
    }

  protected:
    CustomLayer mFields;
};

class PluginV2Layer final : public nvinfer1::IPluginV2Layer, public missing::PluginV2Layer, public PluginLayer
{
  public:
    PluginV2Layer(Network& network, CustomLayer fields, int32_t outputs)
        : PluginLayer{network, nvinfer1::LayerType::kPLUGIN_V2, std::move(fields), outputs}
    {
        mLayer = static_cast<LayerBase*>(this);
        mImpl = static_cast<missing::PluginV2Layer*>(this);
    }
    nvinfer1::ILayer* layerFront() noexcept override
    {
        return this;
    }
    nvinfer1::IPluginV2& getPlugin() noexcept override
    {
        return *mFields.live->v2();
    }

  protected:
    void notImplemented(char const* call) const noexcept override
    {
        LayerBase::notImplemented(call);
    }
};

class PluginV3Layer final : public nvinfer1::IPluginV3Layer, public missing::PluginV3Layer, public PluginLayer
{
  public:
    PluginV3Layer(Network& network, CustomLayer fields, int32_t outputs)
        : PluginLayer{network, nvinfer1::LayerType::kPLUGIN_V3, std::move(fields), outputs}
    {
        mLayer = static_cast<LayerBase*>(this);
        mImpl = static_cast<missing::PluginV3Layer*>(this);
    }
    nvinfer1::ILayer* layerFront() noexcept override
    {
        return this;
    }
    nvinfer1::IPluginV3& getPlugin() noexcept override
    {
        return *mFields.live->v3();
    }

  protected:
    void notImplemented(char const* call) const noexcept override
    {
        LayerBase::notImplemented(call);
    }
};

} // namespace tenon::api
