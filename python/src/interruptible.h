// Interruptible: a progress monitor that ends a build on Ctrl-C, in front of the user's own monitor.
#pragma once

#include "bindings.h"

#include <optional>

namespace tenon::python
{

class __attribute__((visibility("hidden"))) Interruptible : public nvinfer1::IProgressMonitor
{
  public:
    //! Stands in for the config's monitor until it goes out of scope.
    explicit Interruptible(nvinfer1::IBuilderConfig& config)
        : mConfig{config},
          mUsers{config.getProgressMonitor()}
    {
        mConfig.setProgressMonitor(this);
    }
    ~Interruptible() override
    {
        mConfig.setProgressMonitor(mUsers);
    }
    Interruptible(Interruptible const&) = delete;
    Interruptible& operator=(Interruptible const&) = delete;

    void phaseStart(char const* phase, char const* parent, int32_t steps) noexcept override
    {
        if (mUsers != nullptr)
            mUsers->phaseStart(phase, parent, steps);
    }
    bool stepComplete(char const* phase, int32_t step) noexcept override
    {
        bool const goesOn = mUsers == nullptr || mUsers->stepComplete(phase, step);
        return !signalled() && goesOn;
    }
    void phaseFinish(char const* phase) noexcept override
    {
        if (mUsers != nullptr)
            mUsers->phaseFinish(phase);
    }
    //! Raises what the signal handler raised, KeyboardInterrupt as a rule. With the GIL held.
    void raise()
    {
        if (signalled())
            throw py::error_already_set(std::move(*mRaised));
    }

  private:
    //! Runs Python's signal handlers; on another thread than the main one they wait.
    bool signalled() noexcept
    {
        if (mRaised)
            return true;
        py::gil_scoped_acquire const gil;
        if (PyErr_CheckSignals() == 0)
            return false;
        mRaised.emplace();
        return true;
    }

    nvinfer1::IBuilderConfig& mConfig;
    nvinfer1::IProgressMonitor* mUsers;
    std::optional<py::error_already_set> mRaised;
};

} // namespace tenon::python
