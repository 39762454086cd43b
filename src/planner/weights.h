// Weights: the weight table of a plan in the making; each constant stands once per form in which something uses it.
#pragma once

#include "backend/candidate.h"
#include "plan/plan.h"

#include <compare>
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
    //! Constants that are the same: by contents when they are short, else by address.
    struct Identity
    {
        DType dtype;
        std::vector<int64_t> extents;
        bool byContents;
        uint64_t hash; //!< Of contents; keeps comparing them rare.
        void const* data;
        size_t bytes;
        std::strong_ordering operator<=>(Identity const& other) const;
    };
    static Identity identityOf(Constant const& constant);
    int32_t add(Identity const& identity, PlanWeight weight);

    std::vector<PlanWeight> mEntries;
    //! By packing and number among those packed under one name; kernels that pack by different choices are told apart
    //! by what they packed.
    std::map<Identity, std::map<std::pair<std::string, int32_t>, int32_t>> mForms;
};

} // namespace tenon::planner
