// The subcommands: each adds itself to the program's options and returns its exit status through `status`.
#pragma once

#include "NvInfer.h"

#include <CLI/CLI.hpp>

namespace tenon::cli
{

struct Common
{
    int32_t threads{0};
    bool verbose{false};
    bool quiet{false};
    bool allowsCode{false}; //!< Of plugins, that plans carry.

    nvinfer1::ILogger::Severity severity() const
    {
        using Severity = nvinfer1::ILogger::Severity;
        return verbose ? Severity::kVERBOSE : quiet ? Severity::kERROR : Severity::kWARNING;
    }
};

//! The option --shapes, one piece of text at a time: what follows it is not swallowed.
inline void addShapes(CLI::App& command, std::vector<std::string>& shapes, std::string const& meaning)
{
    command.add_option("--shapes", shapes, meaning + ". Form: name=1x3x224x224, several joined by commas")
        ->allow_extra_args(false);
}

void addBuild(CLI::App& app, Common const& common, int& status);
void addRun(CLI::App& app, Common const& common, int& status);
void addBench(CLI::App& app, Common const& common, int& status);
void addInspect(CLI::App& app, Common const& common, int& status);
void addConvert(CLI::App& app, Common const& common, int& status);
void addVerify(CLI::App& app, Common const& common, int& status);
void addServe(CLI::App& app, Common const& common, int& status);
void addPlugin(CLI::App& app, Common const& common, int& status);
void addKnobs(CLI::App& app, int& status);
void addApi(CLI::App& app, int& status);

} // namespace tenon::cli
