// LocalResponse: sixteen neighbours in memory at a time, be they pixels or channels.
#include "backends/cpu/local_response.h"

#include "backends/cpu/isa_functions.h"
#include "backends/cpu/simd_functions.h"
#include "backends/cpu/simd_storage.h"

namespace tenon::cpu::TENON_ISA_NAMESPACE
{

namespace
{
//! x / base^beta. What networks have published is 0.75, which needs roots alone.
template <typename T>
TENON_INLINE F16 divided(LocalResponse<T> const& r, F16 x, F16 squares)
{
    F16 const base = fma(squares, splat(r.factor), splat(r.k));
    if (r.beta == 0.75F)
    {
        F16 const root = sqrt(base);
        return x / (root * sqrt(root));
    }
    return x * exp(splat(-r.beta) * log(base));
}

//! Sixteen pixels, or fewer, of all channels.
template <typename T>
TENON_INLINE void dividePixels(LocalResponse<T> const& r, T const* in, T* out, int64_t count)
{
    bool const isCut = count < kLanes;
    Mask const mask = firstLanes(isCut ? count : kLanes);
    auto const at = [&](int64_t channel) {
        T const* const from = in + channel * r.inner;
        return isCut ? load(from, mask) : load(from);
    };
    for (int64_t c = 0; c < r.channels; ++c)
    {
        int64_t const first = c < r.reach ? 0 : c - r.reach;
        int64_t const last = r.channels - c <= r.reach ? r.channels : c + r.reach + 1;
        F16 squares = zero();
        for (int64_t near = first; near < last; ++near)
        {
            F16 const x = at(near);
            squares = fma(x, x, squares);
        }
        F16 const result = divided(r, at(c), squares);
        if (isCut)
            store(out + c * r.inner, result, mask);
        else
            store(out + c * r.inner, result);
    }
}

//! A row of channels. The squares before and behind it are zeros.
template <typename T>
TENON_INLINE void divideChannels(LocalResponse<T> const& r, T const* in, T* out, float* squares)
{
    int64_t const padded = r.scratch();
    for (int64_t i = 0; i < padded; i += kLanes)
        store(squares + i, zero());
    for (int64_t c = 0; c < r.channels; c += kLanes)
    {
        int64_t const left = r.channels - c < kLanes ? r.channels - c : kLanes;
        F16 const x = left < kLanes ? load(in + c, firstLanes(left)) : load(in + c);
        store(squares + r.reach + c, x * x, firstLanes(left));
    }
    for (int64_t c = 0; c < r.channels; c += kLanes)
    {
        int64_t const left = r.channels - c < kLanes ? r.channels - c : kLanes;
        F16 sum = zero();
        for (int64_t near = 0; near <= 2 * r.reach; ++near)
            sum = sum + load(squares + c + near);
        F16 const x = left < kLanes ? load(in + c, firstLanes(left)) : load(in + c);
        F16 const result = divided(r, x, sum);
        if (left < kLanes)
            store(out + c, result, firstLanes(left));
        else
            store(out + c, result);
    }
}
} // namespace

template <typename T>
void runLocalResponse(LocalResponse<T> const& r, int64_t first, int64_t last, float* scratch)
{
    int64_t const image = r.channels * r.inner;
    if (r.inner == 1)
    {
        for (int64_t row = first; row < last; ++row)
            divideChannels(r, r.in + row * image, r.out + row * image, scratch);
        return;
    }
    int64_t const blocks = (r.inner + kLanes - 1) / kLanes;
    for (int64_t item = first; item < last; ++item)
    {
        int64_t const pixel = item % blocks * kLanes;
        int64_t const start = item / blocks * image + pixel;
        dividePixels(r, r.in + start, r.out + start, r.inner - pixel < kLanes ? r.inner - pixel : kLanes);
    }
}

#define TENON_ROW(T) template void runLocalResponse(LocalResponse<T> const&, int64_t, int64_t, float*)
TENON_FOR_EACH_STORAGE(TENON_ROW);
#undef TENON_ROW

} // namespace tenon::cpu::TENON_ISA_NAMESPACE
