// LibraryProduct: a product of matrices by cuBLASLt, with our tiles behind it, for the layers that come to one.
#pragma once

#include "backends/cuda/matrix_multiply.h"

namespace tenon::cuda
{

inline constexpr int32_t kLtTactics{4}; //!< The library's first proposals, which are timed.

//! Which of the library's proposals it is.
struct LtChoices
{
    int32_t tactic{0};

    static constexpr auto fields()
    {
        return std::tuple{field(1, "tactic", &LtChoices::tactic)};
    }
};

//! By the library, or by our tiles where it is missing or has nothing for the shape. Operands: a, b, bias.
Result<std::shared_ptr<Prepared const>> libraryProduct(
    CudaDevice const& device, DType type, ProductShape const& shape, float alpha, LtChoices const& choices);
//! An offer per proposal, each with these layouts; `multiplications` at the typical shape.
std::vector<Offer> libraryOffers(Problem const& problem, Layout layout, double multiplications);

} // namespace tenon::cuda
