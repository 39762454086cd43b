// How lanes share a product: every element of the result is made once, and many lanes get about the same.
#include "backends/cpu/gemm.h"
#include "backends/cpu/isa_functions.h"
#include "base/isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <vector>

namespace tenon::cpu
{

TEST(GemmShare, everyPanelOfEveryRowBelongsToOneLane)
{
    for (int64_t const rows : {1, 5, 12, 49, 196, 400})
        for (int64_t const columns : {1, 16, 17, 96, 320})
            for (int32_t lanes = 1; lanes <= 17; ++lanes)
            {
                std::vector<int> owners(static_cast<size_t>(rows * panelsOf(columns)), 0);
                for (int32_t lane = 0; lane < lanes; ++lane)
                {
                    GemmShare const share = shareOf({rows, columns, 64, 64}, lane, lanes);
                    for (int64_t row = share.firstRow; row < share.lastRow; ++row)
                        for (int64_t panel = share.firstPanel; panel < share.lastPanel; ++panel)
                            ++owners[static_cast<size_t>(row * panelsOf(columns) + panel)];
                }
                EXPECT_EQ(std::ranges::count(owners, 1), std::ssize(owners))
                    << rows << " rows, " << columns << " columns, " << lanes << " lanes";
            }
}

TEST(GemmShare, everyPanelOfEveryRowBelongsToOnePiece)
{
    int64_t cut{0};
    for (int64_t const rows : {1, 49, 128, 196, 3136, 12545})
        for (int64_t const columns : {16, 64, 96, 1000, 2816})
            for (int64_t const depth : {64, 576, 2048})
                for (int32_t const lanes : {1, 2, 3, 16})
                {
                    GemmSize const size{rows, columns, depth, depth};
                    GemmPieces const pieces = piecesOf(size, 1, lanes, rowGrain<float>());
                    std::vector<int> owners(static_cast<size_t>(rows * panelsOf(columns)), 0);
                    for (int32_t lane = 0; lane < lanes; ++lane)
                        for (int32_t i = 0; i < pieces.count; ++i)
                        {
                            GemmShare const piece = pieces.piece(shareOf(size, lane, lanes, rowGrain<float>()), i);
                            for (int64_t row = piece.firstRow; row < piece.lastRow; ++row)
                                for (int64_t panel = piece.firstPanel; panel < piece.lastPanel; ++panel)
                                    ++owners[static_cast<size_t>(row * panelsOf(columns) + panel)];
                        }
                    ASSERT_EQ(std::ranges::count(owners, 1), std::ssize(owners))
                        << rows << " rows, " << columns << " columns of depth " << depth << ", " << lanes << " lanes";
                    EXPECT_TRUE(pieces.count == 1 || rows * columns * depth > 8'000'000);
                    cut += pieces.count > 1 ? 1 : 0;
                }
    EXPECT_GT(cut, 100);
}

//! What a share makes and what its pieces make, one after the other with the same memory, by rows and by columns.
TEST(GemmShare, piecesMakeTheBitsOfTheShare)
{
    std::minstd_rand random{5};
    std::uniform_real_distribution<float> number{-1.0F, 1.0F};
    std::vector<std::array<int64_t, 3>> const shapes{
        {128, 520, 400}, {300, 64, 512}, {25, 640, 768}, {23, 640, 768}, {97, 256, 40}};
    for (auto const& [rows, columns, depth] : shapes)
    {
        GemmSize const size{rows, columns, depth, depth};
        std::vector<float> a(static_cast<size_t>(rows * depth));
        std::vector<float> b(static_cast<size_t>(panelsOf(columns) * kPanel * depth));
        for (std::vector<float>* each : {&a, &b})
            std::ranges::generate(*each, [&] { return number(random); });
        auto const made = [&, rows = rows, columns = columns, depth = depth](GemmPieces const& pieces) {
            std::vector<float> c(static_cast<size_t>(rows * columns));
            std::vector<float> scratch(static_cast<size_t>(gemmScratch<float>(size)));
            Gemm<float> gemm;
            gemm.rows = rows;
            gemm.columns = columns;
            gemm.length = depth;
            gemm.a = a.data();
            gemm.aStride = depth;
            gemm.b = b.data();
            gemm.c = c.data();
            gemm.cStride = columns;
            gemm.low = -std::numeric_limits<float>::infinity();
            gemm.high = std::numeric_limits<float>::infinity();
            GemmShare const all{0, rows, 0, panelsOf(columns)};
            for (int32_t i = 0; i < pieces.count; ++i)
                storageFunctions<float>().runGemm(gemm, pieces.piece(all, i), scratch.data());
            return c;
        };
        for (Isa const isa : {Isa::kAvx2, Isa::kAvx512})
        {
            if (isa > detectedIsa())
                continue;
            capIsa(isa);
            std::vector<float> const whole = made({});
            EXPECT_NE(std::ranges::count(whole, 0.0F), std::ssize(whole));
            for (GemmPieces const& pieces : {GemmPieces{2, 0}, GemmPieces{4, 0}, GemmPieces{2, 6}, GemmPieces{4, 6}})
                EXPECT_EQ(made(pieces), whole) << rows << " × " << columns << " × " << depth << ", " << pieces.count
                                               << (pieces.rowGrain > 0 ? " by rows" : " by columns");
            capIsa(Isa::kAmxFp16);
        }
    }
}

//! 196 pixels by 96 channels, as in the middle of a mobile net: by panels alone six lanes of sixteen would work.
TEST(GemmShare, fewPanelsAreSharedByRowsToo)
{
    int64_t most{0};
    for (int32_t lane = 0; lane < 16; ++lane)
    {
        GemmShare const share = shareOf({196, 96, 576, 576}, lane, 16);
        most = std::max(most, (share.lastRow - share.firstRow) * (share.lastPanel - share.firstPanel));
    }
    EXPECT_LE(most, 2 * 196 * 6 / 16);
}

} // namespace tenon::cpu
