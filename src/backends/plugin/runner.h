// Runner: what a kind of device does by itself for custom layers; ports, objects and launches are the same for all.
#pragma once

#include "backends/plugin/compiled.h"
#include "backends/plugin/object.h"
#include "plugins/timing.h"

namespace tenon
{
class CudaDevice;
} // namespace tenon

namespace tenon::custom
{

//! Code of a plan, opened for the device.
class OpenedCode
{
  public:
    virtual ~OpenedCode() = default;
    //! The kernel as a step, for the launch of the shapes at hand.
    virtual Result<std::shared_ptr<Prepared const>> step(
        std::shared_ptr<CompiledLayer const> layer, CompiledLaunch launch) const = 0;
};

//! As long as it lives the calling thread is where a plugin of the device's counts on being.
class Inside
{
  public:
    virtual ~Inside() = default;
};

class Runner
{
  public:
    virtual ~Runner() = default;
    //! For what an engine asks of its objects outside of runs: where there are several GPUs, theirs is the current one.
    //! Null where every thread is inside.
    virtual std::unique_ptr<Inside const> inside() const = 0;
    //! What stands for an object in a prepared run that contexts share: its workspace. It never runs.
    virtual std::shared_ptr<Prepared const> standIn(size_t workspace) const = 0;
    //! The engine's object, copied for a context, as a step.
    virtual Result<std::unique_ptr<Attached>> step(EngineObject& object, ContextResources const& resources) const = 0;
    //! The same while a build measures it.
    virtual std::unique_ptr<Prepared> timedStep(plugins::TimedObject object) const = 0;
    //! An error that names what the device cannot load.
    virtual Result<std::shared_ptr<OpenedCode const>> open(CodeArg const& code, std::string const& kernel) const = 0;
};

//! Functions of this process, called by its threads: enqueue(), bodies for the CPU, compiled kernels.
Runner const& hostRunner() noexcept;
//! enqueue() with the GPU's memory and the run's stream, called by the thread that runs; code of plans by the driver.
Runner const& cudaRunner(CudaDevice const& device);
std::unique_ptr<Prepared> timedOnCuda(plugins::TimedObject object);

} // namespace tenon::custom
