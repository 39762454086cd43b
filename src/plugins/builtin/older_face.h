// What the faces of the older API generations share: identity, namespace, storing, types of ports.
#pragma once

#include "plugins/builtin/setting.h"
#include "plugins/field_bytes.h"

#include <algorithm>

namespace tenon::plugins::builtin
{

//! Interface: IPluginV2DynamicExt or IPluginV2IOExt.
template <typename Interface>
class OlderFace : public Interface
{
  public:
    OlderFace(StockPlugin const& kind, BodyPtr body, std::string nameSpace)
        : mKind{kind},
          mBody{std::move(body)},
          mNameSpace{std::move(nameSpace)}
    {
    }

    char const* getPluginType() const noexcept final
    {
        return mKind.name;
    }
    char const* getPluginVersion() const noexcept final
    {
        return mKind.version;
    }
    int32_t getNbOutputs() const noexcept final
    {
        return mBody->outputs();
    }
    int32_t initialize() noexcept final
    {
        return mSetting.refusal(); // A build fails where no extent is left to the run.
    }
    void terminate() noexcept final {}
    size_t getSerializationSize() const noexcept final
    {
        return stored().size();
    }
    void serialize(void* buffer) const noexcept final
    {
        std::ranges::copy(stored(), static_cast<uint8_t*>(buffer));
    }
    void destroy() noexcept final
    {
        delete this;
    }
    void setPluginNamespace(char const* nameSpace) noexcept final
    {
        mNameSpace = nameSpace == nullptr ? "" : nameSpace;
    }
    char const* getPluginNamespace() const noexcept final
    {
        return mNameSpace.c_str();
    }
    DataType getOutputDataType(int32_t index, DataType const* types, int32_t count) const noexcept final
    {
        return mBody->outputType(index, {types, static_cast<size_t>(count)});
    }
    BodyPtr const& sharedBody() const noexcept
    {
        return mBody;
    }

  protected:
    //! All that the creator needs to make it again.
    virtual std::vector<PluginField> storedFields() const
    {
        return mBody->fields();
    }
    bool supports(int32_t at, PluginTensorDesc const* ports, int32_t count) const noexcept
    {
        return ports[at].format == mBody->formatOf(at) && mBody->acceptsType(at, {ports, static_cast<size_t>(count)});
    }
    Body const& body() const noexcept
    {
        return *mBody;
    }
    Setting& setting() noexcept
    {
        return mSetting;
    }

  private:
    Bytes stored() const
    {
        std::vector<PluginField> const fields = storedFields();
        auto bytes = encodeFields({static_cast<int32_t>(fields.size()), fields.data()});
        return bytes ? *std::move(bytes) : Bytes{};
    }

    StockPlugin const& mKind;
    BodyPtr mBody;
    std::string mNameSpace;
    Setting mSetting;
};

} // namespace tenon::plugins::builtin
