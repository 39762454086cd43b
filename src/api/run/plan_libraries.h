// PlanLibraries: the libraries of plugins that plans carry (IBuilderConfig::setPluginsToSerialize), opened for a
// runtime.
#pragma once

#include "api/plugins/plugin_registry.h"
#include "plan/plan.h"

#include <map>
#include <mutex>
#include <string>

namespace tenon::api
{

//! The library as a plan stores it; an error when the file is none for this machine.
Result<PlanCode> storedLibrary(std::string const& path);

//! Where the files may stand that libraries are opened from.
struct LibraryPlaces
{
    uint32_t tempfileFlags{0}; //!< Bits of TempfileControlFlag.
    std::string folder{};      //!< Empty: the system's for temporary files.
};

class PlanLibraries
{
  public:
    //! Registers the creators of the plan's libraries, each library once; where host code is not allowed, an error that
    //! names them.
    Result<Done> load(Plan const& plan, bool allowsHostCode, LibraryPlaces const& places, PluginRegistry& registry);

  private:
    std::mutex mMutex;
    std::map<Sha256, std::string> mLoaded; //!< Names by digest.
};

} // namespace tenon::api
