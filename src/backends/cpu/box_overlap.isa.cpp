// overlapsAny: NMS::overlap of a box with a vector of others, to the same bits.
#include "backends/cpu/box_overlap.h"

#include "backends/cpu/isa_functions.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
#ifdef __AVX512F__
constexpr int kVectorBytes{64};
#else
constexpr int kVectorBytes{32};
#endif
using Doubles = double __attribute__((vector_size(kVectorBytes)));
using Marks = int64_t __attribute__((vector_size(kVectorBytes)));
constexpr int64_t kDoubles{kVectorBytes / sizeof(double)};
constexpr int64_t kTogether{4}; // Vectors between two looks at what was found.

Doubles loadDoubles(double const* from)
{
    Doubles x;
    __builtin_memcpy(&x, from, sizeof x);
    return x;
}

//! What two boxes have in common along an axis.
Doubles shared(double low, double high, double const* lows, double const* highs)
{
    Doubles const low2 = loadDoubles(lows);
    Doubles const high2 = loadDoubles(highs);
    Doubles const end = high2 < high ? high2 : Doubles{} + high;
    Doubles const begin = low < low2 ? low2 : Doubles{} + low;
    Doubles const width = end - begin;
    return 0.0 < width ? width : Doubles{};
}

Marks overlaps(NMS::Box const& box, double area, KeptBoxes const& kept, int64_t i, double threshold)
{
    Doubles common = shared(box.low[0], box.high[0], kept.low0 + i, kept.high0 + i)
        * shared(box.low[1], box.high[1], kept.low1 + i, kept.high1 + i);
    asm("" : "+v"(common)); // Rounded here: not the product of a fused operation.
    Doubles const both = area + loadDoubles(kept.area + i) - common;
    return (both > 0.0) & (common > threshold * both);
}

bool hasAny(Marks marks)
{
    int64_t any{0};
    for (int64_t i = 0; i < kDoubles; ++i)
        any |= marks[i];
    return any != 0;
}
} // namespace

bool overlapsAny(NMS::Box const& box, KeptBoxes const& kept, int64_t first, int64_t last, double threshold)
{
    double const area = box.area();
    int64_t i{first};
    for (; i + kTogether * kDoubles <= last; i += kTogether * kDoubles)
    {
        Marks marks{};
        for (int64_t v = 0; v < kTogether; ++v)
            marks |= overlaps(box, area, kept, i + v * kDoubles, threshold);
        if (hasAny(marks))
            return true;
    }
    for (; i + kDoubles <= last; i += kDoubles)
        if (hasAny(overlaps(box, area, kept, i, threshold)))
            return true;
    for (; i < last; ++i)
        if (NMS::overlap(box, kept.box(i), threshold))
            return true;
    return false;
}

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
