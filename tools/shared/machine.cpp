// Machine: asked of the library and of the kernel.
#include "machine.h"

#include "texts.h"

#include <algorithm>
#include <fstream>

namespace tenon::cli
{

namespace
{
Json chosenDevice()
{
    Json const all = parsed(tenonDevices());
    for (Json const& device : all["devices"])
        if (device["name"] == all["chosen"])
            return device;
    return Json::object();
}
} // namespace

std::string cpuName()
{
    TenonHostDevice device{};
    tenonHostGetDevice(&device);
    return device.name;
}

int32_t threadsOfRuns(int32_t asked)
{
    TenonHostDevice device{};
    tenonHostGetDevice(&device);
    Json const threads = chosenDevice().value("threads", Json{});
    int32_t const given = threads.is_number() ? threads.get<int32_t>() : device.cores;
    return asked > 0 ? asked : given;
}

std::string deviceName()
{
    return chosenDevice().value("name", std::string{"none"});
}

double residentMebibytes()
{
    std::ifstream file{"/proc/self/statm"};
    int64_t total{0};
    int64_t resident{0};
    file >> total >> resident;
    return static_cast<double>(resident) * 4096.0 / (1 << 20);
}

} // namespace tenon::cli
