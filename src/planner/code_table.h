// CodeTable: the code of a plan in the making: what custom layers brought, then what kernels were compiled to.
#pragma once

#include "backend/candidate.h"
#include "plan/plan.h"

#include <vector>

namespace tenon::planner
{

class CodeTable
{
  public:
    //! `given` keeps its positions: layers name them in their fields.
    explicit CodeTable(std::vector<PlanCode> given)
        : mEntries{std::move(given)}
    {
    }
    //! Position of the code that a step runs, −1: none. Equal code stands once.
    Result<int32_t> positionOf(StepCode const& code);

    std::vector<PlanCode> take()
    {
        return std::move(mEntries);
    }

  private:
    Result<int32_t> add(MadeCode const& made);

    std::vector<PlanCode> mEntries;
};

} // namespace tenon::planner
