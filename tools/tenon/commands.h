// The subcommands: each adds itself to the program's options and returns its exit status through `status`.
#pragma once

#include <CLI/CLI.hpp>

namespace tenon::cli
{

struct Common
{
    int32_t threads{0};
    bool verbose{false};
    bool quiet{false};
};

void addBuild(CLI::App& app, Common const& common, int& status);
void addRun(CLI::App& app, Common const& common, int& status);
void addBench(CLI::App& app, Common const& common, int& status);
void addInspect(CLI::App& app, Common const& common, int& status);
void addVerify(CLI::App& app, Common const& common, int& status);
void addKnobs(CLI::App& app, int& status);
void addApi(CLI::App& app, int& status);

} // namespace tenon::cli
