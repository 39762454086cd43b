// What a program for 11.1 does with its loggers and profilers.
#pragma once

#include <string>
#include <vector>

namespace apitest
{

struct SeenIn11
{
    std::string logger;              //!< Kind of a logger that overrides it, asked through the base class.
    std::string profiler;            //!< Of a profiler that does not.
    std::string global;              //!< Of the logger that the library has of its own.
    std::vector<std::string> errors; //!< That the logger was told of.
    int32_t layers{0};               //!< That the profiler was told of.
};

//! Builds and runs with both.
SeenIn11 runAsIn11();

} // namespace apitest
