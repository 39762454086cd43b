// Blocks: which activations of a program share memory, how long each block lives, and what all of them take.
#pragma once

#include "plan/arena.h"
#include "plan/plan.h"
#include "plan/register_values.h"

#include <span>
#include <vector>

namespace tenon
{

//! Blocks of the arena: spans of life are fixed, sizes depend on the shape.
struct BlockPlan
{
    std::vector<ArenaBlock> blocks;            //!< Without sizes.
    std::vector<std::vector<int32_t>> members; //!< Tensors in each block: the largest decides its size.
    std::vector<int32_t> blockOf;              //!< By root tensor; −1: not in the arena.
    //! By I/O tensor: where the step that writes an output puts it while its extents are not known; −1: nowhere.
    std::vector<int32_t> stagingOf;
};

//! A block per activation. With `share`, those that a step may run in place on share one, and chains of such steps make
//! one block. The program has passed checkProgram.
BlockPlan planBlocks(Plan const& plan, Program const& program, bool share);

//! The blocks with their sizes at the upper ends of the registers; an error where no memory could hold them.
Result<std::vector<ArenaBlock>> sizedBlocks(
    Program const& program, BlockPlan const& plan, std::span<Span const> registers);

//! What a profile says of value `index` of a shape tensor, as its register holds it.
Span boundsOfValue(PlanIO const& io, PlanProfileInput const& bounds, size_t index) noexcept;

//! Offsets that hold for every shape of a profile, and the bytes that each block may have for them to hold.
struct ArenaBound
{
    ArenaLayout layout;
    std::vector<ArenaBlock> blocks;
};

Result<ArenaBound> boundArena(
    Plan const& plan, Program const& program, BlockPlan const& blocks, size_t profile, int64_t alignment);

} // namespace tenon
