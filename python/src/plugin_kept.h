// What objects of Python classes keep for the C++ code that asks them: names, fields, tactics.
#pragma once

#include "plugin_overrides.h"

namespace tenon::python
{

//! Names of a core capability or of a creator.
template <typename Base>
class PyNamed : public Base
{
  public:
    Attributes attributes;
    nvinfer1::APILanguage getAPILanguage() const noexcept override
    {
        return nvinfer1::APILanguage::kPYTHON;
    }
    nvinfer1::AsciiChar const* getPluginName() const noexcept override
    {
        constexpr bool kIsCreator = std::is_base_of_v<nvinfer1::IPluginCreatorInterface, Base>;
        return text(kIsCreator ? "name" : "plugin_name", mName);
    }
    nvinfer1::AsciiChar const* getPluginVersion() const noexcept override
    {
        return text("plugin_version", mVersion);
    }
    nvinfer1::AsciiChar const* getPluginNamespace() const noexcept override
    {
        return text("plugin_namespace", mNamespace);
    }

  protected:
    //! As the very class that Python derives from: overrides are looked up by it.
    Base const* self() const noexcept
    {
        return this;
    }

  private:
    char const* text(char const* name, std::string& kept) const
    {
        kept = attributeOr<std::string>(self(), name, "");
        return kept.c_str();
    }

    mutable std::string mName;
    mutable std::string mVersion;
    mutable std::string mNamespace;
};

//! A creator of any generation.
template <typename Base>
class PyCreatorOf : public PyNamed<Base>
{
  public:
    nvinfer1::PluginFieldCollection const* getFieldNames() noexcept override
    {
        WithGil const gil;
        mFields = attributeOr<FieldList>(this->self(), "field_names", {});
        mView.emplace(mFields);
        return mView->get();
    }

  private:
    FieldList mFields;
    std::optional<FieldView> mView;
};

//! What get_fields_to_serialize answered last.
class StoredFields
{
  public:
    template <typename Base>
    nvinfer1::PluginFieldCollection const* ask(Base const* self) noexcept
    {
        using nvinfer1::PluginField;
        WithGil const gil;
        static PluginField const kUnreadable{"", nullptr, nvinfer1::PluginFieldType::kINT32, -1}; // Refused as a field.
        static nvinfer1::PluginFieldCollection const kFailure{1, &kUnreadable};
        constexpr char const* kName{"get_fields_to_serialize"};
        auto const answer = callOverride(self, kName, true);
        if (!answer)
            return &kFailure;
        auto fields = valueOr<std::optional<FieldList>, Base>(answer, std::nullopt, kName);
        if (!fields)
            return &kFailure;
        mFields = *std::move(fields);
        mView.emplace(mFields);
        return mView->get();
    }

  private:
    FieldList mFields;
    std::optional<FieldView> mView;
};

//! What get_valid_tactics answered last: asked with their number, then handed out (M9).
class ValidTactics
{
  public:
    template <typename Base>
    int32_t ask(Base const* self) noexcept
    {
        WithGil const gil;
        if (!hasOverride(self, "get_valid_tactics"))
            return 0;
        auto const answer = callOverride(self, "get_valid_tactics", true);
        if (!answer)
            return kFailed;
        auto tactics = valueOr<std::optional<std::vector<int32_t>>, Base>(answer, std::nullopt, "get_valid_tactics");
        if (!tactics)
            return kFailed;
        mTactics = *std::move(tactics);
        return static_cast<int32_t>(mTactics.size());
    }
    int32_t give(int32_t* tactics, int32_t count) const noexcept
    {
        std::copy_n(mTactics.begin(), std::min<size_t>(mTactics.size(), static_cast<size_t>(count)), tactics);
        return 0;
    }

  private:
    std::vector<int32_t> mTactics;
};

} // namespace tenon::python
