// ShapeListener: marks attached kernels that hear of shapes and profiles, but not of addresses.
#pragma once

namespace tenon
{

//! An Attached that is this, too, is not told again when only addresses of network inputs have changed (K2, K3).
class ShapeListener
{
  public:
    virtual ~ShapeListener() = default;
};

} // namespace tenon
