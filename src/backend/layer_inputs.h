// LayerInputs: what a layer's rules may know of its inputs, while building (from a problem) and when a kernel is
// prepared.
#pragma once

#include "backend/candidate.h"
#include "backend/layer_args.h"
#include "device/kernel.h"

#include <vector>

namespace tenon
{

//! While building: types, contents and constants of the node's inputs. The problem must outlive the result.
Inputs inputsOf(Problem const& problem);

//! True when the planner hands the input's contents to `prepare` if an offer calls it unread.
bool hasKnownContents(Problem const& problem, size_t input);

//! When prepared: concrete extents; contents of the operands that the offer called unread.
class PreparedInputs
{
  public:
    PreparedInputs(std::span<TensorArg const> args, uint32_t unread);
    Inputs const& get() const noexcept
    {
        return mInputs;
    }

  private:
    std::vector<TensorType> mTypes;
    std::vector<Shape> mContents;
    Inputs mInputs;
};

//! Concrete values of a shape whose extents are all known, else an error.
Result<std::vector<int64_t>> concrete(Shape const& shape);

//! Bytes of an element when kernels that move data can move it: 1, 2, 4 or 8; 0 for packed types.
int32_t movableBytes(DType type) noexcept;

} // namespace tenon
