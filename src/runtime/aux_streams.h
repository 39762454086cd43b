// AuxStreams: the user's streams that work of a context may be spread over, and the fences between them and the run's.
#pragma once

#include "device/device.h"

namespace tenon
{

//! A run begins when what stands in them is over, and what comes into them afterwards begins when the run is (S6).
//! Whether its steps really run on them is for the device to say.
class AuxStreams
{
  public:
    explicit AuxStreams(Device& device)
        : mDevice{device}
    {
    }
    ~AuxStreams();
    AuxStreams(AuxStreams const&) = delete;
    AuxStreams& operator=(AuxStreams const&) = delete;

    //! The first `most` of those given, which must be distinct streams of the device's, none the default one; others
    //! are ignored.
    Result<Done> set(std::span<void* const> streams, int32_t most);
    //! Before a run's first step. False: `mayContinue` ended the waiting.
    Result<bool> enter(void* stream, bool isCaptured, ContinueCheck const* mayContinue);
    //! Behind its last.
    Result<Done> leave(void* stream, bool isCaptured);

  private:
    struct Aux
    {
        void* stream{nullptr};
        void* event{nullptr}; //!< Recorded anew by each run.
    };

    //! What comes into `later` begins when what stands in `earlier` is over.
    Result<Done> order(void* earlier, void* later, void* event);
    void clear() noexcept;

    Device& mDevice;
    std::vector<Aux> mAll;
};

} // namespace tenon
