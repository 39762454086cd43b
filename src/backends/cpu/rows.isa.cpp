// Rows: softmax and normalization.
#include "backends/cpu/rows.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/simd_math.h"
#include "backends/cpu/simd_storage.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
constexpr float kInfinity{__builtin_inff()};

template <typename T>
float largestOf(T const* row, int64_t n)
{
    F16 most = splat(-kInfinity);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        most = max(most, load(row + i));
    float result = largest(most);
    for (; i < n; ++i)
        result = toFloat(row[i]) > result ? toFloat(row[i]) : result;
    return result;
}

//! to = exp(row − most); the sum of all.
template <typename T>
float exponentials(T const* row, float* to, int64_t n, float most)
{
    F16 const peak = splat(most);
    F16 total = zero();
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
    {
        F16 const e = exp(load(row + i) - peak);
        store(to + i, e);
        total = total + e;
    }
    float result = sum(total);
    if (i < n)
    {
        Mask const m = firstLanes(n - i);
        alignas(64) float tail[kLanes];
        F16 const e = exp(load(row + i, m) - peak);
        store(to + i, e, m);
        store(tail, e);
        for (int64_t k = 0; k < n - i; ++k)
            result += tail[k];
    }
    return result;
}

template <typename T>
void scaleBy(float const* row, T* to, int64_t n, float factor)
{
    F16 const f = splat(factor);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        store(to + i, load(row + i) * f);
    if (i < n)
        store(to + i, load(row + i, firstLanes(n - i)) * f, firstLanes(n - i));
}

//! Where the floats between input and result stand: in the result's own memory, if that holds floats.
template <typename T>
float* floatsOf(T* out, float* scratch)
{
    if constexpr (kIsFloat<T>)
        return out;
    else
        return scratch;
}

//! Sixteen neighbouring lanes, each along a strided axis.
template <typename T>
void softMaxColumns(T const* in, T* out, int64_t length, int64_t stride, int64_t count, float* scratch)
{
    Mask const m = firstLanes(count);
    F16 most = splat(-kInfinity);
    for (int64_t l = 0; l < length; ++l)
        most = max(most, load(in + l * stride, m));
    float* const between = floatsOf(out, scratch);
    int64_t const step = kIsFloat<T> ? stride : kLanes;
    F16 total = zero();
    for (int64_t l = 0; l < length; ++l)
    {
        F16 const e = exp(load(in + l * stride, m) - most);
        store(between + l * step, e, m);
        total = total + e;
    }
    F16 const factor = splat(1.0F) / total;
    for (int64_t l = 0; l < length; ++l)
        store(out + l * stride, load(between + l * step, m) * factor, m);
}

struct Moments
{
    float mean;
    float factor; //!< 1 / standard deviation
};

template <typename T>
Moments momentsOf(T const* row, int64_t n, float epsilon, bool isRms)
{
    float mean{0.0F};
    if (!isRms)
    {
        F16 total[4]{zero(), zero(), zero(), zero()};
        int64_t i = 0;
        for (; i + 4 * kLanes <= n; i += 4 * kLanes)
            for (int64_t k = 0; k < 4; ++k)
                total[k] = total[k] + load(row + i + k * kLanes);
        for (; i + kLanes <= n; i += kLanes)
            total[0] = total[0] + load(row + i);
        if (i < n)
            total[1] = total[1] + load(row + i, firstLanes(n - i));
        mean = sum((total[0] + total[1]) + (total[2] + total[3])) / static_cast<float>(n);
    }
    F16 const centre = splat(mean);
    F16 total[4]{zero(), zero(), zero(), zero()};
    int64_t i = 0;
    for (; i + 4 * kLanes <= n; i += 4 * kLanes)
        for (int64_t k = 0; k < 4; ++k)
        {
            F16 const d = load(row + i + k * kLanes) - centre;
            total[k] = fma(d, d, total[k]);
        }
    for (; i + kLanes <= n; i += kLanes)
    {
        F16 const d = load(row + i) - centre;
        total[0] = fma(d, d, total[0]);
    }
    float squares = sum((total[0] + total[1]) + (total[2] + total[3]));
    for (; i < n; ++i)
        squares += (toFloat(row[i]) - mean) * (toFloat(row[i]) - mean);
    return {mean, 1.0F / __builtin_sqrtf(squares / static_cast<float>(n) + epsilon)};
}

//! to = (row − mean) · factor · scale + bias, scale and bias per element.
template <typename From, typename T>
void normalizeElements(From const* row, T* to, int64_t n, Moments const& m, T const* scale, T const* bias)
{
    F16 const mean = splat(m.mean);
    F16 const factor = splat(m.factor);
    for (int64_t i = 0; i < n; i += kLanes)
    {
        bool const isCut = n - i < kLanes;
        Mask const mask = firstLanes(isCut ? n - i : kLanes);
        F16 const x = isCut ? load(row + i, mask) : load(row + i);
        F16 const s = isCut ? load(scale + i, mask) : load(scale + i);
        F16 const b = bias == nullptr ? zero() : isCut ? load(bias + i, mask) : load(bias + i);
        F16 const y = fma((x - mean) * factor, s, b);
        if (isCut)
            store(to + i, y, mask);
        else
            store(to + i, y);
    }
}

//! to = (row − mean) · a + b: with the difference first, values close to the mean keep their digits.
template <typename From, typename T>
void linear(From const* row, T* to, int64_t n, float mean, float a, float b)
{
    F16 const middle = splat(mean);
    F16 const factor = splat(a);
    F16 const addend = splat(b);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
        store(to + i, fma(load(row + i) - middle, factor, addend));
    if (i < n)
        store(to + i, fma(load(row + i, firstLanes(n - i)) - middle, factor, addend), firstLanes(n - i));
}
} // namespace

template <typename T>
void runSoftMax(SoftMaxRows<T> const& rows, int64_t first, int64_t last, float* scratch)
{
    if (rows.inner == 1)
    {
        for (int64_t r = first; r < last; ++r)
        {
            T const* const in = rows.in + r * rows.length;
            T* const out = rows.out + r * rows.length;
            float* const between = floatsOf(out, scratch);
            float const total = exponentials(in, between, rows.length, largestOf(in, rows.length));
            scaleBy(between, out, rows.length, 1.0F / total);
        }
        return;
    }
    int64_t const blocks = (rows.inner + kLanes - 1) / kLanes;
    for (int64_t at = first; at < last; ++at)
    {
        int64_t const column = at % blocks * kLanes;
        int64_t const offset = at / blocks * rows.length * rows.inner + column;
        int64_t const left = rows.inner - column;
        softMaxColumns(
            rows.in + offset, rows.out + offset, rows.length, rows.inner, left < kLanes ? left : kLanes, scratch);
    }
}

namespace
{
//! One row, from floats to where the result is stored.
template <typename From, typename T>
void normalizeRow(NormRows<T> const& rows, int64_t r, From const* in)
{
    T* const out = rows.out + r * rows.length;
    Moments const m = momentsOf(in, rows.length, rows.epsilon, rows.isRms);
    int64_t at = r % rows.period * rows.rowStep;
    for (int64_t j = 0; j < rows.length; j += rows.segment, at += rows.segmentStep)
    {
        if (rows.elementStep != 0)
        {
            normalizeElements(
                in + j, out + j, rows.segment, m, rows.scale + at, rows.bias == nullptr ? nullptr : rows.bias + at);
            continue;
        }
        linear(in + j, out + j, rows.segment, m.mean, m.factor * toFloat(rows.scale[at]),
            rows.bias == nullptr ? 0.0F : toFloat(rows.bias[at]));
    }
}
} // namespace

template <typename T>
void runNormRows(NormRows<T> const& rows, int64_t first, int64_t last)
{
    constexpr int64_t kMaxWidened{4096}; // Floats of a row that is read three times.
    alignas(64) float widened[kIsFloat<T> ? 1 : kMaxWidened + kLanes];
    for (int64_t r = first; r < last; ++r)
    {
        T const* const in = rows.in + r * rows.length;
        if (kIsFloat<T> || rows.length > kMaxWidened)
        {
            normalizeRow(rows, r, in);
            continue;
        }
        widenRow(in, widened, rows.length);
        normalizeRow(rows, r, static_cast<float const*>(widened));
    }
}

namespace
{
//! Sums of x − shift and of its square per channel, over all pixels; in blocks, so that float sums stay exact enough.
template <typename T>
void sumChannels(
    NormGroups<T> const& g, T const* in, int64_t channels, float const* shift, double* sums, double* squares)
{
    constexpr int64_t kBlock{128};
    for (int64_t c = 0; c < channels; c += kLanes)
    {
        int64_t const count = channels - c < kLanes ? channels - c : kLanes;
        Mask const m = firstLanes(count);
        F16 const k = load(shift + c, m);
        for (int64_t p = 0; p < g.pixels; p += kBlock)
        {
            int64_t const end = g.pixels - p < kBlock ? g.pixels : p + kBlock;
            F16 total = zero();
            F16 square = zero();
            for (int64_t i = p; i < end; ++i)
            {
                F16 const d = load(in + i * g.channels + c, m) - k;
                total = total + d;
                square = fma(d, d, square);
            }
            alignas(64) float a[kLanes];
            alignas(64) float b[kLanes];
            store(a, total);
            store(b, square);
            for (int64_t j = 0; j < count; ++j)
            {
                sums[c + j] += static_cast<double>(a[j]);
                squares[c + j] += static_cast<double>(b[j]);
            }
        }
    }
}
} // namespace

template <typename T>
void runNormGroups(NormGroups<T> const& g, int64_t image, int64_t firstChannel, int64_t lastChannel)
{
    alignas(64) float factor[kMaxNormChannels];
    alignas(64) float addend[kMaxNormChannels];
    alignas(64) float means[kMaxNormChannels];
    double sums[kMaxNormChannels]{};
    double squares[kMaxNormChannels]{};
    int64_t const channels = lastChannel - firstChannel;
    if (g.pixels == 0)
        return;
    T const* const in = g.in + image * g.pixels * g.channels + firstChannel;
    T* const out = g.out + image * g.pixels * g.channels + firstChannel;
    // The first pixel is close enough to the mean to keep the difference of squares exact. All channels of a group
    // share one shift, so that their sums can be added.
    for (int64_t c = 0; c < channels; ++c)
        factor[c] = g.isRms ? 0.0F : toFloat(in[c / g.groupChannels * g.groupChannels]);
    sumChannels(g, in, channels, factor, sums, squares);
    auto const count = static_cast<double>(g.pixels * g.groupChannels);
    for (int64_t c = 0; c < channels; c += g.groupChannels)
    {
        double total{0.0};
        double square{0.0};
        for (int64_t j = 0; j < g.groupChannels; ++j)
        {
            total += sums[c + j];
            square += squares[c + j];
        }
        double const offset = g.isRms ? 0.0 : total / count;
        double const variance = square / count - offset * offset;
        double const mean = g.isRms ? 0.0 : static_cast<double>(factor[c]) + offset;
        double const inverse = 1.0 / __builtin_sqrt((variance > 0.0 ? variance : 0.0) + static_cast<double>(g.epsilon));
        for (int64_t j = 0; j < g.groupChannels; ++j)
        {
            int64_t const channel = firstChannel + c + j;
            int64_t const at = g.isPerGroup ? channel / g.groupChannels : channel;
            double const f = inverse * static_cast<double>(toFloat(g.scale[at]));
            addend[c + j] = g.bias == nullptr ? 0.0F : toFloat(g.bias[at]);
            means[c + j] = static_cast<float>(mean);
            sums[c + j] = f;
        }
    }
    for (int64_t c = 0; c < channels; ++c)
        factor[c] = static_cast<float>(sums[c]);
    for (int64_t p = 0; p < g.pixels; ++p)
        for (int64_t c = 0; c < channels; c += kLanes)
        {
            int64_t const at = p * g.channels + c;
            if (channels - c >= kLanes)
                store(out + at, fma(load(in + at) - load(means + c), load(factor + c), load(addend + c)));
            else
            {
                Mask const m = firstLanes(channels - c);
                store(
                    out + at, fma(load(in + at, m) - load(means + c, m), load(factor + c, m), load(addend + c, m)), m);
            }
        }
}

namespace
{
//! Rows of scores are whole vectors long.
template <typename T>
void addRow(T const* from, float* to, int64_t n)
{
    for (int64_t i = 0; i < n; i += kLanes)
        store(to + i, load(to + i) + (n - i < kLanes ? load(from + i, firstLanes(n - i)) : load(from + i)));
}
} // namespace

template <typename T>
void runAttentionRows(AttentionRows<T> const& rows, int64_t count)
{
    for (int64_t r = 0; r < count; ++r)
    {
        float* const row = rows.scores + r * rows.stride;
        int64_t n = rows.keys;
        if (rows.isCausal)
        {
            int64_t const visible = rows.visible + r > 0 ? rows.visible + r : 0;
            n = visible < n ? visible : n;
            for (int64_t j = n; j < rows.keys; ++j)
                row[j] = 0.0F;
        }
        if (rows.mask != nullptr)
        {
            T const* const mask = rows.mask + r * rows.maskRowStride;
            if (rows.maskColumnStride == 1)
                addRow(mask, row, n);
            else
                for (int64_t j = 0; j < n; ++j)
                    row[j] += toFloat(mask[j * rows.maskColumnStride]);
        }
        if (rows.keep != nullptr)
        {
            uint8_t const* const keep = rows.keep + r * rows.maskRowStride;
            for (int64_t j = 0; j < n; ++j)
                row[j] = keep[j * rows.maskColumnStride] != 0 ? row[j] : -kInfinity;
        }
        float const most = largestOf(row, n);
        if (most == -kInfinity && rows.masksToZero)
        {
            for (int64_t j = 0; j < n; ++j)
                row[j] = 0.0F;
            continue;
        }
        float const total = exponentials(row, row, n, most);
        if (n == 0 && !rows.masksToZero)
            for (int64_t j = 0; j < rows.keys; ++j)
                row[j] = __builtin_nanf("");
        else
            scaleBy(row, row, n, 1.0F / total);
    }
}

template <typename T>
void widenRows(T const* from, int64_t stride, int64_t rows, int64_t columns, float* to)
{
    for (int64_t r = 0; r < rows; ++r)
        widenRow(from + r * stride, to + r * columns, columns);
}

template <typename T>
void narrowRows(float const* from, int64_t rows, int64_t columns, T* to, int64_t stride)
{
    for (int64_t r = 0; r < rows; ++r)
        narrowRow(from + r * columns, to + r * stride, columns);
}

#define TENON_ROW(T)                                                                                                   \
    template void runSoftMax(SoftMaxRows<T> const&, int64_t, int64_t, float*);                                         \
    template void runNormRows(NormRows<T> const&, int64_t, int64_t);                                                   \
    template void runNormGroups(NormGroups<T> const&, int64_t, int64_t, int64_t);                                      \
    template void runAttentionRows(AttentionRows<T> const&, int64_t);                                                  \
    template void widenRows(T const*, int64_t, int64_t, int64_t, float*);                                              \
    template void narrowRows(float const*, int64_t, int64_t, T*, int64_t)
TENON_FOR_EACH_STORAGE(TENON_ROW);
#undef TENON_ROW

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
