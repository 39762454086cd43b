// DebugTensors: which tensors of a plan its user marked for debugging, and the steps that hand them over.
#pragma once

#include "plan/plan.h"

#include <map>
#include <string_view>

namespace tenon::api
{

class DebugTensors
{
  public:
    DebugTensors(Plan const& plan, Program const& program);

    //! Position among the marked tensors; −1 when there is none of the name (null included).
    int32_t find(char const* name) const noexcept;
    //! Of the tensor that the step hands over; −1: the step does not.
    int32_t ofStep(int32_t step) const noexcept
    {
        return mByStep[static_cast<size_t>(step)];
    }
    std::string const& name(int32_t index) const
    {
        return mNames.at(static_cast<size_t>(index));
    }
    size_t size() const noexcept
    {
        return mNames.size();
    }

  private:
    std::vector<std::string> mNames;
    std::map<std::string, int32_t, std::less<>> mByName;
    std::vector<int32_t> mByStep;
};

} // namespace tenon::api
