// Python: which interpreter has a package that a command needs.
#pragma once

#include <string>

namespace tenon::cli
{

//! `chosen` when it is given; else the python3 of the PATH if it finds the package, else one beside the program, else
//! that of an environment ".venv" in a folder above it; "python3" where none finds it.
std::string pythonWith(std::string const& package, std::string const& chosen);
//! Whether the interpreter starts, and finds the package: nothing is imported.
bool hasPackage(std::string const& interpreter, std::string const& package);

} // namespace tenon::cli
