// The driver: which calls a plugin gets while a plan is built, and in which order (rules J to L).
#pragma once

#include "plugins/plugin.h"

#include <array>
#include <optional>
#include <utility>

namespace tenon::plugins
{

struct PortChoice
{
    DType type{DType::kFLOAT};
    nvinfer1::TensorFormat format{nvinfer1::TensorFormat::kLINEAR};
    float scale{1.0F}; //!< What an int8 counts for 1 (J12).
};

//! What may stand at each port, in order of preference, and what messages call it.
struct PortOffer
{
    std::string name; //!< "input 0 'x'".
    std::vector<PortChoice> choices;
};

using Combination = std::vector<PortChoice>;

//! The extents where the symbols have these values.
nvinfer1::Dims64 dimsAt(Shape const& shape, std::span<int64_t const> values);
//! What a plugin that looks too far sees: neither a type nor a format.
void poison(Port& port) noexcept;
void put(Port& port, PortChoice const& choice) noexcept;

//! The first combinations that the plugin accepts, at most `most` and at most its own limit. `ports` has dims and
//! bounds. The plugin is asked about a port only after it has accepted those before it, and what stands behind that
//! port is poisoned (J10, L17). Combinations with like ports come first; the search ends after 100,000 questions. An
//! error names each alternative of the port that no combination gets past.
Result<std::vector<Combination>> negotiate(Plugin& plugin, Ports ports, std::span<PortOffer const> offers, size_t most);

//! Types and formats of the combination put into the ports.
Ports withCombination(Ports ports, Combination const& combination);

using Aliases = std::vector<std::pair<int32_t, int32_t>>; //!< (output, input).

//! Inputs whose memory outputs take over, each at most once and only where the bytes are as many (L18).
Result<Aliases> aliasesOf(Plugin& plugin, Ports const& ports);

//! What a plan keeps of a plugin.
struct Finished
{
    int64_t workspace{0};
    int32_t tactic{0};
    Aliases aliases;
    Bytes stored;
    std::string metadata;
    std::string timingCacheId;
    std::vector<int32_t> tactics; //!< All that were on offer.
};

//! Bytes for the upper bounds of the ports; an error for a number that no memory has, which is what a callback that
//! failed answers.
Result<int64_t> workspaceOf(Plugin& plugin, Ports const& ports);

struct FinishOptions
{
    bool mayAlias{false};
    std::optional<int32_t> tactic;                   //!< Chosen by time; none: the first.
    std::vector<std::array<int32_t, 2>> dataExtents; //!< (output, axis) of extents that only running tells.
    int64_t maxWorkspace{INT64_MAX};
};

//! Configures, prepares and stores a copy of the plugin for a combination; one entry of `profiles` per profile.
Result<Finished> finish(Plugin& plugin, std::span<Ports const> profiles, FinishOptions const& options);

//! The ports with all extents at those of kOPT, but for those that only running tells, which stay −1 (L12).
Ports atOptimum(Ports ports, std::span<std::array<int32_t, 2> const> dataExtents);

} // namespace tenon::plugins
