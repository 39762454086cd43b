// LayerInformation: what an engine inspector says of a step, in the words that tools for engines look for.
#pragma once

#include "plan/plan.h"
#include "plan/register_values.h"

#include "NvInfer.h"

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tenon::inspect
{

//! Registers of a program, which tell the extents of its tensors, as far as the plan itself knows them.
std::vector<Span> fixedRegisters(Program const& program);

//! Metadata of layers.
using NotesByLayer = std::unordered_map<std::string_view, std::vector<std::string_view>>;

//! Of all steps: what several of them need is found once.
class LayerInformation
{
  public:
    LayerInformation(Plan const& plan, Program const& program);
    //! `tag` is put behind the name (" [profile 1]"). Names only unless the plan was built to be detailed; nothing
    //! where it was built to tell nothing (rule T5).
    std::string text(size_t step, std::span<Span const> registers, std::string const& tag) const;
    std::string json(size_t step, std::span<Span const> registers, std::string const& tag) const;

  private:
    Plan const& mPlan;
    Program const& mProgram;
    NotesByLayer mNotes;
};

} // namespace tenon::inspect
