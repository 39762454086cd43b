// Products of the reference: each width of vectors, at extents that leave rows, columns and depth over.
#include "layers/contiguous_math.h"

#include "base/isa.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace tenon::test
{

TEST(ContiguousMath, productsAtEachWidthOfVectors)
{
    std::minstd_rand random{3};
    std::uniform_real_distribution<double> number{-1.0, 1.0};
    Isa const active = activeIsa();
    for (Isa const isa : {Isa::kNone, Isa::kAvx2, Isa::kAvx512})
    {
        if (isa > detectedIsa())
            continue;
        capIsa(isa);
        for (auto const& [m, k, n] :
            {std::tuple{1, 1, 1}, {7, 5, 3}, {13, 520, 50}, {6, 1030, 48}, {5, 3, 109}, {1, 9, 23}})
        {
            std::vector<double> a(static_cast<size_t>(m * k));
            std::vector<double> b(static_cast<size_t>(k * n));
            std::vector<double> c(static_cast<size_t>(m * n));
            for (std::vector<double>* each : {&a, &b, &c})
                for (double& value : *each)
                    value = number(random);
            std::vector<double> found = c;
            multiplyAdd(found.data(), a.data(), b.data(), m, k, n);
            for (int i = 0; i < m; ++i)
                for (int j = 0; j < n; ++j)
                {
                    double want = c[static_cast<size_t>(i * n + j)];
                    for (int p = 0; p < k; ++p)
                        want += a[static_cast<size_t>(i * k + p)] * b[static_cast<size_t>(p * n + j)];
                    ASSERT_NEAR(found[static_cast<size_t>(i * n + j)], want, 1e-13 * k)
                        << nameOf(isa) << ": " << m << " x " << k << " x " << n << " at " << i << ", " << j;
                }
        }
    }
    capIsa(active);
}

} // namespace tenon::test
