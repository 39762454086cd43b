// The network under construction: what all nodes of a model share.
#pragma once

#include "log.h"
#include "model.h"
#include "reasons.h"

#include <unordered_map>
#include <unordered_set>

namespace tenon::onnx
{

class Subgraphs;

class Network
{
  public:
    Network(nvinfer1::INetworkDefinition& api, Model& model, Log& log)
        : api{api},
          model{model},
          log{log}
    {
    }

    nvinfer1::INetworkDefinition& api;
    Model& model;
    Log& log;
    Subgraphs* subgraphs{nullptr}; //!< Imports the graphs that nodes carry.
    Reasons reasons;               //!< What the network says against a layer.
    std::string namePrefix;        //!< Of the calls of functions that are being imported: "call/".
    bool pluginsOverride{false};   //!< Plugins stand for operators of their name that the importer knows.

    //! The name itself if it is new, else with a number behind.
    std::string uniqueName(std::string const& name);
    //! The tensor of a value; a constant becomes a layer of its own name.
    nvinfer1::ITensor& tensor(Value const& value);
    //! The weights of a constant, named after it in the network, so that a refit finds them.
    nvinfer1::Weights weights(Value const& value);
    //! All that were named, in the order of the model.
    std::vector<std::pair<std::string, nvinfer1::Weights>> const& namedWeights() const noexcept
    {
        return mWeights;
    }

    //! Operators whose layer the network does not have: asked once, not at each of their nodes.
    std::unordered_set<std::string> lacking;

    //! The int8 numbers that uint8 ones are 128 more than, of what was quantized.
    std::unordered_map<nvinfer1::ITensor const*, Value> signedForms;

    //! One-element tensors of a tensor's extents, and its shape: made once per tensor.
    std::unordered_map<nvinfer1::ITensor const*, Value> shapes;
    std::unordered_map<nvinfer1::ITensor const*, std::unordered_map<int32_t, Value>> extents;

  private:
    std::unordered_map<std::string, int> mNames;
    std::vector<std::pair<std::string, nvinfer1::Weights>> mWeights;
    std::unordered_map<std::string, int> mWeightsNames;
    std::unordered_set<void const*> mNamedValues;
};

} // namespace tenon::onnx
