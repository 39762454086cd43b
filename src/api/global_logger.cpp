// The process-wide logger.
#include "api/global_logger.h"

#include <atomic>
#include <cstdio>

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
};

std::atomic<nvinfer1::ILogger*>& current() noexcept
{
    static PrintingLogger printing;
    static std::atomic<nvinfer1::ILogger*> logger{&printing};
    return logger;
}
} // namespace

nvinfer1::ILogger& globalLogger() noexcept
{
    return *current().load();
}

void setGlobalLogger(nvinfer1::ILogger* logger) noexcept
{
    if (logger != nullptr)
        current().store(logger);
}

} // namespace tenon::api
