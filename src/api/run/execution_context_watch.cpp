// ExecutionContext: the calls of those who look at its runs.
#include "api/boundary.h"
#include "api/run/execution_context.h"

namespace tenon::api
{

using namespace nvinfer1;

void ExecutionContext::setDebugSync(bool sync) noexcept
{
    mWatch.setDebugSync(sync);
}

bool ExecutionContext::getDebugSync() const noexcept
{
    return mWatch.debugSync();
}

void ExecutionContext::setProfiler(IProfiler* profiler) noexcept
{
    mWatch.setProfiler(profiler);
}

IProfiler* ExecutionContext::getProfiler() const noexcept
{
    return mWatch.profiler();
}

void ExecutionContext::setEnqueueEmitsProfile(bool enqueueEmitsProfile) noexcept
{
    mWatch.setEmitsProfile(enqueueEmitsProfile);
}

bool ExecutionContext::getEnqueueEmitsProfile() const noexcept
{
    return mWatch.emitsProfile();
}

bool ExecutionContext::reportToProfiler() const noexcept
{
    return fencedDone(
        mReporting.log(), "IExecutionContext::reportToProfiler", [&] { return mWatch.report(*mContext); });
}

bool ExecutionContext::setNvtxVerbosity(ProfilingVerbosity verbosity) noexcept
{
    return fencedDone(
        mReporting.log(), "IExecutionContext::setNvtxVerbosity", [&] { return mWatch.setVerbosity(verbosity); });
}

ProfilingVerbosity ExecutionContext::getNvtxVerbosity() const noexcept
{
    return mWatch.verbosity();
}

bool ExecutionContext::setDebugListener(IDebugListener* listener) noexcept
{
    mWatch.setListener(listener);
    return true;
}

IDebugListener* ExecutionContext::getDebugListener() noexcept
{
    return mWatch.listener();
}

bool ExecutionContext::setTensorDebugState(char const* name, bool flag) noexcept
{
    return fencedDone(
        mReporting.log(), "IExecutionContext::setTensorDebugState", [&] { return mWatch.setDebugState(name, flag); });
}

bool ExecutionContext::getDebugState(char const* name) const noexcept
{
    return mWatch.debugState(name);
}

bool ExecutionContext::setAllTensorsDebugState(bool flag) noexcept
{
    mWatch.setAllDebugStates(flag);
    return true;
}

bool ExecutionContext::setUnfusedTensorsDebugState(bool flag) noexcept
{
    return fencedDone(mReporting.log(), "IExecutionContext::setUnfusedTensorsDebugState",
        [&] { return mWatch.setUnfusedDebugState(flag); });
}

bool ExecutionContext::getUnfusedTensorsDebugState() const noexcept
{
    return mWatch.unfusedDebugState();
}

} // namespace tenon::api
