// Recorder: a reference on the user's error recorder, and the place where an object keeps the one that is set now.
#pragma once

#include "NvInferRuntime.h"

#include <memory>
#include <mutex>
#include <utility>

namespace tenon
{

//! With a reference of its own for as long as anybody holds it: work that goes on may report when its context has got
//! another recorder.
using Recorder = std::shared_ptr<nvinfer1::IErrorRecorder>;

inline Recorder referenceTo(nvinfer1::IErrorRecorder* recorder)
{
    if (recorder == nullptr)
        return nullptr;
    recorder->incRefCount();
    return {recorder, [](nvinfer1::IErrorRecorder* each) { each->decRefCount(); }};
}

//! Which recorder an object has now: one thread may set another one while others report. Copies have the same one, and
//! hear of no later one.
class RecorderSlot
{
  public:
    RecorderSlot() = default;
    explicit RecorderSlot(Recorder recorder) noexcept
        : mNow{std::move(recorder)}
    {
    }
    RecorderSlot(RecorderSlot const& other)
        : mNow{other.get()}
    {
    }
    RecorderSlot& operator=(RecorderSlot const& other)
    {
        set(other.get());
        return *this;
    }
    ~RecorderSlot() = default;

    Recorder get() const
    {
        std::scoped_lock const lock{mMutex};
        return mNow;
    }
    //! What was there goes behind the lock: its end may be the user's code.
    void set(Recorder recorder)
    {
        {
            std::scoped_lock const lock{mMutex};
            mNow.swap(recorder);
        }
    }

  private:
    mutable std::mutex mMutex;
    Recorder mNow;
};

} // namespace tenon
