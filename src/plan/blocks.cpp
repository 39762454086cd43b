// Blocks: liveness over the static list of steps, sizes over intervals of extents.
#include "plan/blocks.h"

#include "base/cancellation.h"
#include "base/real_op.h"
#include "plan/check.h"
#include "plan/lookup.h"
#include "plan/regions.h"

#include <algorithm>

namespace tenon
{

namespace
{
constexpr int64_t kMaxBytes{int64_t{1} << 48}; //!< More than any machine has; keeps sums far from overflow.

constexpr size_t asSize(int32_t index) noexcept
{
    return static_cast<size_t>(index);
}

class BlockPlanner
{
  public:
    BlockPlanner(Plan const& plan, Program const& program, bool share)
        : mPlan{plan},
          mProgram{program},
          mShare{share},
          mRegions{regionsOf(program)},
          mRegionOf{regionOfSteps(mRegions)}
    {
        for (size_t i = 0; i < program.tensors.size(); ++i)
            mRoots.push_back(rootOf(program, static_cast<int32_t>(i)));
    }

    BlockPlan make()
    {
        findLives();
        mResult.blockOf.assign(mProgram.tensors.size(), -1);
        for (PlanStep const& step : mProgram.steps)
        {
            cancellationPoint();
            for (size_t i = 0; i < step.outputs.size(); ++i)
                addOutput(step, static_cast<int32_t>(i));
        }
        addStaging();
        for (size_t i = 0; i < mResult.blocks.size(); ++i)
            settleRegions(mResult.blocks[i], mTouches[i]);
        return std::move(mResult);
    }

  private:
    static constexpr int32_t kNobody{-1};
    static constexpr int32_t kSeveral{-2};

    //! In a split region: the only stream that touches some memory, or kSeveral.
    struct Touch
    {
        int32_t region;
        int32_t stream;
    };
    using Touches = std::vector<Touch>;

    void touch(Touches& touches, int32_t step) const
    {
        int32_t const region = mRegionOf[asSize(step)];
        int32_t const stream = mProgram.steps[asSize(step)].stream;
        if (!mRegions[asSize(region)].isSplit)
            return;
        if (touches.empty() || touches.back().region != region) // Steps come in order.
            touches.push_back({region, stream});
        else if (touches.back().stream != stream)
            touches.back().stream = kSeveral;
    }

    static int32_t streamIn(Touches const& touches, int32_t region) noexcept
    {
        int32_t found{kNobody};
        for (Touch const& each : touches)
            if (each.region == region)
                found = found == kNobody || found == each.stream ? each.stream : kSeveral;
        return found;
    }

    int32_t root(int32_t tensor) const
    {
        return mRoots[asSize(tensor)];
    }

    //! First writer and last reader of each root.
    void findLives()
    {
        mLives.assign(mProgram.tensors.size(), {0, -1, -1});
        mTouchesOf.resize(mProgram.tensors.size());
        for (size_t i = 0; i < mProgram.steps.size(); ++i)
        {
            auto const step = static_cast<int32_t>(i);
            for (int32_t const input : mProgram.steps[i].inputs)
                if (input >= 0)
                {
                    mLives[asSize(root(input))].last = step;
                    touch(mTouchesOf[asSize(root(input))], step);
                }
            for (int32_t const output : mProgram.steps[i].outputs)
            {
                ArenaBlock& life = mLives[asSize(root(output))];
                life = {0, life.first < 0 ? step : life.first, step};
                touch(mTouchesOf[asSize(root(output))], step);
            }
        }
        for (size_t i = mProgram.controls.size(); i-- > 0;) // Inner ones first.
            if (mProgram.controls[i].kind == PlanControlKind::kLoop)
                extendLives(mProgram.controls[i]);
    }

    //! What a round finds from outside, or leaves for outside, lives through all rounds. It is an operand of a step of
    //! the loop, as what passes by lives through all of it anyway.
    void extendLives(PlanControl const& loop)
    {
        for (int32_t i = loop.first; i < loop.last; ++i)
            for (auto const* const operands : {&mProgram.steps[asSize(i)].inputs, &mProgram.steps[asSize(i)].outputs})
                for (int32_t const tensor : *operands)
                    if (tensor >= 0)
                        extendLife(mLives[asSize(root(tensor))], loop);
    }

    static void extendLife(ArenaBlock& life, PlanControl const& loop)
    {
        if (life.first < 0 || (life.first >= loop.first && life.last < loop.last))
            return;
        life.first = std::min(life.first, loop.first);
        life.last = std::max(life.last, loop.last - 1);
    }

    //! A block that begins or ends in a split region where one stream alone touches it says so; others live to the ends
    //! of such regions, where steps of other streams run beside those that touch them.
    void settleRegions(ArenaBlock& block, Touches const& touches) const
    {
        if (block.first < 0)
            return;
        int32_t const from = mRegionOf[asSize(block.first)];
        int32_t const to = mRegionOf[asSize(block.last)];
        block.begin = oneStream(from, touches);
        block.end = oneStream(to, touches);
        if (mRegions[asSize(from)].isSplit && block.begin.region < 0)
            block.first = mRegions[asSize(from)].first;
        if (mRegions[asSize(to)].isSplit && block.end.region < 0)
            block.last = mRegions[asSize(to)].last - 1;
    }

    OneStream oneStream(int32_t index, Touches const& touches) const
    {
        Region const& region = mRegions[asSize(index)];
        int32_t const stream = streamIn(touches, index);
        return stream < 0 ? OneStream{} : OneStream{index, stream, region.last - 1};
    }

    void addOutput(PlanStep const& step, int32_t position)
    {
        int32_t const tensor = root(step.outputs[asSize(position)]);
        if (mProgram.tensors[asSize(tensor)].kind != PlanTensorKind::kActivation
            || mResult.blockOf[asSize(tensor)] >= 0)
            return; // Written again: by another branch, or in another round.
        ArenaBlock const life = mLives[asSize(tensor)];
        int32_t block = mShare ? inheritedBlock(step, position) : -1;
        if (block < 0)
        {
            block = static_cast<int32_t>(mResult.blocks.size());
            mResult.blocks.push_back(life);
            mResult.blocks.back().place = mProgram.tensors[asSize(tensor)].place;
            mResult.members.emplace_back();
            mTouches.emplace_back();
        }
        Touches const& mine = mTouchesOf[asSize(tensor)];
        mTouches[asSize(block)].insert(mTouches[asSize(block)].end(), mine.begin(), mine.end());
        mResult.blocks[asSize(block)].last = std::max(mResult.blocks[asSize(block)].last, life.last);
        mResult.members[asSize(block)].push_back(tensor);
        mResult.blockOf[asSize(tensor)] = block;
    }

    int32_t inheritedBlock(PlanStep const& step, int32_t output) const
    {
        for (auto const& [mine, input] : step.inPlace)
            if (mine == output)
                return mResult.blockOf[asSize(root(step.inputs[asSize(input)]))]; // −1 for I/O and weights.
        return -1;
    }

    //! A block of its own for each output whose extents its writer, or a later step, tells.
    void addStaging()
    {
        std::vector<int32_t> const known = knownAfter(mProgram);
        std::vector<int32_t> tensorOf(mPlan.io.size(), -1);
        for (size_t i = 0; i < mProgram.tensors.size(); ++i)
            if (mProgram.tensors[i].kind == PlanTensorKind::kIO)
                tensorOf[asSize(mProgram.tensors[i].index)] = static_cast<int32_t>(i);
        mResult.stagingOf.assign(mPlan.io.size(), -1);
        for (size_t io = 0; io < mPlan.io.size(); ++io)
        {
            int32_t const tensor = tensorOf[io];
            int32_t const writer = mPlan.io[io].isInput || tensor < 0 ? -1 : mLives[asSize(tensor)].first;
            int32_t knownFrom{-1};
            for (size_t k = 0; writer >= 0 && k < mProgram.tensors[asSize(tensor)].extents.size(); ++k)
                knownFrom = std::max(knownFrom, known[asSize(mProgram.tensors[asSize(tensor)].extents[k])]);
            if (writer < 0 || knownFrom < writer)
                continue;
            mResult.stagingOf[io] = static_cast<int32_t>(mResult.blocks.size());
            mResult.blocks.push_back({0, writer, writer});
            mResult.blocks.back().place = mProgram.tensors[asSize(tensor)].place;
            mResult.members.push_back({tensor});
            touch(mTouches.emplace_back(), writer);
        }
    }

    Plan const& mPlan;
    Program const& mProgram;
    bool mShare;
    BlockPlan mResult;
    std::vector<int32_t> mRoots;
    std::vector<ArenaBlock> mLives;  //!< By root.
    std::vector<Touches> mTouchesOf; //!< By root.
    std::vector<Touches> mTouches;   //!< By block.
    std::vector<Region> mRegions;
    std::vector<int32_t> mRegionOf; //!< By step.
};

std::vector<int64_t> maxExtents(PlanTensor const& tensor, std::span<Span const> registers)
{
    std::vector<int64_t> extents;
    for (int32_t const reg : tensor.extents)
        extents.push_back(std::max<int64_t>(registers[asSize(reg)].hi, 0));
    return extents;
}

//! Most bytes that a tensor can take; −1 when there is no sensible bound.
int64_t maxBytes(PlanTensor const& tensor, std::span<int64_t const> extents)
{
    int64_t const bytes = bytesOf(tensor.dtype, tensor.layout, extents);
    return bytes > kMaxBytes ? -1 : bytes;
}

Span boundsOfSymbol(Plan const& plan, PlanProfile const& profile, PlanSymbol const& symbol)
{
    PlanProfileInput const* const bounds = boundsOf(profile, symbol.source);
    auto const index = asSize(symbol.index);
    if (symbol.kind == PlanSymbolKind::kInputValue)
        return bounds == nullptr ? Span{} : boundsOfValue(plan.io[asSize(symbol.source)], *bounds, index);
    int64_t const fixed = plan.io[asSize(symbol.source)].dims.d[index];
    return bounds == nullptr ? Span{fixed, fixed} : Span{bounds->min.d[index], bounds->max.d[index]};
}
} // namespace

BlockPlan planBlocks(Plan const& plan, Program const& program, bool share)
{
    return BlockPlanner{plan, program, share}.make();
}

Result<std::vector<ArenaBlock>> sizedBlocks(
    Program const& program, BlockPlan const& plan, std::span<Span const> registers)
{
    std::vector<ArenaBlock> blocks = plan.blocks;
    int64_t total{0};
    for (size_t i = 0; i < blocks.size(); ++i)
    {
        cancellationPoint();
        for (int32_t const member : plan.members[i])
        {
            PlanTensor const& tensor = program.tensors[asSize(member)];
            std::vector<int64_t> const extents = maxExtents(tensor, registers);
            int64_t const bytes = maxBytes(tensor, extents);
            if (bytes < 0)
                return badArgument("tensor '{}' would be larger than any memory for the shapes at hand: [{}], where {} "
                                   "stands for an extent without a bound",
                    tensor.name, fmt::join(extents, ", "), INT64_MAX);
            blocks[i].bytes = std::max(blocks[i].bytes, bytes);
        }
        total += blocks[i].bytes;
        if (total > kMaxBytes)
            return badArgument("tensors would take more than any memory for the shapes at hand");
    }
    return blocks;
}

Span boundsOfValue(PlanIO const& io, PlanProfileInput const& bounds, size_t index) noexcept
{
    int64_t const low = bounds.minValues[index];
    int64_t const high = bounds.maxValues[index];
    if (io.dtype != DType::kFLOAT)
        return {low, high};
    return {realBits(static_cast<double>(low)), realBits(static_cast<double>(high))};
}

Result<ArenaBound> boundArena(
    Plan const& plan, Program const& program, BlockPlan const& blocks, size_t profile, int64_t alignment)
{
    std::vector<Span> registers(program.symbols.size() + program.shapes.size());
    for (size_t i = 0; i < program.symbols.size(); ++i)
        if (program.symbols[i].kind != PlanSymbolKind::kData)
            registers[i] = boundsOfSymbol(plan, plan.profiles[profile], program.symbols[i]);
    std::vector<uint8_t> const known(program.symbols.size(), 0);
    evaluate(program, evaluationOrder(program), DataSymbols::kAnywhere, known, registers);
    std::vector<ArenaBlock> sized = TENON_TRY(sizedBlocks(program, blocks, registers));
    ArenaLayout layout = layOut(sized, alignment);
    return ArenaBound{std::move(layout), std::move(sized)};
}

} // namespace tenon
