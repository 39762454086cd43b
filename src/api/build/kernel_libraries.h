// KernelLibraries: the releases of libraries among whose kernels a program chooses.
#pragma once

#include "backend/backend_table.h"
#include "base/log.h"
#include "plan/program.h"

namespace tenon::api
{

//! As Program::libraries says it, of the libraries that are here now.
std::string librariesOf(Program const& program, BackendEntry const& backend);
//! Warns where the program was made with others: a library's kernels are chosen by where they stand among its
//! proposals, which each release orders anew. Results hold, times may not.
void warnOfLibraries(Program const& program, BackendEntry const& backend, Log const& log);

} // namespace tenon::api
