// What the calls by name and those by binding index share: shapes from Python, bounds of profiles, runs that Ctrl-C
// ends.
#pragma once

#include "interruptible.h"

#include "tenon/run.h"

namespace tenon::python
{

//! Extents from a tuple or list; each must fit 32 bits (rule A4).
nvinfer1::Dims narrowDims(py::sequence const& shape);

//! Values [min, opt, max] that a profile has for a shape tensor, whichever call has set them; RuntimeError for others.
py::list profileValues(nvinfer1::ICudaEngine const& engine, std::string const& name, int32_t profile);

//! A list of what `get` answers for MIN, OPT and MAX.
template <typename Get>
py::list forEachSelector(Get&& get)
{
    using Select = nvinfer1::OptProfileSelector;
    py::list list;
    for (Select const which : {Select::kMIN, Select::kOPT, Select::kMAX})
        list.append(get(which));
    return list;
}

//! A run without the GIL, which Ctrl-C ends between two steps: `run` passes on what is asked between them.
template <typename Run>
bool interruptibly(Run&& run)
{
    Signals signals;
    TenonGoesOn const goesOn = Signals::areHandledHere() ? &Signals::goesOn : nullptr;
    bool const done = [&] {
        py::gil_scoped_release const released;
        return run(goesOn, &signals);
    }();
    if (!done && goesOn != nullptr)
        signals.raise();
    return done;
}

} // namespace tenon::python
