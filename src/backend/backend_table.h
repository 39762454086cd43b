// The backends of this build, in order of preference; the way by which api reaches them.
#pragma once

#include "backend/candidate.h"
#include "device/device.h"

#include <optional>
#include <span>
#include <string_view>

namespace tenon
{

struct BackendEntry
{
    std::string_view name;     //!< Kind of its devices: "cpu". The second one is named "cpu:1".
    bool isOnlyByName{false};  //!< Never taken unless TENON_DEVICE names it.
    bool hasOwnMemory{false};  //!< Not the host's: what programs hand over must be of the device.
    bool choosesByTime{false}; //!< Unless told otherwise, builds measure their tactics rather than estimate them.
    //! How many devices there are, at least one; an error that says why there is none.
    Result<int32_t> (*probe)();
    Backend (*backend)();
    //! What plans for one of them are made for.
    Target (*target)(int32_t index);
    Device& (*device)(int32_t index);
    //! The row-major form of a weight that a plan for these devices stores packed.
    Result<std::shared_ptr<Constant const>> (*unpack)(
        std::string_view packing, DType type, std::vector<int64_t> extents, void const* data, size_t bytes);
    //! The same for programs that newer devices of the kind run, too; an error where this one is too old. Null:
    //! programs run on all devices of the kind.
    Result<Target> (*portableTarget)(int32_t index){nullptr};
    //! What tells the libraries that its kernels come from; null: what builds measure is not kept on disk.
    std::string (*libraries)(){nullptr};
    //! The library, and its release, among whose kernels a kernel of a program chooses by position; empty: none. Null:
    //! there are none.
    std::string (*libraryOf)(std::string_view kernel){nullptr};
    //! Which of its devices the calling thread is at, by calls of the program's own; none: at no one.
    std::optional<int32_t> (*current)(){nullptr};
    //! Makes one of them ready; an error that says why it cannot be used. Null: all can.
    Result<Done> (*open)(int32_t index){nullptr};
};

//! In order of preference. Defined beside the backends.
std::span<BackendEntry const> allBackends() noexcept;

} // namespace tenon
