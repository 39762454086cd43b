// The process-wide logger.
#include "api/global_logger.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <mutex>
#include <vector>

namespace tenon::api
{

namespace
{
class PrintingLogger final : public nvinfer1::ILogger
{
  public:
    void log(Severity severity, nvinfer1::AsciiChar const* message) noexcept override
    {
        if (severity <= Severity::kERROR)
            std::fprintf(stderr, "[tenon] %s\n", message);
    }
    virtual nvinfer1::InterfaceInfo getInterfaceInfo() const noexcept // What 11.1 has behind the slots of 10.16.
    {
        return {"ILogger", 1, 0};
    }
};

//! Loggers in use; the last one is the global one.
struct Loggers
{
    struct Use
    {
        nvinfer1::ILogger* logger;
        int64_t count;
    };
    std::mutex mutex;
    std::vector<Use> uses;
    PrintingLogger printing;

    auto find(nvinfer1::ILogger const* logger)
    {
        return std::find_if(uses.begin(), uses.end(), [logger](Use const& use) { return use.logger == logger; });
    }
};

//! Never destroyed: objects that live until the process ends report and go after it would have gone.
Loggers& loggers()
{
    static auto* const all = new Loggers;
    return *all;
}
} // namespace

nvinfer1::ILogger& globalLogger() noexcept
{
    Loggers& all = loggers();
    std::scoped_lock const lock{all.mutex};
    return all.uses.empty() ? all.printing : *all.uses.back().logger;
}

void holdLogger(nvinfer1::ILogger* logger) noexcept
{
    Loggers& all = loggers();
    std::scoped_lock const lock{all.mutex};
    auto const use = all.find(logger);
    if (use != all.uses.end())
        ++use->count;
    else if (logger != nullptr)
        all.uses.push_back({logger, 1});
}

void releaseLogger(nvinfer1::ILogger* logger) noexcept
{
    Loggers& all = loggers();
    std::scoped_lock const lock{all.mutex};
    auto const use = all.find(logger);
    if (use != all.uses.end() && --use->count == 0)
        all.uses.erase(use);
}

void setGlobalLogger(nvinfer1::ILogger* logger) noexcept
{
    Loggers& all = loggers();
    std::scoped_lock const lock{all.mutex};
    auto const use = all.find(logger);
    if (use != all.uses.end())
        std::rotate(use, std::next(use), all.uses.end());
}

} // namespace tenon::api
