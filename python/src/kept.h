// What runs under way keep of Python's: arrays live until the work that reads and writes them is done.
#pragma once

#include "bindings.h"

namespace tenon::python
{

//! Sets an attribute of ours, also where others may set none.
void setOwn(py::object const& object, char const* name, py::object const& value);

//! What holds the memory that a context uses, by tensor name; under None the holder of its activations, under tuples
//! the objects of other setters.
py::dict holdersOf(py::object const& context);
//! Takes a holder instead of the one under that name; null: none. Runs under way keep what they had.
void setHolder(py::object const& context, py::object const& name, py::object const& holder);

//! Gives a reference back, from any thread, with the GIL or without: Python drops it at the next opportunity.
void dropLater(PyObject* object) noexcept;
//! Before the first of those, with the GIL held.
void watchTheEnd();

//! Drops what runs that are over have kept. With the GIL held.
void dropDone();

//! One run's reference to what holds its memory. Made and destroyed with the GIL held.
class __attribute__((visibility("hidden"))) Kept
{
  public:
    //! \param holders null: there is nothing to keep.
    explicit Kept(py::object holders);
    ~Kept();
    Kept(Kept const&) = delete;
    Kept& operator=(Kept const&) = delete;

    //! Behind the run: from here on the stream's work keeps it. Streams 0 and 1 are done by now. Without the GIL.
    void behind(void* stream) noexcept;

    struct Holders;

  private:
    Holders* mHolders{nullptr};
};

} // namespace tenon::python
