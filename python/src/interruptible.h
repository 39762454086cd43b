// Ctrl-C during builds and runs: what they ask while they go on.
#pragma once

#include "bindings.h"

#include "tenon/build.h"
#include "tenon/host.h"

#include <atomic>
#include <optional>

namespace tenon::python
{

//! Asks Python for signals. Only the main thread is told of them, so that runs of other threads need not ask.
class __attribute__((visibility("hidden"))) Signals
{
  public:
    //! Runs Python's signal handlers; on another thread than the main one they wait. The interpreter's end is as good
    //! as a signal once a thread waits with work that it may never do.
    bool came() noexcept
    {
        mIsShutOut = mIsShutOut || Gate::isInTheWay();
        if (mRaised || mIsShutOut)
            return true;
        WithGil const gil;
        if (PyErr_CheckSignals() == 0)
            return false;
        mRaised.emplace();
        return true;
    }
    //! Raises what a signal handler has raised, KeyboardInterrupt as a rule, however the call went on. With the GIL.
    void raiseCaught()
    {
        if (mRaised)
            throw py::error_already_set(std::move(*mRaised));
    }
    //! Raises why a call ended early, where it is a signal or the interpreter's end. With the GIL held.
    void raise()
    {
        came();
        raiseCaught();
        if (mIsShutOut)
            throw std::runtime_error("the interpreter is ending, and work of the stream would need it");
    }
    //! A TenonContinueCheck.
    static int32_t mayContinue(void* signals) noexcept
    {
        return static_cast<Signals*>(signals)->came() ? 0 : 1;
    }
    //! With the GIL held.
    static bool areHandledHere()
    {
        static unsigned long const mainThread =
            py::module_::import("threading").attr("main_thread")().attr("ident").cast<unsigned long>();
        return PyThread_get_thread_ident() == mainThread;
    }

  private:
    std::optional<py::error_already_set> mRaised;
    std::atomic<bool> mIsShutOut{false};
};

//! Waits on the main thread until `call`, which asks for signals, says that the work is done; raises what Ctrl-C means,
//! while the work goes on. Other threads are told of no signals and need not ask.
template <typename Call>
void awaiting(Call&& call)
{
    if (!Signals::areHandledHere())
        return;
    Signals signals;
    TenonHostStatus const status = [&] {
        WithoutGil const released;
        return call(&Signals::mayContinue, &signals);
    }();
    signals.raiseCaught();
    if (status == TENON_HOST_NOT_READY)
        signals.raise();
}

//! What the builds of a thread ask as long as this lives, beside the monitor of their config.
class __attribute__((visibility("hidden"))) AskedInBuilds
{
  public:
    explicit AskedInBuilds(Signals& signals)
    {
        tenonAskInBuilds(&Signals::mayContinue, &signals);
    }
    ~AskedInBuilds()
    {
        tenonAskInBuilds(nullptr, nullptr);
    }
    AskedInBuilds(AskedInBuilds const&) = delete;
    AskedInBuilds& operator=(AskedInBuilds const&) = delete;
};

//! A build without the GIL, which Ctrl-C ends: null became an exception then.
template <typename Build>
auto interruptible(nvinfer1::IBuilderConfig& config, Build&& build)
{
    // What the build waits for at its end, where it would not hear of Ctrl-C.
    if (void* const stream = config.getProfileStream(); reinterpret_cast<uintptr_t>(stream) > 1)
        awaiting([&](TenonContinueCheck mayContinue, void* signals) {
            return tenonHostAwaitStream(stream, mayContinue, signals);
        });
    Signals signals;
    auto const built = [&] {
        AskedInBuilds const asked{signals};
        WithoutGil const released;
        return build();
    }();
    if (built == nullptr)
        signals.raise();
    return built;
}

inline py::object buildEngine(
    py::object const& builder, nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config)
{
    return engineOf(builder, [&, &self = builder.cast<nvinfer1::IBuilder&>()] {
        return interruptible(config, [&] { return self.buildEngineWithConfig(network, config); });
    });
}

} // namespace tenon::python
