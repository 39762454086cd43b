// Reductions of integers: rows by the compiler's own vectors, columns a block of them at a time.
#include "backends/cpu/isa_functions.h"
#include "backends/cpu/simd.h"

#include <limits>

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
constexpr int64_t kColumns{256}; //!< Their sums stay in the nearest cache.

//! A sum starts with `start`, takes an element by `combine`, and is stored as `finish` gives it.
template <typename Sum, typename Combine, typename Finish>
struct Folding
{
    Sum start;
    Combine combine;
    Finish finish;
};
template <typename Sum, typename Combine, typename Finish>
Folding(Sum, Combine, Finish) -> Folding<Sum, Combine, Finish>;

template <typename T, typename Sum, typename Combine, typename Finish>
TENON_INLINE void foldRows(
    IntegerReduction const& r, ReductionShare const& share, Folding<Sum, Combine, Finish> const& folding)
{
    auto const* in = static_cast<T const*>(r.in) + share.firstOuter * r.length;
    auto* const out = static_cast<T*>(r.out);
    for (int64_t row = share.firstOuter; row < share.lastOuter; ++row, in += r.length)
    {
        Sum sum = folding.start;
        for (int64_t k = 0; k < r.length; ++k)
            sum = folding.combine(sum, in[k]);
        out[row] = folding.finish(sum);
    }
}

template <typename T, typename Sum, typename Combine, typename Finish>
TENON_INLINE void foldColumns(
    IntegerReduction const& r, ReductionShare const& share, Folding<Sum, Combine, Finish> const& folding)
{
    alignas(64) Sum sums[kColumns];
    for (int64_t outer = share.firstOuter; outer < share.lastOuter; ++outer)
        for (int64_t first = share.firstInner; first < share.lastInner; first += kColumns)
        {
            int64_t const left = share.lastInner - first;
            int64_t const width = left < kColumns ? left : kColumns;
            auto const* in = static_cast<T const*>(r.in) + outer * r.length * r.inner + first;
            auto* const out = static_cast<T*>(r.out) + outer * r.inner + first;
            for (int64_t i = 0; i < width; ++i)
                sums[i] = folding.start;
            for (int64_t k = 0; k < r.length; ++k, in += r.inner)
                for (int64_t i = 0; i < width; ++i)
                    sums[i] = folding.combine(sums[i], in[i]);
            for (int64_t i = 0; i < width; ++i)
                out[i] = folding.finish(sums[i]);
        }
}

template <typename T>
void foldAs(IntegerReduction const& r, ReductionShare const& share)
{
    using Bits = std::make_unsigned_t<T>; // What wraps.
    using Limits = std::numeric_limits<T>;
    auto const fold = [&](auto start, auto combine, auto finish) {
        Folding const folding{start, combine, finish};
        r.inner == 1 ? foldRows<T>(r, share, folding) : foldColumns<T>(r, share, folding);
    };
    auto const stored = [](auto sum) { return static_cast<T>(sum); };
    auto const add = [](auto sum, T x) { return static_cast<decltype(sum)>(sum + static_cast<decltype(sum)>(x)); };
    auto const largest = [](T sum, T x) { return x > sum ? x : sum; };
    auto const least = [](T sum, T x) { return x < sum ? x : sum; };
    auto const multiply = [](Bits sum, T x) {
        return static_cast<Bits>(static_cast<uint64_t>(sum) * static_cast<uint64_t>(x));
    };
    T const ofNothing = std::is_same_v<T, int8_t> ? Limits::min() : T{0};
    auto const mean = [&](uint64_t sum) {
        return r.length == 0 ? ofNothing : static_cast<T>(static_cast<int64_t>(sum) / r.length);
    };
    switch (r.kind)
    {
    case ReductionKind::kProduct: return fold(Bits{1}, multiply, stored);
    case ReductionKind::kMaximum: return fold(Limits::min(), largest, stored);
    case ReductionKind::kMinimum: return fold(Limits::max(), least, stored);
    default: return r.isMean ? fold(uint64_t{0}, add, mean) : fold(Bits{0}, add, stored);
    }
}
} // namespace

void runIntegerReduction(IntegerReduction const& reduction, ReductionShare const& share)
{
    switch (reduction.type)
    {
    case DType::kINT8: return foldAs<int8_t>(reduction, share);
    case DType::kINT32: return foldAs<int32_t>(reduction, share);
    default: return foldAs<int64_t>(reduction, share);
    }
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
