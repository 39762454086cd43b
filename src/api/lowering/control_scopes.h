// ControlScopes: which loops and conditionals each layer of a network is inside of.
#pragma once

#include "api/network/network.h"

#include <map>
#include <set>
#include <unordered_map>

namespace tenon::api
{

//! Loops and conditionals are known by their addresses.
using Scope = std::set<void const*>;

//! A layer is inside of what it depends on: of a loop whose recurrence or iterator, of a conditional whose input it
//! follows from. What such a loop or conditional gives out is inside of what that is inside of.
class ControlScopes
{
  public:
    //! An error when two are within each other.
    Result<Done> find(Network const& network);
    Scope const& of(LayerBase const& layer) const;
    Scope const& of(Tensor const& tensor) const;
    //! What a loop or conditional is inside of.
    Scope const& around(void const* control) const;

  private:
    bool update(LayerBase const& layer);
    //! What crosses the border belongs to what is around it.
    bool cross(Tensor const* tensor, void const* control);

    std::unordered_map<LayerBase const*, Scope> mOf;
    std::map<void const*, Scope> mAround;
};

} // namespace tenon::api
