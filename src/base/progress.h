// Progress: how a long build tells how far it is, and learns that the user has had enough.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>

namespace tenon
{

//! Phases nest: the parent's name is empty for the outermost one.
class Progress
{
  public:
    virtual ~Progress() = default;
    virtual void phaseStart(std::string const& phase, std::string const& parent, int32_t steps) = 0;
    //! False: give up as soon as possible.
    virtual bool stepComplete(std::string const& phase, int32_t step) = 0;
    virtual void phaseFinish(std::string const& phase) = 0;
};

//! What a build that the user gave up returns.
inline Error cancelled()
{
    return errorOf(ErrorCode::kUNSPECIFIED_ERROR, "the build was cancelled by the progress monitor");
}

} // namespace tenon
