// OfferChooser: has a say in which offers the nodes of a graph are run by.
#pragma once

#include "backend/candidate.h"

#include <vector>

namespace tenon
{

class OfferChooser
{
  public:
    virtual ~OfferChooser() = default;
    //! Positions of the offers to choose from, at least one: asked once per node, before layouts are weighed.
    virtual Result<std::vector<size_t>> select(Problem const& problem, std::vector<Offer> const& offers) = 0;
    //! What the node got.
    virtual void take(Problem const& problem, Offer const& offer) = 0;
};

} // namespace tenon
