// Comparison: a model in this engine and in others, in turns (tenon bench --compare).
#pragma once

#include "commands.h"

#include <string>
#include <vector>

namespace tenon::cli
{

struct ComparisonOptions
{
    std::string path;
    std::vector<std::string> shapes;
    std::string engines; //!< Joined by commas; "all": those that are installed.
    std::string python;  //!< Empty: the first interpreter that has the engine.
    double seconds{3.0};
    int32_t warmup{5};
    bool json{false};
};

//! The exit status.
int compareEngines(ComparisonOptions const& options, Common const& common);

} // namespace tenon::cli
