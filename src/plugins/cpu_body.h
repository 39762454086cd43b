// CpuBody: what plugins run on the CPU in place of their enqueue(), by identity; what a call of a plugin may ask.
#pragma once

#include "plugins/plugin.h"
#include "tenon/plugin.h"

namespace tenon::plugins
{

//! Null takes away all that there are.
void setCpuBody(Identity const& identity, CpuBody body);
//! The latest of that identity that may serve the plugin; null: its own enqueue(). The body of a library that has been
//! opened for its plugins goes with it: once that is deregistered, it serves none but objects whose code is in it, too.
CpuBody findCpuBody(Identity const& identity, Plugin& plugin);
inline CpuBody findCpuBody(Plugin& plugin)
{
    return findCpuBody(plugin.identity(), plugin);
}

//! A library of plugins, by its handle of dlopen, is open once more, or once less. Then some may have been unmapped.
void countOpenings(void* handle, int32_t more);
void dropUnmappedBodies();

//! While it lives, the thread's plugins run to be measured (L24).
class TimingPhase
{
  public:
    TimingPhase() noexcept;
    ~TimingPhase();
    TimingPhase(TimingPhase const&) = delete;
    TimingPhase& operator=(TimingPhase const&) = delete;
};
bool isTiming() noexcept;

//! While it lives, the thread is in a call of a plugin with so many inputs and outputs that is not told them.
class UntoldCounts
{
  public:
    UntoldCounts(int32_t inputs, int32_t outputs) noexcept;
    ~UntoldCounts();
    UntoldCounts(UntoldCounts const&) = delete;
    UntoldCounts& operator=(UntoldCounts const&) = delete;
    static std::pair<int32_t, int32_t> now() noexcept; //!< (−1, −1) outside of such calls.

  private:
    std::pair<int32_t, int32_t> mBefore;
};

//! While it lives, the thread is in an enqueue() whose memory is a GPU's.
class OnGpu
{
  public:
    explicit OnGpu(int32_t index) noexcept;
    ~OnGpu();
    OnGpu(OnGpu const&) = delete;
    OnGpu& operator=(OnGpu const&) = delete;
    static int32_t now() noexcept; //!< Which; −1: none.

  private:
    int32_t mBefore;
};

//! Whether a device that does not run host code leaves it to the host: a stock plugin, or one with a body for the CPU.
bool runsOnHostAlone(Plugin& plugin);

//! Calls the plugin's own enqueue().
Result<Done> runItself(Plugin& plugin, Work const& work);

//! Runs the body, or the plugin itself where there is none. `descs`: inputs first, whole extents.
Result<Done> runOnHost(
    CpuBody body, Plugin& plugin, std::span<nvinfer1::PluginTensorDesc const> descs, int32_t inputs, Work const& work);

} // namespace tenon::plugins
