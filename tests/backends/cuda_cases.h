// What cases of the CUDA backend's own product kernels share.
#pragma once

#include "backends/kernel_case.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::test
{

//! Kernels of the CUDA backend.
class CudaKernels : public ::testing::Test
{
  protected:
    void SetUp() override
    {
        char const* const backend = std::getenv("TENON_TEST_BACKEND");
        if (backend == nullptr || std::string_view{backend} != "cuda")
            GTEST_SKIP() << "kernels of the CUDA backend";
    }
};

//! Of a matrix, in float32, as passes make them for products that normalize their rows.
inline HostTensor columnSums(HostTensor const& matrix, int64_t columns, bool isTurned)
{
    std::vector<double> sums(static_cast<size_t>(columns));
    int64_t const depth = matrix.count() / columns;
    for (int64_t i = 0; i < matrix.count(); ++i)
        sums[static_cast<size_t>(isTurned ? i / depth : i % columns)] += matrix.real(i);
    HostTensor made{DType::kFLOAT, {columns}};
    for (int64_t i = 0; i < columns; ++i)
        made.set(i, sums[static_cast<size_t>(i)]);
    return made;
}

//! All tactics of a candidate, whatever the build would find worth a trial.
//! Tactics of layers around norms: tiles, of which the first ones stand for all in most cases (each is a kernel that is
//! compiled), and the library between other kernels.
inline constexpr int64_t kSomeTiles{12};
inline constexpr int64_t kOtherTiles[]{18, 22, 25, 30}; //!< Of the others the widest, and clusters of eight.
inline constexpr int64_t kFirstLibrary{64};
inline constexpr int64_t kLibraries{8};

inline std::vector<Offer> tacticsOf(std::string const& candidate, int64_t count, size_t inputs, Layout layout)
{
    std::vector<Offer> offers;
    for (int64_t tactic = 0; tactic < count; ++tactic)
    {
        Offer offer;
        offer.candidate = candidate;
        offer.inputs.assign(inputs, layout);
        offer.outputs = {layout};
        offer.tactic = tactic;
        offers.push_back(std::move(offer));
    }
    return offers;
}

//! The first tiles, and the library.
inline std::vector<Offer> tacticsAroundNorms(std::string const& candidate, size_t inputs)
{
    std::vector<Offer> offers = tacticsOf(candidate, kFirstLibrary + kLibraries, inputs, Layout::kLinear);
    std::erase_if(
        offers, [](Offer const& offer) { return offer.tactic >= kSomeTiles && offer.tactic < kFirstLibrary; });
    return offers;
}
//! Some of the other tiles.
inline std::vector<Offer> otherTiles(std::string const& candidate, size_t inputs)
{
    std::vector<Offer> offers = tacticsOf(candidate, kFirstLibrary, inputs, Layout::kLinear);
    std::erase_if(offers, [](Offer const& offer) { return std::ranges::count(kOtherTiles, offer.tactic) == 0; });
    return offers;
}

//! For sums of so many products of numbers up to 1, and what an epilogue makes of them.
inline Tolerance sumTolerance(DType type)
{
    return type == DType::kHALF ? Tolerance{2e-3, 2e-3} : Tolerance{1.6e-2, 1.6e-2};
}

} // namespace tenon::test
