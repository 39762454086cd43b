// Attention of blocks that stay on a Hopper GPU against the reference: rows and keys at the edges of their tiles.
#include "backends/cuda_cases.h"
#include "layers/attention.h"

namespace tenon::test
{

namespace
{
constexpr int32_t kStreamTactic{24};

class StreamAttentions : public CudaKernels
{
};

void expectStream(Attention layer, std::array<std::vector<int64_t>, 3> const& extents, DType type)
{
    std::string const trace =
        fmt::format("{} by {}, {}", fmt::join(extents[0], "x"), fmt::join(extents[1], "x"), nameOf(type));
    SCOPED_TRACE(trace);
    std::vector<Operand> operands;
    for (std::vector<int64_t> const& each : extents)
        operands.push_back(input(randomTensor(each, -2.0, 2.0, type)));
    Offer offer{.candidate = "online softmax"};
    offer.inputs.assign(operands.size(), Layout::kLinear);
    offer.outputs = {Layout::kLinear};
    offer.tactic = kStreamTactic;
    expectOffers(makeLayer(std::move(layer)), std::move(operands), {offer}, sumTolerance(type));
}
} // namespace

//! From three tiles of rows to more than a block has warps for, from one key to as many as there are registers for.
TEST_F(StreamAttentions, lengths)
{
    bool isHalf{true};
    for (auto const& [rows, keys] : std::vector<std::pair<int64_t, int64_t>>{
             {129, 1}, {130, 16}, {192, 33}, {193, 197}, {129, 64}, {197, 197}, {256, 208}, {300, 100}, {512, 15}})
    {
        expectStream({.scale = 0.125F}, {{{2, 3, rows, 64}, {2, 3, keys, 64}, {2, 3, keys, 64}}},
            isHalf ? DType::kHALF : DType::kBF16);
        isHalf = !isHalf;
    }
}

//! More keys than there are registers for take another kernel.
TEST_F(StreamAttentions, tooManyKeys)
{
    expectStream({.scale = 0.125F}, {{{1, 2, 30, 64}, {1, 2, 209, 64}, {1, 2, 209, 64}}}, DType::kHALF);
}

//! Columns of heads side by side, heads that share keys, and one tensor of q, k and v.
TEST_F(StreamAttentions, views)
{
    AttentionView const sideBySide{.axes = {0, 2, 1, 3}};
    Attention shared{.scale = 0.3F};
    shared.q = shared.k = shared.v = sideBySide;
    shared.outputAxes = sideBySide.axes;
    expectStream(shared, {{{3, 150, 6, 64}, {3, 40, 2, 64}, {3, 40, 2, 64}}}, DType::kHALF);
    Attention packed{.scale = 0.125F};
    packed.q = {{0, 2, 1, 3}, 0, 4};
    packed.k = {{0, 2, 1, 3}, 4, 4};
    packed.v = {{0, 2, 1, 3}, 8, 4};
    packed.outputAxes = sideBySide.axes;
    expectStream(packed, {{{2, 170, 12, 64}, {2, 170, 12, 64}, {2, 170, 12, 64}}}, DType::kBF16);
}

//! More heads than blocks have rooms for, so that rooms and barriers come round.
TEST_F(StreamAttentions, manyHeads)
{
    expectStream({.scale = 0.125F}, {{{50, 12, 130, 64}, {50, 12, 20, 64}, {50, 12, 20, 64}}}, DType::kHALF);
    expectStream({.scale = 0.125F}, {{{27, 10, 130, 64}, {27, 10, 200, 64}, {27, 10, 200, 64}}}, DType::kBF16);
}

//! Rows of fewer tiles than there are warpgroups take another kernel, as too many keys do.
TEST_F(StreamAttentions, fewRows)
{
    for (int64_t const rows : {5, 64, 128})
        expectStream({.scale = 0.125F}, {{{2, 3, rows, 64}, {2, 3, 200, 64}, {2, 3, 200, 64}}}, DType::kBF16);
}

} // namespace tenon::test
