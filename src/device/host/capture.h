// Captures: which streams record now, what they recorded, and who depends on whom.
#pragma once

#include "device/host/graphs.h"
#include "device/host/stream_queue.h"

#include <map>
#include <mutex>
#include <thread>

namespace tenon::host
{

//! What is repeated, and the streams it was recorded from: inside a step these are the stream that repeats it.
struct GraphSteps
{
    std::vector<Work> steps;
    std::vector<void const*> streams;
};

//! For each stream of a capture how many of its steps are known to come before.
using CaptureClock = std::map<StreamQueue const*, uint64_t>;

struct Capture;

//! A place in a capture that an event marks. A capture that is over has no steps, so that the event holds none.
struct CapturePoint
{
    std::shared_ptr<Capture> capture;
    CaptureClock before;
};

[[nodiscard]] Error captureError(CaptureProblem problem, std::string message);

//! Captures of the process. Cheap to ask while there are none.
class Captures
{
  public:
    static Captures& instance() noexcept;

    bool isAny() const noexcept;
    bool isAnyBlocking() const noexcept; //!< Of a blocking stream.
    bool isCapturing(StreamQueue const& queue) const;
    CaptureInfo info(StreamQueue const& queue) const;

    Result<Done> begin(StreamQueue& queue, CaptureMode mode);
    Result<std::shared_ptr<GraphSteps>> end(StreamQueue& queue);
    //! True when the stream captures: the work then belongs to the capture.
    Result<bool> record(StreamQueue const& queue, Work& work);
    //! The present end of the stream's part of its capture; null when it does not capture.
    Result<std::shared_ptr<CapturePoint>> point(StreamQueue const& queue);
    //! Draws the stream into the capture of the point, or notes that it comes after it.
    Result<Done> join(StreamQueue& queue, CapturePoint const& point);
    void invalidate(StreamQueue const& queue);
    //! Of the point; false when the capture is over.
    bool invalidate(CapturePoint const& point);
    //! Those of blocking streams; true when there are any.
    bool invalidateBlocking();
    void invalidateAll();
    //! The stream is going away.
    void forget(StreamQueue const& queue);

    void lockForFork();
    void unlockInParent();
    void unlockInChild();

  private:
    std::shared_ptr<Capture> find(StreamQueue const& queue) const;
    void enter(StreamQueue const& queue, std::shared_ptr<Capture> capture);
    void leave(Capture const& capture);
    //! Ends the capture; its steps, for who asks to keep or to destroy without the lock.
    std::vector<Work> over(Capture& capture);

    mutable std::mutex mMutex;
    std::map<StreamQueue const*, std::shared_ptr<Capture>> mStreams;
    uint64_t mNextId{1};
};

//! While a graph runs in this thread: its streams.
class Replay
{
  public:
    explicit Replay(GraphSteps const& steps) noexcept;
    ~Replay();
    Replay(Replay const&) = delete;
    Replay& operator=(Replay const&) = delete;

    static bool has(void const* stream) noexcept;
    static bool isAny() noexcept;

  private:
    GraphSteps const* mBefore;
};

} // namespace tenon::host
