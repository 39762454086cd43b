// What objects of Python classes keep for the C++ code that asks them: names, fields, tactics.
#pragma once

#include "handed_out.h"
#include "plugin_overrides.h"

#include <deque>

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
        return text(kIsCreator ? "name" : "plugin_name");
    }
    nvinfer1::AsciiChar const* getPluginVersion() const noexcept override
    {
        return text("plugin_version");
    }
    nvinfer1::AsciiChar const* getPluginNamespace() const noexcept override
    {
        return text("plugin_namespace");
    }

  protected:
    //! As the very class that Python derives from: overrides are looked up by it.
    Base const* self() const noexcept
    {
        return this;
    }

  private:
    char const* text(char const* name) const
    {
        WithGil const gil;
        return mTexts.give(attributeOr<std::string>(self(), name, ""));
    }

    mutable HandedOutTexts mTexts;
};

//! Collections of fields that stay as they are, as long as this does; one more is kept only when an answer is none of
//! those before. Asked with the GIL held.
class HandedOutFields
{
  public:
    nvinfer1::PluginFieldCollection const* give(FieldList list)
    {
        auto const known = std::ranges::find_if(mAll, [&](FieldView const& each) { return each.hasSameAs(list); });
        return known != mAll.end() ? known->get() : mAll.emplace_back(std::move(list)).get();
    }

  private:
    std::deque<FieldView> mAll;
};

//! A creator of any generation: threads that parse, load and build ask the same one.
template <typename Base>
class PyCreatorOf : public PyNamed<Base>
{
  public:
    nvinfer1::PluginFieldCollection const* getFieldNames() noexcept override
    {
        WithGil const gil;
        return mFields.give(attributeOr<FieldList>(this->self(), "field_names", {}));
    }

  private:
    HandedOutFields mFields;
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
        return mFields.get().emplace(*std::move(fields)).get();
    }

  private:
    LastOfThread<std::optional<FieldView>> mFields;
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
        std::vector<int32_t>& kept = mTactics.get();
        kept = *std::move(tactics);
        return static_cast<int32_t>(kept.size());
    }
    int32_t give(int32_t* tactics, int32_t count) noexcept
    {
        WithGil const gil;
        std::vector<int32_t> const& kept = mTactics.get();
        std::copy_n(kept.begin(), std::min(kept.size(), static_cast<size_t>(count)), tactics);
        return 0;
    }

  private:
    LastOfThread<std::vector<int32_t>> mTactics;
};

} // namespace tenon::python
