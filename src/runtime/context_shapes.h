// ContextShapes: the profile and the input shapes that a context has; who uses them takes a copy.
#pragma once

#include "runtime/input_shapes.h"

#include <mutex>

namespace tenon
{

//! Rule S5 has one thread at a time set shapes and run. Whoever breaks it gets a run of one state of the shapes, and
//! what is prepared for a key is prepared for what the key says: other contexts will use it.
class ContextShapes
{
  public:
    explicit ContextShapes(EngineState const& engine)
        : mNow{engine}
    {
    }

    InputShapes now() const
    {
        std::scoped_lock const lock{mMutex};
        return mNow;
    }
    //! Without a copy; meanwhile nobody sets another.
    auto ask(auto const& question) const
    {
        std::scoped_lock const lock{mMutex};
        return question(mNow);
    }
    //! Without an allocation, into a copy of earlier.
    void copyTo(InputShapes& copy) const
    {
        std::scoped_lock const lock{mMutex};
        copy = mNow;
    }
    int32_t profile() const
    {
        std::scoped_lock const lock{mMutex};
        return mNow.profile();
    }
    void select(int32_t profile)
    {
        std::scoped_lock const lock{mMutex};
        mNow.select(profile);
    }
    Result<Done> set(int32_t input, InputShapes::Dims const& dims)
    {
        std::scoped_lock const lock{mMutex};
        return mNow.set(input, dims);
    }

  private:
    mutable std::mutex mMutex;
    InputShapes mNow;
};

} // namespace tenon
