// What the parts of the fake driver share: memory that opens and closes, streams, graphs, and the count of calls.
#pragma once

#include "devices/fake_cuda/fake_cuda.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace fake
{

inline constexpr int kSuccess{0};
inline constexpr int kInvalidValue{1};
inline constexpr int kOutOfMemory{2};
inline constexpr int kNotPermitted{800};
inline constexpr int kInvalidContext{201};
inline constexpr int kInvalidHandle{400};
inline constexpr int kNotFound{500};
inline constexpr int kNotReady{600};
inline constexpr int kCaptureUnsupported{900};
inline constexpr int kCaptureInvalid{901};
inline constexpr int kUpdateFailed{910};

struct Context
{
    int ordinal{0};
};

//! What stands in a stream; may run many times when it was captured.
using Work = std::function<void()>;

struct UserObject
{
    void* data{nullptr};
    void (*destroy)(void* data){nullptr};
    int references{0};
};

//! What a captured call has put into a graph, and what must be over before it.
struct Node
{
    Work work;
    std::set<size_t> sources;
};

struct Graph
{
    std::vector<Node> nodes; //!< Sources stand in front.
    std::vector<UserObject*> objects;
    bool isInvalid{false};
    int mode{0};
};

struct Stream
{
    Context* context{nullptr};
    bool isBlocking{true};
    std::deque<Work> works;
    uint64_t begun{0}; //!< Works ever put there.
    uint64_t done{0};
    std::shared_ptr<Graph> capture;
    std::set<size_t> last; //!< Nodes that the next one of the stream comes behind.
    bool hasJoined{false}; //!< Another stream's capture, by an event.
    bool isEnding{false};
    std::thread thread;
};

struct Event
{
    std::shared_ptr<Graph> capture; //!< Recorded in one: after these nodes.
    std::set<size_t> last;
    uint64_t recorded{0};
    uint64_t done{0};
    double microseconds{0.0};
    bool isTimed{true};
};

struct State
{
    std::mutex mutex; //!< Of all that follows.
    std::condition_variable changed;
    std::map<void*, std::shared_ptr<Stream>> streams;
    std::map<void*, std::shared_ptr<Event>> events;
    std::set<void*> pinned;
    std::map<uintptr_t, std::pair<size_t, int>> blocks; //!< Bytes and GPU of each block of device memory, by address.
    std::set<void*> modules;
    std::shared_ptr<Stream> legacy[2];
    int captures{0};
    int executing{0};
    bool isOpen{false};
};
State& state();
Context& contextOf(int ordinal);
inline constexpr int kDevices{2};

//! Counts the call; not kSuccess where a test wants it to fail, or where a callback of the driver's makes it.
int enter(char const* name, bool needsContext);
Context* current();
//! While the driver calls back, no call is allowed.
struct InCallback
{
    InCallback();
    ~InCallback();
};

//! With the lock held: the host may touch device memory, or no longer.
void openMemory();
void closeMemoryWhenIdle();
bool isDeviceAddress(uintptr_t address);

//! With the lock held. The stream of a handle; null: there is none.
std::shared_ptr<Stream> streamOf(void* handle);
enum class Touch : uint8_t
{
    kDevice, //!< The work reads or writes device memory.
    kHost,   //!< It is the host's, and must not.
};
//! Puts work into a stream, or into what it records.
int put(Stream& stream, Touch touch, Work work);
void awaitStream(std::unique_lock<std::mutex>& lock, Stream& stream);
//! An unsafe call while somebody captures; it spoils captures of kind "global".
bool spoilsCaptures();
void dropReference(UserObject* object);

//! Runs a translated kernel over its whole grid.
struct Shape
{
    unsigned grid[3];
    unsigned block[3];
};
void runKernel(void* function, Shape const& shape, void* params);
//! Sizes of the parameters that a kernel is launched with.
std::vector<size_t> const& paramSizes(void* function);
//! Bytes of shared memory that a block of it may have.
unsigned mostShared(void* function);

} // namespace fake

//! First thing in each call.
#define TENON_FAKE_ENTER(name)                                                                                         \
    if (int const refused = fake::enter(#name, true); refused != 0)                                                    \
    return refused
#define TENON_FAKE_ENTER_ALONE(name)                                                                                   \
    if (int const refused = fake::enter(#name, false); refused != 0)                                                   \
    return refused
