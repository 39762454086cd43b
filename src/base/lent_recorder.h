// LentRecorder: the error recorder of an execution context, as its custom layers may ask for it.
#pragma once

#include "base/log.h"

#include <mutex>

namespace tenon
{

//! Which recorder the context has now, for any thread. Whoever keeps one beyond the call takes a reference.
class LentRecorder
{
  public:
    void set(Recorder recorder)
    {
        std::scoped_lock const lock{mMutex};
        mNow.swap(recorder);
    }
    nvinfer1::IErrorRecorder* get()
    {
        std::scoped_lock const lock{mMutex};
        return mNow.get();
    }

  private:
    std::mutex mMutex;
    Recorder mNow;
};

} // namespace tenon
