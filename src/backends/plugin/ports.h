// PluginPorts: what the kernels of custom layers know of their operands, with or without an object behind the layer.
#pragma once

#include "backend/candidate.h"
#include "layers/plugin.h"

namespace tenon::custom
{

//! An output that works in the memory of an input: the input's contents go there first, so that its other readers keep
//! their values.
struct TakeOver
{
    size_t output{0};
    size_t input{0};
    size_t bytes{0};
};

struct PluginPorts
{
    CustomLayer fields; //!< As the plan has them.
    size_t inputs{0};   //!< Data inputs; shape inputs follow them among a step's operands.
    size_t outputs{0};
    size_t dataDependent{0}; //!< The first size tensors: those that the plan asks for.

    //! A plan may lie: operands are those that were agreed, and no larger than the workspace was sized for.
    Result<Done> check(std::span<TensorArg const> in, std::span<TensorArg const> out) const;
    //! Whether size tensor i is an int64.
    bool isWideSize(size_t i) const;
    std::vector<TakeOver> takeOvers(std::span<TensorArg const> out) const;
    //! As an object is told them; extents that only running tells are −1 (L12).
    plugins::Ports at(std::span<TensorArg const> in, std::span<TensorArg const> out) const;
    //! At the largest extents of all profiles.
    plugins::Ports atMost() const;

  private:
    Result<Done> check(TensorArg const& arg, PluginPort const& agreed) const;
};

//! The layouts that were agreed; shape inputs are not read.
std::variant<std::vector<Offer>, Refusal> offerPorts(Problem const& problem, std::string_view candidate);

} // namespace tenon::custom
