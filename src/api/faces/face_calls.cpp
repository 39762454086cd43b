// What the faces call, in libtenon.so.
#include "api/faces/face_calls.h"

#include "api/boundary.h"
#include "api/build/builder.h"
#include "api/generation.h"
#include "api/global_logger.h"
#include "api/plugins/plugin_registry.h"
#include "api/plugins/stock_plugins.h"
#include "api/run/refitter.h"
#include "api/run/runtime.h"
#include "base/knobs.h"

#include <atomic>

using namespace nvinfer1;

namespace tenon::api
{

namespace
{
//! Says to the process's first logger which environment variables are set to no effect.
void warnOfKnobs(Log const& log)
{
    static std::atomic_flag said = ATOMIC_FLAG_INIT;
    if (said.test_and_set())
        return;
    for (std::string const& problem : knobProblems())
        log.warning(problem);
}

//! A builder or runtime, or null after a message to the logger that was given.
template <typename I, typename Impl>
I* create(char const* call, void* logger, int32_t version) noexcept
{
    auto* const user = static_cast<ILogger*>(logger);
    setGlobalLogger(user);
    ILogger& target = user == nullptr ? globalLogger() : *user;
    return fenced(Log{&target}, call, static_cast<I*>(nullptr), [&]() -> Result<I*> {
        TENON_TRY(checkCallerVersion(version));
        if (user == nullptr)
            return badArgument("the logger is null");
        warnOfKnobs(Log{user});
        return makeHandle<I, Impl>(*user, TENON_TRY(chooseDevice()));
    });
}
} // namespace

} // namespace tenon::api

using namespace tenon;
using namespace tenon::api;

void* tenonFaceCreateInferBuilder(void* logger, int32_t version) noexcept
{
    return create<IBuilder, Builder>("createInferBuilder", logger, version);
}

void* tenonFaceCreateInferRuntime(void* logger, int32_t version) noexcept
{
    return create<IRuntime, Runtime>("createInferRuntime", logger, version);
}

void* tenonFaceCreateInferRefitter(void* engine, void* logger, int32_t version) noexcept
{
    auto* const user = static_cast<ILogger*>(logger);
    return fenced(Log{user == nullptr ? &globalLogger() : user}, "createInferRefitter", static_cast<void*>(nullptr),
        [&]() -> Result<void*> {
            TENON_TRY(checkCallerVersion(version));
            if (user == nullptr)
                return badArgument("the logger is null");
            return static_cast<void*>(makeRefitter(static_cast<ICudaEngine*>(engine), *user));
        });
}

IPluginRegistry* tenonFacePluginRegistry() noexcept
{
    return &globalRegistry();
}

ILogger* tenonFaceLogger() noexcept
{
    return &globalLogger();
}

bool tenonFaceSetInternalLibraryPath(char const*) noexcept
{
    return true; // Nothing is loaded from a path of its own.
}

bool tenonFaceInitPlugins(void* logger, char const* libNamespace) noexcept
{
    auto* const user = static_cast<ILogger*>(logger);
    setGlobalLogger(user);
    return registerStockPlugins(user == nullptr ? globalLogger() : *user, libNamespace);
}
