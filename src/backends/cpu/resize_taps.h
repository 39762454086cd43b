// Taps of resizing as kernels read them, which multiply all of them: an infinite element times 0 would be no number.
#pragma once

#include "layers/resize.h"

namespace tenon::cpu
{

//! The same sums without weights of 0: such a tap reads what another one reads, with half its weight, which is exact.
inline Resize::Taps withoutZeros(Resize::Taps taps)
{
    auto const width = static_cast<size_t>(taps.width);
    for (size_t first = 0; first < taps.weight.size(); first += width)
    {
        size_t other = first;
        while (other < first + width && taps.weight[other] == 0.0)
            ++other;
        for (size_t i = first; other < first + width && i < first + width; ++i)
            if (taps.weight[i] == 0.0)
            {
                taps.index[i] = taps.index[other];
                taps.weight[i] = taps.weight[other] /= 2.0;
            }
    }
    return taps;
}

} // namespace tenon::cpu
