// Timing: which combination of types and formats, and which tactic of a plugin, runs fastest on a device (L14, K6).
#pragma once

#include "base/timed_tactics.h"
#include "plugins/driver.h"

namespace tenon
{
class Device;
class Prepared;
} // namespace tenon

namespace tenon::plugins
{

//! A copy that is ready to run, for the device's form of a step.
struct TimedObject
{
    Plugin& plugin;
    std::vector<nvinfer1::PluginTensorDesc> descs; //!< Inputs first.
    int32_t inputs{0};
    size_t workspace{0};
};
using StepOf = std::unique_ptr<Prepared> (*)(TimedObject object);

struct TimingOptions
{
    Device* device{nullptr};
    StepOf stepOf{nullptr}; //!< The device's.
    int32_t average{1};     //!< As MeasureOptions::runs.
    int32_t least{1};       //!< As MeasureOptions::rounds.
    bool mayAlias{false};
    std::vector<std::array<int32_t, 2>> dataExtents;
    int64_t maxWorkspace{INT64_MAX};
    KnownTimes known;
};

struct Fastest
{
    size_t combination{0};
    std::optional<int32_t> tactic; //!< None: the plugin has none of its own.
    std::string table;             //!< Each candidate with its time, for the decision log; empty: there was but one.
};

//! Runs every tactic of every combination on made-up data at the kOPT extents of `ports`; a single candidate is not
//! run at all. Candidates whose workspace is above the limit do not take part. What a plugin with an ID for timing was
//! measured with is kept, and not measured again (rules H7, H8).
Result<Fastest> fastest(
    Plugin& plugin, Ports const& ports, std::span<Combination const> combinations, TimingOptions const& options);

} // namespace tenon::plugins
