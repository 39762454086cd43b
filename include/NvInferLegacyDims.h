//! \file
//! Extents of a fixed rank.

#ifndef NV_INFER_LEGACY_DIMS_H
#define NV_INFER_LEGACY_DIMS_H

#include "NvInferRuntimeBase.h"

#if defined(__GNUC__)
// Deprecated calls refer to one another here; only their use elsewhere is worth a warning.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace nvinfer1
{

//! Two extents.
class Dims2 : public Dims
{
  public:
    //! Two extents of zero.
    Dims2()
        : Dims2(0, 0)
    {
    }

    //! Two given extents.
    Dims2(int64_t d0, int64_t d1)
    {
        nbDims = 2;
        d[0] = d0;
        d[1] = d1;
        for (int64_t i{nbDims}; i < Dims::MAX_DIMS; ++i)
        {
            d[i] = 0;
        }
    }
};

//! Two extents, named height and width.
class DimsHW : public Dims2
{
  public:
    //! Height and width zero.
    DimsHW()
        : Dims2()
    {
    }

    //! A given height and width.
    DimsHW(int64_t height, int64_t width)
        : Dims2(height, width)
    {
    }

    //! The height, to be changed.
    int64_t& h()
    {
        return d[0];
    }

    //! The height.
    int64_t h() const
    {
        return d[0];
    }

    //! The width, to be changed.
    int64_t& w()
    {
        return d[1];
    }

    //! The width.
    int64_t w() const
    {
        return d[1];
    }
};

//! Three extents.
class Dims3 : public Dims2
{
  public:
    //! Three extents of zero.
    Dims3()
        : Dims3(0, 0, 0)
    {
    }

    //! Three given extents.
    Dims3(int64_t d0, int64_t d1, int64_t d2)
        : Dims2(d0, d1)
    {
        nbDims = 3;
        d[2] = d2;
    }
};

//! Four extents.
class Dims4 : public Dims3
{
  public:
    //! Four extents of zero.
    Dims4()
        : Dims4(0, 0, 0, 0)
    {
    }

    //! Four given extents.
    Dims4(int64_t d0, int64_t d1, int64_t d2, int64_t d3)
        : Dims3(d0, d1, d2)
    {
        nbDims = 4;
        d[3] = d3;
    }
};
} // namespace nvinfer1

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif // NV_INFER_LEGACY_DIMS_H
