// Replaceable: which constants of the graphs at hand a refit can replace, and which weights each of them comes from.
#pragma once

#include "ir/type.h"

#include <unordered_map>

namespace tenon
{

//! Numbers of the user's weights, in order, each once. Empty: none that a refit can replace.
using WeightIds = std::vector<int32_t>;

//! While one lives, in its thread, no decision about a graph depends on the values of the constants that are marked:
//! other values then give the same program with other weights. Without one all constants are what they are.
class Replaceable
{
  public:
    Replaceable() noexcept;
    ~Replaceable();
    Replaceable(Replaceable const&) = delete;
    Replaceable& operator=(Replaceable const&) = delete;

    //! The one of this thread; null: nothing can be replaced.
    static Replaceable* active() noexcept;

    //! Keeps the constant: marks go by its address. Whole numbers are not marked: shapes come of them.
    void mark(std::shared_ptr<Constant const> const& constant, WeightIds ids);
    WeightIds const& idsOf(Constant const& constant) const noexcept;

  private:
    struct Mark
    {
        std::shared_ptr<Constant const> constant;
        WeightIds ids;
    };
    std::unordered_map<Constant const*, Mark> mMarks;
    Replaceable* mBefore;
};

//! Where nothing can be replaced, empty.
WeightIds const& weightIdsOf(Constant const& constant) noexcept;
inline bool isReplaceable(Constant const& constant) noexcept
{
    return !weightIdsOf(constant).empty();
}
//! All numbers of both.
WeightIds joined(WeightIds const& a, WeightIds const& b);

} // namespace tenon
