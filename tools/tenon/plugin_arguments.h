// Arguments of tenon plugin: creators by name, fields, shapes of inputs.
#pragma once

#include "tenon/testing.h"

#include <deque>
#include <string>
#include <vector>

namespace tenon::cli
{

//! NAME[:VERSION[:NAMESPACE]]; what is left out fits all.
struct CreatorName
{
    std::string name;
    std::string version;
    std::string nameSpace;
    bool hasNameSpace{false};

    bool fits(std::string const& theirName, std::string const& theirVersion, std::string const& theirSpace) const;
};
CreatorName parseCreator(std::string const& text);

//! "2x3,values=3x1" or "1x8:2x8:4x8": inputs in order; throws std::invalid_argument with the piece at fault.
std::vector<testing::Input> parseInputs(std::string const& text);
//! "float32,half" as element types.
std::vector<nvinfer1::DataType> parseTypes(std::string const& text);

//! "k=v,k=v1:v2" in the types that a creator advertises; owns what the collection points to.
class Fields
{
  public:
    Fields(std::string const& text, nvinfer1::PluginFieldCollection const* advertised);
    nvinfer1::PluginFieldCollection const* collection() const noexcept
    {
        return &mCollection;
    }

  private:
    void add(std::string const& name, std::string const& value, nvinfer1::PluginFieldCollection const* advertised);

    std::deque<std::string> mNames;
    std::deque<std::vector<char>> mData;
    std::vector<nvinfer1::PluginField> mFields;
    nvinfer1::PluginFieldCollection mCollection{};
};

} // namespace tenon::cli
