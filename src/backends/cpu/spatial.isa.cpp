// Spatial: pooling, reduction and resizing, sixteen channels at a time.
#include "backends/cpu/spatial.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/simd_storage.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
constexpr float kLowest{-__builtin_inff()};

int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

struct Span
{
    int64_t first;
    int64_t last;
};

Span windowIn(int64_t start, int64_t window, int64_t extent)
{
    return {larger(start, 0), smaller(start + window, extent)};
}

//! Windows of one output position that lie inside the image, and what an average divides by.
struct PoolWindow
{
    Span rows;
    Span columns;
    float factor;
};

template <typename T>
PoolWindow poolWindow(Pool<T> const& pool, int64_t y, int64_t x)
{
    int64_t const top = y * pool.strideHeight - pool.top;
    int64_t const left = x * pool.strideWidth - pool.left;
    PoolWindow window{
        windowIn(top, pool.windowHeight, pool.inHeight), windowIn(left, pool.windowWidth, pool.inWidth), 1.0F};
    if (pool.isAverage)
    {
        int64_t count = (window.rows.last - window.rows.first) * (window.columns.last - window.columns.first);
        if (pool.countsPadding)
            count = (smaller(top + pool.windowHeight, pool.inHeight + pool.bottom) - top)
                * (smaller(left + pool.windowWidth, pool.inWidth + pool.right) - left);
        window.factor = count > 0 ? 1.0F / static_cast<float>(count) : 0.0F;
    }
    return window;
}

template <bool kAverage, typename T>
void poolPosition(Pool<T> const& pool, PoolWindow const& window, T const* image, T* out)
{
    for (int64_t c = 0; c < pool.channels; c += kLanes)
    {
        Mask const mask = firstLanes(smaller(kLanes, pool.channels - c));
        F16 value = kAverage ? zero() : splat(kLowest);
        for (int64_t y = window.rows.first; y < window.rows.last; ++y)
            for (int64_t x = window.columns.first; x < window.columns.last; ++x)
            {
                F16 const each = load(image + (y * pool.inWidth + x) * pool.channels + c, mask);
                value = kAverage ? value + each : maxOrNan(each, value);
            }
        if (kAverage)
            value = value * splat(window.factor);
        store(out + c, value, mask);
    }
}
} // namespace

template <typename T>
void runPool(Pool<T> const& pool, int64_t first, int64_t last)
{
    for (int64_t line = first; line < last; ++line)
    {
        T const* image = pool.in + line / pool.outHeight * pool.inHeight * pool.inWidth * pool.channels;
        T* out = pool.out + line * pool.outWidth * pool.channels;
        for (int64_t x = 0; x < pool.outWidth; ++x, out += pool.channels)
        {
            PoolWindow const window = poolWindow(pool, line % pool.outHeight, x);
            if (pool.isAverage)
                poolPosition<true>(pool, window, image, out);
            else
                poolPosition<false>(pool, window, image, out);
        }
    }
}

namespace
{
template <ReductionKind kKind>
F16 join(F16 a, F16 b)
{
    switch (kKind)
    {
    case ReductionKind::kSum: return a + b;
    case ReductionKind::kProduct: return a * b;
    case ReductionKind::kMaximum: return maxOrNan(a, b);
    default: return minOrNan(a, b);
    }
}

template <ReductionKind kKind>
constexpr float neutral()
{
    switch (kKind)
    {
    case ReductionKind::kSum: return 0.0F;
    case ReductionKind::kProduct: return 1.0F;
    case ReductionKind::kMaximum: return kLowest;
    default: return -kLowest;
    }
}

//! All sixteen values joined to one.
template <ReductionKind kKind>
float joinLanes(F16 value)
{
    alignas(64) float lanes[kLanes];
    store(lanes, value);
    for (int64_t width = kLanes / 2; width > 0; width /= 2)
        for (int64_t i = 0; i < width; ++i)
        {
            F16 const pair = join<kKind>(splat(lanes[i]), splat(lanes[i + width]));
            store(&lanes[i], pair, firstLanes(1));
        }
    return lanes[0];
}

template <ReductionKind kKind, typename T>
float reduceRow(T const* in, int64_t length)
{
    F16 value[4];
    for (F16& each : value)
        each = splat(neutral<kKind>());
    int64_t i{0};
    for (; i + 4 * kLanes <= length; i += 4 * kLanes)
        for (int64_t k = 0; k < 4; ++k)
            value[k] = join<kKind>(value[k], load(in + i + k * kLanes));
    for (; i + kLanes <= length; i += kLanes)
        value[0] = join<kKind>(value[0], load(in + i));
    float result = joinLanes<kKind>(join<kKind>(join<kKind>(value[0], value[1]), join<kKind>(value[2], value[3])));
    for (; i < length; ++i)
    {
        float one[kLanes];
        store(one, join<kKind>(splat(result), splat(toFloat(in[i]))), firstLanes(1));
        result = one[0];
    }
    return result;
}

template <ReductionKind kKind, typename T>
void reduceColumns(Reduction<T> const& r, T const* in, T* out, int64_t first, int64_t last)
{
    constexpr int64_t kWide{4 * kLanes};
    for (int64_t at = first; at < last;)
    {
        bool const wide = at + kWide <= last;
        Mask const mask = firstLanes(smaller(kLanes, last - at));
        F16 value[4];
        for (F16& each : value)
            each = splat(neutral<kKind>());
        if (wide)
            for (int64_t row = 0; row < r.length; ++row)
                for (int64_t k = 0; k < 4; ++k)
                    value[k] = join<kKind>(value[k], load(in + row * r.inner + at + k * kLanes));
        else
            for (int64_t row = 0; row < r.length; ++row)
                value[0] = join<kKind>(value[0], load(in + row * r.inner + at, mask));
        for (int64_t k = 0; k < (wide ? 4 : 1); ++k)
            store(out + at + k * kLanes, value[k] * splat(r.factor), wide ? firstLanes(kLanes) : mask);
        at += wide ? kWide : kLanes;
    }
}

template <ReductionKind kKind, typename T>
void reduceAs(Reduction<T> const& r, int64_t firstOuter, int64_t lastOuter, int64_t firstInner, int64_t lastInner)
{
    for (int64_t outer = firstOuter; outer < lastOuter; ++outer)
    {
        T const* in = r.in + outer * r.length * r.inner;
        T* out = r.out + outer * r.inner;
        if (r.inner == 1)
            setFloat(*out, reduceRow<kKind>(in, r.length) * r.factor);
        else
            reduceColumns<kKind>(r, in, out, firstInner, lastInner);
    }
}
} // namespace

template <typename T>
void runReduction(Reduction<T> const& r, int64_t firstOuter, int64_t lastOuter, int64_t firstInner, int64_t lastInner)
{
    switch (r.kind)
    {
    case ReductionKind::kSum: reduceAs<ReductionKind::kSum>(r, firstOuter, lastOuter, firstInner, lastInner); break;
    case ReductionKind::kProduct:
        reduceAs<ReductionKind::kProduct>(r, firstOuter, lastOuter, firstInner, lastInner);
        break;
    case ReductionKind::kMaximum:
        reduceAs<ReductionKind::kMaximum>(r, firstOuter, lastOuter, firstInner, lastInner);
        break;
    default: reduceAs<ReductionKind::kMinimum>(r, firstOuter, lastOuter, firstInner, lastInner); break;
    }
}

namespace
{
template <typename T>
void resampleChannels(Resampling<T> const& r, T const* image, int64_t y, T* out)
{
    for (int64_t x = 0; x < r.outWidth; ++x, out += r.channels)
    {
        auto const valueAt = [&](int64_t c, auto const& loaded) {
            F16 value = zero();
            for (int64_t i = y * r.rowTaps; i < (y + 1) * r.rowTaps; ++i)
                for (int64_t j = x * r.columnTaps; j < (x + 1) * r.columnTaps; ++j)
                {
                    T const* from = image + (int64_t{r.rows[i]} * r.inWidth + r.columns[j]) * r.channels + c;
                    value = fma(loaded(from), splat(r.rowWeights[i] * r.columnWeights[j]), value);
                }
            return value;
        };
        if (r.channels < kLanes)
        {
            Mask const mask = firstLanes(r.channels);
            store(out, valueAt(0, [&](T const* from) { return load(from, mask); }), mask);
            continue;
        }
        // The last vector overlaps the one before: masked accesses take several times as long on some machines.
        for (int64_t c = 0; c < r.channels; c += kLanes)
        {
            int64_t const at = smaller(c, r.channels - kLanes);
            store(out + at, valueAt(at, [](T const* from) { return load(from); }));
        }
    }
}

//! line = from · weight, or that added to it; a line has a vector of room behind it.
template <bool kIsFirst, typename T>
void addTap(T const* from, int64_t width, float weight, float* line)
{
    F16 const factor = splat(weight);
    for (int64_t x = 0; x < width; x += kLanes)
    {
        F16 const in = width - x < kLanes ? load(from + x, firstLanes(width - x)) : load(from + x);
        store(line + x, kIsFirst ? in * factor : load(line + x) + in * factor);
    }
}

//! First the lines, into `line`, then the columns.
template <typename T>
void resamplePlane(Resampling<T> const& r, T const* plane, int64_t y, T* out, float* __restrict line)
{
    int64_t const tap = y * r.rowTaps;
    addTap<true>(plane + int64_t{r.rows[tap]} * r.inWidth, r.inWidth, r.rowWeights[tap], line);
    for (int64_t i = tap + 1; i < tap + r.rowTaps; ++i)
        addTap<false>(plane + int64_t{r.rows[i]} * r.inWidth, r.inWidth, r.rowWeights[i], line);
    if (r.columnTaps == 2)
    {
        for (int64_t x = 0; x < r.outWidth; ++x)
            setFloat(out[x],
                line[r.columns[2 * x]] * r.columnWeights[2 * x]
                    + line[r.columns[2 * x + 1]] * r.columnWeights[2 * x + 1]);
        return;
    }
    for (int64_t x = 0; x < r.outWidth; ++x)
    {
        float value{0.0F};
        for (int64_t j = x * r.columnTaps; j < (x + 1) * r.columnTaps; ++j)
            value += line[r.columns[j]] * r.columnWeights[j];
        setFloat(out[x], value);
    }
}
} // namespace

template <typename T>
void runResampling(Resampling<T> const& r, int64_t first, int64_t last, float* scratch)
{
    for (int64_t line = first; line < last; ++line)
    {
        T const* image = r.in + line / r.outHeight * r.inHeight * r.inWidth * r.channels;
        T* out = r.out + line * r.outWidth * r.channels;
        if (r.channels == 1)
            resamplePlane(r, image, line % r.outHeight, out, scratch);
        else
            resampleChannels(r, image, line % r.outHeight, out);
    }
}

#define TENON_ROW(T)                                                                                                   \
    template void runPool(Pool<T> const&, int64_t, int64_t);                                                           \
    template void runReduction(Reduction<T> const&, int64_t, int64_t, int64_t, int64_t);                               \
    template void runResampling(Resampling<T> const&, int64_t, int64_t, float*)
TENON_FOR_EACH_STORAGE(TENON_ROW);
#undef TENON_ROW

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
