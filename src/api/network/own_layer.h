// OwnLayer: a layer that the TensorRT API has not, and whose fields do not change any more. Users reach it by a call of
// ours; its public class is the one that has no attributes of its own.
#pragma once

#include "api/network/layer_base.h"

namespace tenon::api
{

class OwnLayer final : public nvinfer1::IIdentityLayer, public missing::IdentityLayer, public LayerBase
{
  public:
    OwnLayer(Network& network, LayerPtr fields, int32_t outputs);
    nvinfer1::ILayer* layerFront() noexcept override
    {
        return this;
    }
    LayerPtr fieldsAsLayer() const override
    {
        return mFields;
    }

  protected:
    void notImplemented(char const* call) const noexcept override
    {
        LayerBase::notImplemented(call);
    }

  private:
    LayerPtr mFields;
};

} // namespace tenon::api
