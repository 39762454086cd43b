// Weights: the weight table of a plan in the making; each constant stands once per form in which something uses it.
#pragma once

#include "backend/candidate.h"
#include "plan/plan.h"

#include <map>

namespace tenon::planner
{

class Weights
{
  public:
    //! Entry of a constant stored row-major.
    int32_t plain(Constant const& constant, std::shared_ptr<void const> keeper, std::string const& name);
    //! Entry of a constant in a kernel's own form.
    int32_t packed(Constant const& original, PackedWeight const& weight, std::string const& name);
    //! Any form in which the constant stands already, row-major if there is a choice; −1: none.
    int32_t find(Constant const& constant) const;

    std::vector<PlanWeight> take()
    {
        return std::move(mEntries);
    }

  private:
    struct Identity
    {
        DType dtype;
        std::vector<int64_t> extents;
        void const* data; //!< Null: `hash` tells contents.
        uint64_t hash;
        auto operator<=>(Identity const&) const = default;
    };
    Identity identityOf(Constant const& constant) const;
    int32_t add(Identity const& identity, PlanWeight weight);

    std::vector<PlanWeight> mEntries;
    std::map<Identity, std::map<std::string, int32_t>> mForms; //!< By packing.
};

} // namespace tenon::planner
