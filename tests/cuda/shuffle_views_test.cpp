// Shuffles on the GPU that move nothing: images whose channels are last are rows of channels already.
#include "backends/rows.h"
#include "layers/shuffle.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace tenon::test
{

namespace
{
//! The layouts in front of and behind a shuffle of [2, 8, 3, 5] between which it is no work.
std::vector<std::pair<Layout, Layout>> viewsOf(Shuffle const& shuffle)
{
    auto const all = allBackends();
    BackendEntry const& entry = *std::ranges::find(all, std::string_view{"cuda"}, &BackendEntry::name);
    Graph graph;
    ValueId const x = graph.addInput("x", {DType::kHALF, shapeOf({2, 8, 3, 5})});
    auto const node = graph.addNode(makeLayer(shuffle), "layer", {x});
    EXPECT_TRUE(node);
    Target const target = entry.target(0);
    std::vector<std::pair<Layout, Layout>> views;
    for (Offer const& offer : entry.backend().offers({&graph, &graph.node(*node), {}, &target}).accepted)
        if (offer.isView)
            views.emplace_back(offer.inputs.at(0), offer.outputs.at(0));
    return views;
}

Shuffle shuffleOf(AxisOrder const& first, std::vector<int64_t> const& extents, AxisOrder const& second)
{
    Shuffle shuffle = Shuffle::reshape(extents);
    shuffle.firstTranspose = first;
    shuffle.secondTranspose = second;
    return shuffle;
}

constexpr AxisOrder kRowsOfPixels{0, 2, 1, 3, 4, 5, 6, 7};
constexpr AxisOrder kChannelsBehind{0, 2, 3, 1, 4, 5, 6, 7};
} // namespace

TEST(ShuffleViews, pixelsToRowsAndBackAreNoWorkWhereChannelsAreLast)
{
    using testing::Contains;
    using testing::ElementsAre;
    using testing::Not;
    std::pair const toRows{Layout::kChannelsLast, Layout::kLinear};
    EXPECT_THAT(viewsOf(shuffleOf(kSameOrder, {2, 8, 15}, kRowsOfPixels)), Contains(toRows));
    EXPECT_THAT(viewsOf(shuffleOf(kChannelsBehind, {2, 3, 40}, kSameOrder)), Contains(toRows));
    EXPECT_THAT(viewsOf(shuffleOf(kSameOrder, {2, 8, 15}, kSameOrder)),
        ElementsAre(
            std::pair{Layout::kLinear, Layout::kLinear}, std::pair{Layout::kChannelsLast, Layout::kChannelsLast}));
    EXPECT_THAT(viewsOf(shuffleOf(kSameOrder, {2, 120}, kSameOrder)), Not(Contains(toRows)));
    EXPECT_THAT(viewsOf(shuffleOf(kSameOrder, {2, 4, 2, 15}, kRowsOfPixels)), Not(Contains(toRows)));
}

} // namespace tenon::test
