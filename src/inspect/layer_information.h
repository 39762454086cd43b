// LayerInformation: what an engine inspector says of a step, in the words that tools for engines look for.
#pragma once

#include "plan/plan.h"

#include "NvInfer.h"

#include <string>
#include <vector>

namespace tenon::inspect
{

//! Extents of all tensors of a program; −1 where they are not known.
using ProgramExtents = std::vector<std::vector<int64_t>>;

//! Those that the plan itself tells.
ProgramExtents fixedExtents(Program const& program);

class LayerInformation
{
  public:
    LayerInformation(Plan const& plan, Program const& program)
        : mPlan{plan},
          mProgram{program}
    {
    }
    //! `tag` is put behind the name (" [profile 1]"). Names only unless the plan was built to be detailed; nothing
    //! where it was built to tell nothing (rule T5).
    std::string text(size_t step, ProgramExtents const& extents, std::string const& tag) const;
    std::string json(size_t step, ProgramExtents const& extents, std::string const& tag) const;

  private:
    Plan const& mPlan;
    Program const& mProgram;
};

} // namespace tenon::inspect
