// CollectiveLayer: an exchange between devices, of which there is one: what comes in goes out.
#pragma once

#include "api/network/layer_base.h"

namespace tenon::api
{

class CollectiveLayer final : public nvinfer1::IDistCollectiveLayer,
                              public missing::DistCollectiveLayer,
                              public LayerBase
{
  public:
    //! What addDistCollective() says.
    struct Exchange
    {
        nvinfer1::CollectiveOperation operation;
        nvinfer1::ReduceOperation reduction;
        int64_t root;
        std::vector<int64_t> groups;

        //! Of the operation and its parts alone, whatever the number of devices.
        Result<Done> verify() const;
    };
    CollectiveLayer(Network& network, Exchange exchange);
    nvinfer1::ILayer* layerFront() noexcept override
    {
        return this;
    }
    LayerPtr fieldsAsLayer() const override;
    Result<std::vector<Operand>> operands() const override;
    bool setNbRanks(int32_t nbRanks) noexcept override;
    int32_t getNbRanks() const noexcept override;

  protected:
    void notImplemented(char const* call) const noexcept override
    {
        LayerBase::notImplemented(call);
    }

  private:
    Exchange mExchange;
    int32_t mNbRanks{1};
};

} // namespace tenon::api
