// RefitWeights: the weights of a network that a refit will be able to replace, as its graph is written.
#pragma once

#include "api/network/network.h"

#include <map>

namespace tenon::api
{

class RefitWeights
{
  public:
    RefitWeights(Network const& network, RefitMode mode)
        : mNetwork{network},
          mMode{mode}
    {
    }

    //! The constant is weights of the layer. `isMadeFor`: the program is made for its values.
    void note(std::string const& layer, nvinfer1::WeightsRole role, std::shared_ptr<Constant const> const& constant,
        bool isMadeFor);
    std::vector<SourceWeights> take()
    {
        return std::move(mAll);
    }

  private:
    using Key = std::tuple<void const*, DType, int64_t>;

    Network const& mNetwork;
    RefitMode mMode;
    std::map<Key, int32_t> mNumbers;
    std::vector<SourceWeights> mAll;
};

} // namespace tenon::api
