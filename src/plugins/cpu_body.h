// CpuBody: what plugins run on the CPU in place of their own enqueue(), by identity; and whether a build measures.
#pragma once

#include "plugins/plugin.h"
#include "tenon/plugin.h"

namespace tenon::plugins
{

void setCpuBody(Identity const& identity, CpuBody body);
//! Null: the plugin's own.
CpuBody findCpuBody(Identity const& identity);

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

//! Runs the body, or the plugin itself where there is none. `descs`: inputs first, whole extents.
Result<Done> runOnHost(CpuBody body, Plugin& plugin, std::span<nvinfer1::PluginTensorDesc const> descs, int32_t inputs,
    Work const& work);

} // namespace tenon::plugins
