// KernelCase: one layer with random operands, run by every offer of the backend under test (on the CPU at every
// instruction set and in every type of real numbers) and compared with the layer's own reference.
#pragma once

#include "backend/backend_table.h"
#include "backend/candidate.h"
#include "ir/graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace tenon::test
{

//! The backend that TENON_TEST_BACKEND names; the CPU's when it is not set.
BackendEntry const& backendUnderTest();

struct Operand
{
    HostTensor tensor;
    bool isConstant{false};
    bool isAbsent{false};
};

//! Uniform in [low, high).
HostTensor randomTensor(std::vector<int64_t> extents, double low = -1.0, double high = 1.0, DType type = DType::kFLOAT);
inline Operand input(HostTensor tensor)
{
    return {std::move(tensor)};
}
inline Operand weight(HostTensor tensor)
{
    return {std::move(tensor), true};
}
inline Operand absent()
{
    return {{}, false, true};
}

struct Tolerance
{
    double absolute{1e-5};
    double relative{1e-4};
};

//! Of sums of so many products of numbers of [-1, 1], one behind the other in float32. Made so in NumPy, they err by
//! 4.3e-9 a product in the mean square, and the worst of 93,000 sums of 520 to 1,030 by 5.7e-8.
inline Tolerance toleranceOfSums(int64_t depth)
{
    return {std::max(1e-5, 6e-8 * static_cast<double>(depth)), 1e-4};
}

//! Whether a case is run in half precision, too, where the CPU is under test: kernels take all types of real numbers.
enum class Types : uint8_t
{
    kAll,
    kFloatOnly, //!< The layer names float32 in its own fields, or the values mean something in float32 alone.
};

//! Fails when no offer stands besides the reference, or any of them differs. `candidate`: the one that must be offered.
//! `partial`: the largest number in front of a step of the epilogue; a backend may round to the layer's type there
//! (decision 80), and what a sum cancels keeps that error.
void expectKernels(LayerPtr layer, std::vector<Operand> operands, std::string_view candidate, Tolerance tolerance = {},
    Types types = Types::kAll, double partial = 0);
template <typename L>
void expectKernels(L layer, std::vector<Operand> operands, std::string_view candidate, Tolerance tolerance = {},
    Types types = Types::kAll, double partial = 0)
{
    expectKernels(makeLayer(std::move(layer)), std::move(operands), candidate, tolerance, types, partial);
}

//! The same by these offers, of operands that the backend may find too small for them, in the types that they have.
void expectOffers(LayerPtr layer, std::vector<Operand> operands, std::vector<Offer> const& offers, Tolerance tolerance);

} // namespace tenon::test
