// What the calls by name and those by binding index share: shapes from Python, bounds of profiles, runs that Ctrl-C
// ends.
#pragma once

#include "interruptible.h"
#include "kept.h"
#include "memory.h"

#include "tenon/run.h"

#include <functional>

namespace tenon::python
{

//! Extents from a tuple or list; each must fit 32 bits (rule A4).
nvinfer1::Dims narrowDims(py::sequence const& shape);

//! Values [min, opt, max] that a profile has for a shape tensor, whichever call has set them; RuntimeError for others.
py::list profileValues(nvinfer1::ICudaEngine const& engine, std::string const& name, int32_t profile);

//! A list of the shapes that `get` answers for MIN, OPT and MAX; what cannot be answered is asked, and reported, once.
template <typename Get>
py::list shapesOf(Get&& get)
{
    using Select = nvinfer1::OptProfileSelector;
    py::list list;
    nvinfer1::Dims shape{};
    for (Select const which : {Select::kMIN, Select::kOPT, Select::kMAX})
    {
        shape = shape.nbDims < 0 ? shape : get(which);
        list.append(shape);
    }
    return list;
}

//! A run by index: the addresses, and what holds the memory behind them and what else the context uses.
struct Bindings
{
    std::vector<void*> addresses;
    py::list holders;
};

//! Whether an array of `bytes` is enough for that tensor in a run with these addresses: ValueError where it is not.
using CheckRoom = std::function<void(std::string const& tensor, int64_t bytes, void* const* bindings)>;

//! One address per tensor, or per tensor and profile: then those of the present profile are read.
Bindings bindingsOf(
    py::object const& context, py::sequence const& given, std::string const& call, CheckRoom const& check);

//! A run without the GIL, which Ctrl-C ends between two steps: `run` passes on what is asked between them. `holders`
//! are kept until the stream has done it, however the call ends.
template <typename Run>
bool interruptibly(void* stream, py::object holders, Run&& run)
{
    Kept kept{std::move(holders)};
    Signals signals;
    TenonContinueCheck const mayContinue = Signals::areHandledHere() ? &Signals::mayContinue : nullptr;
    bool const done = [&] {
        WithoutGil const released;
        bool const isDone = run(mayContinue, &signals);
        kept.behind(stream);
        return isDone;
    }();
    signals.raiseCaught();
    if (!done && mayContinue != nullptr)
        signals.raise();
    return done;
}

} // namespace tenon::python
