// Small products by own tiles: which of them a GPU is offered.
#include "backends/rows.h"
#include "ir/host_tensor.h"
#include "layers/matrix_multiply.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace tenon::test
{

namespace
{
//! Tactics of small tiles for rows × 1024 × 64 on a GPU of that architecture; tactic 4 · i + k: the i-th of 16, 64 and
//! 128 rows, by 2^k blocks; 12: by columns.
std::vector<int64_t> tacticsFor(std::string architecture, DType type, int64_t rows)
{
    auto const all = allBackends();
    BackendEntry const& entry = *std::ranges::find(all, std::string_view{"cuda"}, &BackendEntry::name);
    Graph graph;
    ValueId const a = graph.addInput("a", {type, shapeOf({1, rows, 1024})});
    ValueId const b = graph.addInput("b", {type, shapeOf({1, 1024, 64})});
    auto const node = graph.addNode(makeLayer(MatrixMultiply{}), "layer", {a, b});
    EXPECT_TRUE(node);
    Target target = entry.target(0);
    target.architecture = std::move(architecture);
    std::vector<int64_t> tactics;
    for (Offer const& offer : entry.backend().offers({&graph, &graph.node(*node), {}, &target}).accepted)
        if (offer.candidate == "small tiles")
            tactics.push_back(offer.tactic);
    return tactics;
}
} // namespace

TEST(SmallProduct, tilesAreThoseThatTheGpuHasMemoryAndInstructionsFor)
{
    using testing::ElementsAre;
    using testing::IsEmpty;
    EXPECT_THAT(tacticsFor("sm_90", DType::kHALF, 40), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    EXPECT_THAT(tacticsFor("sm_120", DType::kBF16, 40), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    EXPECT_THAT(tacticsFor("sm_89", DType::kHALF, 40), ElementsAre(0, 4)) << "no clusters";
    EXPECT_THAT(tacticsFor("sm_75", DType::kHALF, 40), ElementsAre(0)) << "64 KiB of shared memory";
    EXPECT_THAT(tacticsFor("sm_75", DType::kHALF, 200), IsEmpty());
    EXPECT_THAT(tacticsFor("sm_75", DType::kBF16, 9), ElementsAre(12)) << "no products of bfloat16";
    EXPECT_THAT(tacticsFor("sm_90", DType::kFLOAT, 9), ElementsAre(12)) << "float32 is not rounded";
}

} // namespace tenon::test
