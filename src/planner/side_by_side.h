// sideBySide: numbered pieces of work in several threads, begun in order.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <functional>

namespace tenon::planner
{

struct Pieces
{
    size_t count{0};
    int32_t threads{1}; //!< This one among them.
    //! Called once per piece, in any of the threads; nothing may be thrown but by cancellation points.
    std::function<Result<Done>(size_t piece)> work;
    //! Called on this thread once per finished piece; false cancels.
    std::function<bool()> afterPiece;
};

//! Of several errors the one of the first piece is told, whatever the number of threads.
Result<Done> sideBySide(Pieces const& pieces);

} // namespace tenon::planner
