// PluginSource: what an engine asks for the makers of its custom layers; the runtime knows no more of plugins.
#pragma once

#include <string>

namespace tenon
{

//! A custom layer as a plan names it.
struct PluginName
{
    std::string type;
    std::string version;
    std::string nameSpace;
    std::string library; //!< Where the plan's builder had it from; empty: unknown. Never opened.
};

//! Implemented by the registry of plugins. Kernels of plugin layers know what stands behind it.
class PluginSource
{
  public:
    virtual ~PluginSource() = default;
    //! Empty when there is a creator of the name, else a sentence that says what is missing and what comes closest.
    virtual std::string whatIsMissing(PluginName const& name) const = 0;
};

} // namespace tenon
