// PluginPorts: what the kernels of custom layers know of their operands, with or without an object behind the layer.
#pragma once

#include "backends/ref/kernels.h"
#include "layers/plugin.h"

namespace tenon::ref
{

struct PluginPorts
{
    CustomLayer fields; //!< As the plan has them.
    size_t inputs{0};   //!< Data inputs; shape inputs follow them among a step's operands.
    size_t outputs{0};
    size_t tells{0}; //!< The first size tensors: those that the plan asks for.

    //! A plan may lie: operands are those that were agreed, and no larger than the workspace was sized for.
    Result<Done> check(std::span<TensorArg const> in, std::span<TensorArg const> out) const;
    //! Bytes of each output that takes over an input.
    std::vector<size_t> aliasBytes(std::span<TensorArg const> out) const;
    //! Gives outputs that take over an input its contents; `given` has the addresses of the inputs and gets those that
    //! the layer works on. Other readers of the input keep their values.
    void takeOver(Call const& call, std::span<size_t const> bytes, void const** given) const;

  private:
    Result<Done> check(TensorArg const& arg, PluginPort const& agreed) const;
};

//! The layouts that were agreed; shape inputs are not read.
std::variant<std::vector<Offer>, Refusal> offerPorts(Problem const& problem, std::string_view candidate);

} // namespace tenon::ref
