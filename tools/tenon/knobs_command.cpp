// tenon knobs, tenon devices, tenon api: what the environment can set, what a run would use, what is not there yet.
#include "commands.h"
#include "texts.h"

#include <algorithm>
#include <cstdio>

namespace tenon::cli
{

namespace
{
int knobs()
{
    for (Json const& knob : parsed(tenonKnobs()))
    {
        std::printf(
            "%-22s %s\n", knob["variable"].get<std::string>().c_str(), knob["meaning"].get<std::string>().c_str());
        if (!knob["read"].get<bool>())
        {
            std::printf("%-22s not in this release: setting it has no effect\n", "");
            continue;
        }
        std::string const value =
            knob["value"].is_null() ? "not set" : "set to '" + knob["value"].get<std::string>() + "'";
        std::printf("%-22s %s; default: %s; %s\n", "", knob["type"].get<std::string>().c_str(),
            knob["default"].get<std::string>().c_str(), value.c_str());
        if (knob["problem"].is_string())
            std::printf("%-22s %s\n", "", knob["problem"].get<std::string>().c_str());
    }
    return 0;
}

int devices()
{
    Json const all = parsed(tenonDevices());
    for (Json const& device : all["devices"])
    {
        if (device["problem"].is_string())
        {
            std::printf("%-8s cannot be used: %s\n", device["name"].get<std::string>().c_str(),
                device["problem"].get<std::string>().c_str());
            continue;
        }
        std::printf("%-8s %s, %d threads%s\n", device["name"].get<std::string>().c_str(),
            device["description"].get<std::string>().c_str(), device["threads"].get<int>(),
            device["name"] == all["chosen"] ? "  <- chosen" : "");
    }
    std::printf("%s\n", all["reason"].get<std::string>().c_str());
    return all["chosen"].is_null() ? 1 : 0;
}

int api()
{
    auto calls = parsed(tenonNotImplemented()).get<std::vector<std::string>>();
    std::sort(calls.begin(), calls.end());
    for (std::string const& call : calls)
        std::printf("%s\n", call.c_str());
    std::fprintf(
        stderr, "%zu calls answer with \"is not implemented\" through logger and error recorder\n", calls.size());
    return 0;
}
} // namespace

void addKnobs(CLI::App& app, int& status)
{
    CLI::App* list = app.add_subcommand("knobs", "List the environment variables that Tenon reads");
    list->footer(R"(Example:
  TENON_THREADS=2 tenon knobs     what is set, and what that means
Variables are read once per process.)");
    list->callback([&status] { status = knobs(); });
    CLI::App* names =
        app.add_subcommand("devices", "List the devices, and which one a build or run would take and why");
    names->footer(R"(Example:
  TENON_DEVICE=ref tenon devices
Exit status 1: none can be used.)");
    names->callback([&status] { status = devices(); });
}

void addApi(CLI::App& app, int& status)
{
    CLI::App* list = app.add_subcommand("api", "List the calls of the TensorRT API that are not implemented yet");
    list->footer(R"(Example:
  tenon api | grep INetworkDefinition
One call a line, sorted; how many they are goes to standard error.)");
    list->callback([&status] { status = api(); });
}

} // namespace tenon::cli
