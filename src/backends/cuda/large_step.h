// LargeStep: a product that fills a Hopper GPU as one launch of large tiles, whatever layer it comes from.
#pragma once

#include "backends/cuda/large_tiles_text.h"

namespace tenon::cuda
{

//! Rows of input 0 by columns of input 1; the bias is input 2.
struct LargeCase
{
    LargeTilesForm form;
    int64_t rows;
    int64_t columns;
    int64_t depth;
    std::optional<EngineWindows> windows{}; //!< In place of rows that lie behind each other.
    std::optional<SecondWindows> second{};  //!< What stands behind their depth.
    LargeTilesParams factors{};             //!< Its numbers that have to do with scales.
    size_t extraInput;
    int64_t extraRows{0};                      //!< Of that input, behind which its first rows stand again; 0: as many.
    size_t scalesInput{0};                     //!< 0: there are none.
    std::shared_ptr<Prepared const> otherwise; //!< Makes the same where the copy engine does not take an address.
};

Result<std::shared_ptr<Prepared const>> largeStep(CudaDevice const& device, LargeCase of);

//! Multiplications that a GPU has time for while it makes all tiles, its multiprocessors one each at a time.
double workOfLarge(int64_t rows, int64_t columns, int64_t depth, LargeTile const& tile);
//! From so many multiplications on products fill the GPU.
inline constexpr double kLeastLargeProduct{1e9};

} // namespace tenon::cuda
