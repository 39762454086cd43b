// V2Family: what the plugins of all V2 generations share.
#pragma once

#include "plugins/capability.h"
#include "plugins/failure.h"
#include "plugins/guarded_bytes.h"
#include "plugins/plugin.h"
#include "plugins/trace.h"

#include <cstdint>
#include <utility>

namespace tenon::plugins
{

inline std::vector<nvinfer1::PluginTensorDesc> descsOf(std::span<Port const> ports)
{
    std::vector<nvinfer1::PluginTensorDesc> descs;
    for (Port const& port : ports)
        descs.push_back(port.desc);
    return descs;
}

//! What all generations of the family share.
class V2Family : public Plugin
{
  public:
    V2Family(nvinfer1::IPluginV2* plugin, Generation generation)
        : mPlugin{plugin},
          mIdentity{stringOf(plugin->getPluginType()), stringOf(plugin->getPluginVersion()),
              stringOf(plugin->getPluginNamespace()), generation}
    {
    }
    ~V2Family() override
    {
        finish();
        if (mIsAttached)
            alsoTold("detachFromContext", "its context is gone", [&] { ext().detachFromContext(); });
        if (mIsOwned)
            alsoTold("destroy", "whoever had it is gone", [&] { mPlugin->destroy(); });
    }
    void disown() noexcept
    {
        mIsOwned = false;
    }

    Identity const& identity() const noexcept override
    {
        return mIdentity;
    }
    nvinfer1::IPluginV2* v2() noexcept override
    {
        return mPlugin;
    }
    int32_t outputCount() override
    {
        return alsoTold("getNbOutputs", "its outputs are counted", [&] { return mPlugin->getNbOutputs(); });
    }
    Result<std::vector<DType>> outputTypes(std::span<DType const> inputs) override
    {
        std::vector<DType> types;
        for (int32_t i = 0; i < outputCount(); ++i)
        {
            DType const standard = inputs.empty() ? DType::kFLOAT : inputs.front(); // J9
            types.push_back(mIdentity.generation == Generation::kV2
                    ? standard
                    : ext().getOutputDataType(i, inputs.data(), static_cast<int32_t>(inputs.size())));
            if (!isValid(types.back()))
                return badConfig("getOutputDataType({}) of plugin {} answers {}, which is no type{}", i,
                    mIdentity.show(), static_cast<int32_t>(types.back()), because());
        }
        return types;
    }
    int32_t combinationLimit() override
    {
        return nvinfer1::IPluginV2DynamicExt::kFORMAT_COMBINATION_LIMIT;
    }
    Result<std::vector<int32_t>> tactics() override
    {
        return std::vector<int32_t>{};
    }
    Result<Done> setTactic(int32_t) override
    {
        return Done{};
    }

    Result<Done> initialize() override
    {
        if (int32_t const code = mPlugin->initialize(); code != 0)
            return Error{
                nvinfer1::ErrorCode::kFAILED_INITIALIZATION, failedCall("initialize()", mIdentity, code).message};
        mIsInitialized = true;
        return Done{};
    }
    void terminate() noexcept override
    {
        finish();
    }
    Result<PluginPtr> clone() override
    {
        return take(TENON_TRY(cloned(false)));
    }
    Result<PluginPtr> attach(Resources const& resources) override
    {
        PluginPtr copy = TENON_TRY(take(TENON_TRY(cloned(mIdentity.generation != Generation::kV2))));
        auto& attached = static_cast<V2Family&>(*copy);
        if (attached.mIdentity.generation != Generation::kV2)
        {
            auto const& [cudnn, cublas] = resources.handles;
            attached.ext().attachToContext(cudnn, cublas, resources.allocator);
            forgetExplanation(); // It answers nothing.
            attached.mIsAttached = true;
        }
        return copy;
    }
    Result<Bytes> stored() override
    {
        size_t const size =
            alsoTold("getSerializationSize", "serialize() follows", [&] { return mPlugin->getSerializationSize(); });
        if (size == SIZE_MAX) // As Python plugins answer where serialize() or this raised.
            return badConfig("getSerializationSize() of plugin {} failed{}", mIdentity.show(), because());
        GuardedBytes bytes = TENON_TRY(GuardedBytes::make(size));
        mPlugin->serialize(bytes.data());
        if (!bytes.isIntact())
            return badConfig("serialize() of plugin {} wrote past the {} bytes that getSerializationSize() named",
                mIdentity.show(), size);
        return std::move(bytes).take();
    }

  protected:
    nvinfer1::IPluginV2Ext& ext() const noexcept
    {
        return static_cast<nvinfer1::IPluginV2Ext&>(*mPlugin);
    }
    Result<Done> checked(char const* call, int32_t code) const
    {
        return checkedCall(call, mIdentity, code);
    }

    nvinfer1::IPluginV2* mPlugin;
    Identity mIdentity;

  private:
    void finish() noexcept
    {
        if (std::exchange(mIsInitialized, false))
            alsoTold("terminate", "its initialize() is over", [&] { mPlugin->terminate(); });
    }
    //! `isTold`: by another callback's name.
    Result<nvinfer1::IPluginV2*> cloned(bool isTold) const
    {
        nvinfer1::IPluginV2* const copy = isTold
            ? alsoTold("clone", "attachToContext() follows", [&] { return mPlugin->clone(); })
            : mPlugin->clone();
        return newObject(copy, mPlugin, "clone()", mIdentity);
    }

    bool mIsInitialized{false};
    bool mIsAttached{false};
    bool mIsOwned{true};
};

//! Plugins of V2, V2Ext and V2IOExt, whose dims leave out the batch.
PluginPtr makeBatchless(nvinfer1::IPluginV2* plugin, Generation generation);

} // namespace tenon::plugins
