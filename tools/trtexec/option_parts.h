// Option parts: what buildOptionsOf() is put together from.
#pragma once

#include "options.h"

namespace tenon::trtexec
{

//! In the order of the command line: --profile=N begins one. Without it all shapes are those of profile 0.
std::vector<ProfileShapes> profilesOf(Arguments const& arguments);
//! Cache and shapes of the calibration; after the profiles.
void readCalibration(Arguments const& arguments, BuildOptions& build, std::vector<std::string>& warnings);

} // namespace tenon::trtexec
