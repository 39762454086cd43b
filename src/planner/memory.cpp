// Memory: liveness of activations over the static list of steps.
#include "planner/memory.h"

#include "base/check.h"
#include "base/real_op.h"
#include "ir/shape_expr.h"
#include "plan/arena.h"
#include "plan/check.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tenon::planner
{

namespace
{
constexpr int64_t kAlignment{64};

PlanTensor const& tensorAt(Program const& program, int32_t index)
{
    return program.tensors[static_cast<size_t>(index)];
}

//! By root tensor: the last step that reads its memory under any name; −1: none.
std::vector<int32_t> lastReads(Program const& program)
{
    std::vector<int32_t> last(program.tensors.size(), -1);
    for (size_t i = 0; i < program.steps.size(); ++i)
        for (int32_t const input : program.steps[i].inputs)
            if (input >= 0)
                last[static_cast<size_t>(rootOf(program, input))] = static_cast<int32_t>(i);
    return last;
}

class InPlace
{
  public:
    explicit InPlace(Program& program)
        : mProgram{program},
          mLast{lastReads(program)}
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
        if (!same || mLast[static_cast<size_t>(root)] != index)
            return false;
        // Another operand in the same memory would be read after it was written over.
        return std::count_if(step.inputs.begin(), step.inputs.end(), [&](int32_t each) {
            return each >= 0 && rootOf(mProgram, each) == root;
        }) == 1;
    }

    Program& mProgram;
    std::vector<int32_t> mLast;
};

int64_t computeReal(PlanShapeInstruction const& x, std::vector<int64_t> const& values)
{
    auto const at = [&](int64_t index) { return values[static_cast<size_t>(index)]; };
    double const a = fromRealBits(at(x.a));
    double const b = fromRealBits(at(x.b));
    switch (x.op)
    {
    case PlanShapeOp::kTruncate: return truncated(a);
    case PlanShapeOp::kRealEqual: return a == b ? 1 : 0;
    case PlanShapeOp::kRealLess: return a < b ? 1 : 0;
    case PlanShapeOp::kRealIsNan: return std::isnan(a) ? 1 : 0;
    case PlanShapeOp::kRealIsInfinite: return std::isinf(a) ? 1 : 0;
    case PlanShapeOp::kToReal: return realBits(static_cast<double>(at(x.a)));
    case PlanShapeOp::kReal: return realBits(tenon::apply(static_cast<RealOp>(x.value), a, b));
    default: return at(x.a) != 0 ? at(x.b) : at(x.value);
    }
}

std::vector<int64_t> evaluate(Program const& program, std::vector<int64_t> const& symbols)
{
    std::vector<int64_t> values{symbols};
    auto const apply = [&](PlanShapeInstruction const& x) -> int64_t {
        if (isConstant(x.op))
            return x.value;
        if (x.op > PlanShapeOp::kLess)
            return computeReal(x, values);
        int64_t const a = values[static_cast<size_t>(x.a)];
        int64_t const b = values[static_cast<size_t>(x.b)];
        switch (x.op)
        {
        case PlanShapeOp::kAdd: return a + b;
        case PlanShapeOp::kMul: return a * b;
        case PlanShapeOp::kFloorDiv: return tenon::apply(ShapeOp::kFloorDiv, a, b);
        case PlanShapeOp::kMod: return tenon::apply(ShapeOp::kMod, a, b);
        case PlanShapeOp::kMin: return std::min(a, b);
        case PlanShapeOp::kMax: return std::max(a, b);
        case PlanShapeOp::kEqual: return a == b ? 1 : 0;
        default: return a < b ? 1 : 0;
        }
    };
    for (PlanShapeInstruction const& x : program.shapes)
        values.push_back(apply(x));
    return values;
}
} // namespace

void settleInPlace(Program& program)
{
    InPlace rules{program};
    for (size_t i = 0; i < program.steps.size(); ++i)
        rules.settle(static_cast<int32_t>(i));
}

int64_t arenaBytes(Program const& program, std::vector<int64_t> const& symbols)
{
    std::vector<int64_t> const values = evaluate(program, symbols);
    std::vector<int32_t> blockOfRoot(program.tensors.size(), -1);
    std::vector<ArenaBlock> blocks;
    auto const touch = [&](int32_t tensor, int32_t step, int32_t shared) {
        int32_t const root = rootOf(program, tensor);
        PlanTensor const& memory = tensorAt(program, root);
        if (memory.kind != PlanTensorKind::kActivation)
            return;
        int32_t& block = blockOfRoot[static_cast<size_t>(root)];
        if (block < 0)
            block = shared;
        if (block < 0)
        {
            std::vector<int64_t> extents;
            for (int32_t const reg : memory.extents)
                extents.push_back(values[static_cast<size_t>(reg)]);
            block = static_cast<int32_t>(blocks.size());
            blocks.push_back({std::max<int64_t>(bytesOf(memory.dtype, memory.layout, extents), 0), step, step});
        }
        blocks[static_cast<size_t>(block)].last = step;
    };
    for (size_t i = 0; i < program.steps.size(); ++i)
    {
        PlanStep const& step = program.steps[i];
        auto const at = static_cast<int32_t>(i);
        for (int32_t const input : step.inputs)
            if (input >= 0)
                touch(input, at, -1);
        for (size_t k = 0; k < step.outputs.size(); ++k)
        {
            int32_t shared{-1};
            for (auto const& [output, input] : step.inPlace)
                if (output == static_cast<int32_t>(k))
                    shared = blockOfRoot[static_cast<size_t>(rootOf(program, step.inputs[static_cast<size_t>(input)]))];
            touch(step.outputs[k], at, shared);
        }
    }
    return layOut(blocks, kAlignment).bytes;
}

} // namespace tenon::planner
