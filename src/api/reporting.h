// Reporting: where a public object's messages go: the logger it was made with and the recorder that it holds.
#pragma once

#include "base/log.h"

namespace tenon::api
{

//! Holds a reference on its recorder from setRecorder on until another one is set or the owner goes (rule B2), and the
//! work that it began has ended.
class Reporting
{
  public:
    explicit Reporting(nvinfer1::ILogger* logger, Recorder recorder = nullptr) noexcept;
    //! A child starts with its parent's recorder (rule B1).
    Reporting(Reporting const& parent) noexcept
        : Reporting{parent.mLog.logger(), parent.mLog.recorder()}
    {
    }
    Reporting& operator=(Reporting const&) = delete;
    ~Reporting();

    void setRecorder(nvinfer1::IErrorRecorder* recorder) noexcept;
    nvinfer1::IErrorRecorder* recorder() const noexcept
    {
        return mLog.recorder().get();
    }
    Log const& log() const noexcept
    {
        return mLog;
    }
    //! Reports and answers false, for calls that answer with a bool.
    bool fail(Error const& error) const noexcept
    {
        mLog.error(error);
        return false;
    }
    //! A call whose work belongs to a later release.
    void notImplemented(char const* call) const noexcept;

  private:
    Log mLog;
};

} // namespace tenon::api
