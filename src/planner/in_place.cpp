// In place: what legal means, over the static list of steps.
#include "planner/in_place.h"

#include "plan/check.h"
#include "plan/regions.h"

#include <algorithm>
#include <set>

namespace tenon::planner
{

namespace
{
PlanTensor const& tensorAt(Program const& program, int32_t index)
{
    return program.tensors[static_cast<size_t>(index)];
}

//! By root tensor: the steps that read its memory under any name, in order.
std::vector<std::vector<int32_t>> readsOf(Program const& program)
{
    std::vector<std::vector<int32_t>> reads(program.tensors.size());
    for (size_t i = 0; i < program.steps.size(); ++i)
        for (int32_t const input : program.steps[i].inputs)
            if (input >= 0)
                reads[static_cast<size_t>(rootOf(program, input))].push_back(static_cast<int32_t>(i));
    return reads;
}

//! By root tensor: the steps that write its memory under any name.
std::vector<std::vector<int32_t>> writesOf(Program const& program)
{
    std::vector<std::vector<int32_t>> writes(program.tensors.size());
    for (size_t i = 0; i < program.steps.size(); ++i)
        for (int32_t const output : program.steps[i].outputs)
            writes[static_cast<size_t>(rootOf(program, output))].push_back(static_cast<int32_t>(i));
    return writes;
}

//! By step: the innermost loop around it; −1: none.
std::vector<int32_t> loopsOf(Program const& program)
{
    std::vector<int32_t> loops(program.steps.size(), -1);
    for (size_t i = 0; i < program.controls.size(); ++i)
        if (program.controls[i].kind == PlanControlKind::kLoop)
            for (int32_t step = program.controls[i].first; step < program.controls[i].last; ++step)
                loops[static_cast<size_t>(step)] = static_cast<int32_t>(i);
    return loops;
}

//! Whether it is a slice of its memory, or a view of one.
bool isPart(Program const& program, int32_t tensor)
{
    while (tensorAt(program, tensor).kind == PlanTensorKind::kView)
        tensor = tensorAt(program, tensor).index;
    return tensorAt(program, tensor).kind == PlanTensorKind::kPart;
}

class InPlace
{
  public:
    explicit InPlace(Program& program)
        : mProgram{program},
          mReads{readsOf(program)},
          mWrites{writesOf(program)},
          mLoops{loopsOf(program)},
          mRegions{regionsOf(program)},
          mRegionOf{regionOfSteps(mRegions)}
    {
    }
    void settle(int32_t index)
    {
        PlanStep& step = mProgram.steps[static_cast<size_t>(index)];
        std::vector<std::pair<int32_t, int32_t>> kept;
        std::set<int32_t> outputs;
        std::set<int32_t> roots;
        for (auto const& [output, input] : step.inPlace)
        {
            if (!fits(step, output, input, index))
                continue;
            int32_t const root = rootOf(mProgram, step.inputs[static_cast<size_t>(input)]);
            if (outputs.count(output) == 0 && roots.count(root) == 0)
            {
                outputs.insert(output);
                roots.insert(root);
                kept.emplace_back(output, input);
            }
        }
        step.inPlace = std::move(kept);
    }

  private:
    bool fits(PlanStep const& step, int32_t output, int32_t input, int32_t index) const
    {
        if (static_cast<size_t>(output) >= step.outputs.size() || static_cast<size_t>(input) >= step.inputs.size()
            || step.inputs[static_cast<size_t>(input)] < 0)
            return false;
        int32_t const source = step.inputs[static_cast<size_t>(input)];
        int32_t const root = rootOf(mProgram, source);
        PlanTensor const& to = tensorAt(mProgram, step.outputs[static_cast<size_t>(output)]);
        PlanTensor const& from = tensorAt(mProgram, source);
        bool const same = to.kind == PlanTensorKind::kActivation
            && tensorAt(mProgram, root).kind == PlanTensorKind::kActivation && to.layout == from.layout
            && to.extents == from.extents && bitsOf(to.dtype) == bitsOf(from.dtype);
        if (!same || mReads[static_cast<size_t>(root)].back() != index || isReadBeside(root, index)
            || isPart(mProgram, source) || isReadInNextRound(root, index))
            return false;
        // Another operand in the same memory would be read after it was written over.
        return std::count_if(step.inputs.begin(), step.inputs.end(), [&](int32_t each) {
            return each >= 0 && rootOf(mProgram, each) == root;
        }) == 1;
    }

    //! Whether the step, which a loop repeats, would find there what it wrote: the loop does not write it anew.
    bool isReadInNextRound(int32_t root, int32_t index) const
    {
        int32_t const loop = mLoops[static_cast<size_t>(index)];
        return std::ranges::any_of(mWrites[static_cast<size_t>(root)],
            [&](int32_t writer) { return mLoops[static_cast<size_t>(writer)] != loop; });
    }

    //! Whether a step of another stream, which may run at the same time, reads the memory.
    bool isReadBeside(int32_t root, int32_t index) const
    {
        Region const& region = mRegions[static_cast<size_t>(mRegionOf[static_cast<size_t>(index)])];
        int32_t const mine = mProgram.steps[static_cast<size_t>(index)].stream;
        return region.isSplit && std::ranges::any_of(mReads[static_cast<size_t>(root)], [&](int32_t i) {
            return i >= region.first && i < index && mProgram.steps[static_cast<size_t>(i)].stream != mine;
        });
    }

    Program& mProgram;
    std::vector<std::vector<int32_t>> mReads;
    std::vector<std::vector<int32_t>> mWrites;
    std::vector<int32_t> mLoops;
    std::vector<Region> mRegions;
    std::vector<int32_t> mRegionOf;
};
} // namespace

void settleInPlace(Program& program)
{
    InPlace rules{program};
    for (size_t i = 0; i < program.steps.size(); ++i)
        rules.settle(static_cast<int32_t>(i));
}

} // namespace tenon::planner
