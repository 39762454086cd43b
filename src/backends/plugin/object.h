// EngineObject, ContextObject: the objects behind a custom layer, one in each engine and a copy of it in each context;
// all about them but how a device runs them.
#pragma once

#include "backends/plugin/ports.h"
#include "device/kernel.h"
#include "plugins/plugin.h"

namespace tenon::custom
{

//! What an engine's object and its copies share.
struct ObjectFacts
{
    PluginPorts ports;    //!< Without `stored`, which the object has now.
    int64_t workspace{0}; //!< What the object wants in this engine.
};

class ContextObject
{
  public:
    ContextObject(std::shared_ptr<ObjectFacts const> facts, plugins::PluginPtr plugin);

    Result<Done> reshape(std::span<TensorArg const> inputs, std::span<TensorArg const> outputs);
    //! The V2 family is configured anew when shapes or the profile change, and by nothing else (K2, K3).
    bool hearsAddresses() const noexcept
    {
        return mPlugin->identity().generation == plugins::Generation::kV3;
    }
    plugins::Plugin& plugin() const noexcept
    {
        return *mPlugin;
    }
    PluginPorts const& ports() const noexcept
    {
        return mFacts->ports;
    }
    //! Inputs first; with the takeovers, as of the last reshape().
    std::span<nvinfer1::PluginTensorDesc const> descs() const noexcept
    {
        return mDescs;
    }
    std::span<TakeOver const> takeOvers() const noexcept
    {
        return mTakeOvers;
    }

  private:
    Result<Done> checkWorkspace(plugins::Ports const& ports);

    std::shared_ptr<ObjectFacts const> mFacts;
    plugins::PluginPtr mPlugin;
    std::vector<nvinfer1::PluginTensorDesc> mDescs;
    std::vector<TakeOver> mTakeOvers;
};

class EngineObject
{
  public:
    //! What the creator makes of a step's fields, initialized and asked again as its generation wants it.
    static Result<EngineObject> restore(KernelSource const& source);

    ObjectFacts const& facts() const noexcept
    {
        return *mFacts;
    }
    Result<ContextObject> attach(ContextResources const& resources, plugins::LibraryHandles const& handles);
    //! The layer's fields with what the object would store now.
    Result<Bytes> storedFields();

  private:
    EngineObject(std::shared_ptr<ObjectFacts const> facts, plugins::PluginPtr plugin);

    std::shared_ptr<ObjectFacts const> mFacts;
    plugins::PluginPtr mPlugin;
};

} // namespace tenon::custom
