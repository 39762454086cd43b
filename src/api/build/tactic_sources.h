// TacticSources: leaves the kernels of libraries that the user has not named out of a build.
#pragma once

#include "planner/offer_chooser.h"

namespace tenon::api
{

class TacticSources final : public OfferChooser
{
  public:
    //! `allowed`: bits of TacticSource. `next`: chooses among what stays; may be null.
    TacticSources(uint32_t allowed, OfferChooser* next)
        : mAllowed{allowed},
          mNext{next}
    {
    }

    Result<std::vector<size_t>> select(Problem const& problem, std::vector<Offer> const& offers) override;
    void take(Problem const& problem, Offer const& offer) override;

  private:
    uint32_t mAllowed;
    OfferChooser* mNext;
};

} // namespace tenon::api
