//! \file
//! Streams, events, memory and graphs of the host: what a program needs around a run where there is no GPU. Streams and
//! events made here are what the TensorRT API takes as cudaStream_t and cudaEvent_t. A small library over these calls
//! (docs/HOSTRT.md) offers them under the names of the CUDA runtime.
#ifndef TENON_HOST_H
#define TENON_HOST_H

#include "tenon/base.h"
#include "tenon/run.h"

#ifdef __cplusplus
extern "C"
{
#endif

    //! What every call answers. tenonHostProblem() has the sentence to one that is not TENON_HOST_OK.
    typedef enum TenonHostStatus
    {
        TENON_HOST_OK = 0,
        TENON_HOST_NOT_READY = 1, //!< No mistake: there is work that is not done.
        TENON_HOST_BAD_ARGUMENT = 2,
        TENON_HOST_BAD_HANDLE = 3, //!< No live stream, event or graph, or memory that is not in the table.
        TENON_HOST_OUT_OF_MEMORY = 4,
        TENON_HOST_FAILED = 5, //!< Work of a stream failed earlier; said once.
        TENON_HOST_SYSTEM = 6, //!< The operating system refused.
        TENON_HOST_TWICE = 7,  //!< Registered already, capturing already, or not at all.
        //! Rules of captures.
        TENON_HOST_CAPTURE_UNSUPPORTED = 16,
        TENON_HOST_CAPTURE_INVALIDATED = 17,
        TENON_HOST_CAPTURE_MERGE = 18,
        TENON_HOST_CAPTURE_UNMATCHED = 19,
        TENON_HOST_CAPTURE_UNJOINED = 20,
        TENON_HOST_CAPTURE_ISOLATION = 21,
        TENON_HOST_CAPTURE_IMPLICIT = 22,
        TENON_HOST_CAPTURED_EVENT = 23,
        TENON_HOST_CAPTURE_WRONG_THREAD = 24
    } TenonHostStatus;

    //! Why the last call of this thread did not answer TENON_HOST_OK; "" before there is one. Valid until the thread's
    //! next call.
    TENON_CALL char const* tenonHostProblem(void) TENON_NOEXCEPT;

    //! What this program calls as the CUDA runtime is made of the calls below, for the rest of the process: engines
    //! work on the host, also where there is a GPU, unless TENON_DEVICE names another device. libtenon_hostrt.so says
    //! so when it is loaded.
    TENON_CALL void tenonHostAnswersCudaCalls(void) TENON_NOEXCEPT;

    //! \name Streams
    //! A stream does its work in order, in a thread of its own. Handles 0 and 1 stand for the caller's thread, which
    //! first waits for all streams that are blocking; 2 is a stream of each thread's own.
    //! @{

    typedef struct TenonHostStream
    {
        int32_t isBlocking;
        int32_t priority;
        int32_t isCapturing; //!< 0: no; 1: yes; 2: yes, but the capture is no longer valid.
        uint64_t id;         //!< No other stream of the process has or had it.
        uint64_t captureId;
    } TenonHostStream;

    //! \return not 0: it failed, which the stream keeps for its next synchronize or query.
    typedef int32_t (*TenonHostWork)(void* user);
    typedef void (*TenonHostRelease)(void* user);

    TENON_CALL TenonHostStatus tenonHostCreateStream(
        void** stream, int32_t isBlocking, int32_t priority) TENON_NOEXCEPT;
    //! Returns at once. The work that stands in the stream is still done; what waits for all streams waits for it, too.
    TENON_CALL TenonHostStatus tenonHostDestroyStream(void* stream) TENON_NOEXCEPT;
    TENON_CALL TenonHostStatus tenonHostGetStream(void* stream, TenonHostStream* properties) TENON_NOEXCEPT;
    //! Waits for all work of the stream. TENON_HOST_FAILED: some of it failed.
    TENON_CALL TenonHostStatus tenonHostSynchronizeStream(void* stream) TENON_NOEXCEPT;
    //! Waits for the work that stands in the stream, or in all streams, as long as `mayContinue` says so, which ends
    //! the waiting and not the work. Failures stay for those who synchronize, and so do the errors of captures.
    //! \return TENON_HOST_NOT_READY: `mayContinue` said no.
    TENON_CALL TenonHostStatus tenonHostAwaitStream(
        void* stream, TenonContinueCheck mayContinue, void* user) TENON_NOEXCEPT;
    TENON_CALL TenonHostStatus tenonHostAwaitAll(TenonContinueCheck mayContinue, void* user) TENON_NOEXCEPT;
    //! TENON_HOST_NOT_READY while work stands in it.
    TENON_CALL TenonHostStatus tenonHostQueryStream(void* stream) TENON_NOEXCEPT;
    //! Waits for all streams of the process.
    TENON_CALL TenonHostStatus tenonHostSynchronizeAll(void) TENON_NOEXCEPT;
    //! The same, but keeps their failures for those who ask for them.
    TENON_CALL void tenonHostDrainAll(void) TENON_NOEXCEPT;
    //! Puts work of the program's into the stream. `release`, which may be null, is called when `user` is needed no
    //! more, also when the call fails; work that a graph keeps is repeated before that.
    TENON_CALL TenonHostStatus tenonHostSubmit(
        void* stream, TenonHostWork work, void* user, TenonHostRelease release) TENON_NOEXCEPT;

    //! @}
    //! \name Events
    //! `isInGraph` not 0: a capture keeps the record or the wait as a step, instead of the order that it makes.
    //! @{

    TENON_CALL TenonHostStatus tenonHostCreateEvent(void** event, int32_t hasTiming) TENON_NOEXCEPT;
    TENON_CALL TenonHostStatus tenonHostDestroyEvent(void* event) TENON_NOEXCEPT;
    TENON_CALL TenonHostStatus tenonHostRecordEvent(void* event, void* stream, int32_t isInGraph) TENON_NOEXCEPT;
    TENON_CALL TenonHostStatus tenonHostWaitEvent(void* stream, void* event, int32_t isInGraph) TENON_NOEXCEPT;
    //! TENON_HOST_NOT_READY until what it marks is done.
    TENON_CALL TenonHostStatus tenonHostQueryEvent(void* event) TENON_NOEXCEPT;
    TENON_CALL TenonHostStatus tenonHostSynchronizeEvent(void* event) TENON_NOEXCEPT;
    //! As tenonHostAwaitStream().
    TENON_CALL TenonHostStatus tenonHostAwaitEvent(
        void* event, TenonContinueCheck mayContinue, void* user) TENON_NOEXCEPT;
    TENON_CALL TenonHostStatus tenonHostElapsed(float* milliseconds, void* start, void* end) TENON_NOEXCEPT;

    //! @}
    //! \name Memory
    //! All of it is the host's; the kind is what a program said it was for.
    //! @{

    typedef enum TenonHostKind
    {
        TENON_HOST_UNKNOWN = 0,   //!< Not in the table.
        TENON_HOST_DEVICE = 1,    //!< Stands for a device's memory.
        TENON_HOST_PINNED = 2,    //!< Host memory for copies.
        TENON_HOST_MANAGED = 3,   //!< Both.
        TENON_HOST_REGISTERED = 4 //!< The program's own memory, made known.
    } TenonHostKind;

    typedef struct TenonHostMemory
    {
        void* base;
        uint64_t bytes;
        TenonHostKind kind;
        uint32_t flags; //!< As given.
    } TenonHostMemory;

    //! Aligned to 256 bytes. No bytes: null. `kind`: DEVICE, PINNED or MANAGED of TenonHostKind.
    TENON_CALL TenonHostStatus tenonHostAllocate(
        void** memory, uint64_t bytes, int32_t kind, uint32_t flags) TENON_NOEXCEPT;
    //! Null is allowed. Waits for all streams first, as work may still use it; in a stream's own thread the memory goes
    //! when their work is done.
    TENON_CALL TenonHostStatus tenonHostFree(void* memory) TENON_NOEXCEPT;
    //! Frees it when the work that stands in the stream is done.
    TENON_CALL TenonHostStatus tenonHostFreeAsync(void* memory, void* stream) TENON_NOEXCEPT;
    TENON_CALL TenonHostStatus tenonHostRegister(void* memory, uint64_t bytes, uint32_t flags) TENON_NOEXCEPT;
    //! Waits for all streams first, but not in a stream's own thread.
    TENON_CALL TenonHostStatus tenonHostUnregister(void* memory) TENON_NOEXCEPT;
    //! The memory that an address lies in; of kind TENON_HOST_UNKNOWN when it is in none.
    TENON_CALL void tenonHostFind(void const* address, TenonHostMemory* memory) TENON_NOEXCEPT;
    //! What a process can still have, and what there is in all, within the limits of its control group.
    TENON_CALL void tenonHostMemoryInfo(uint64_t* free, uint64_t* total) TENON_NOEXCEPT;

    //! Rows of `width` bytes, each `pitch` bytes after the one before; `slice` bytes from one picture to the next.
    typedef struct TenonHostBlock
    {
        void* data;
        uint64_t pitch;
        uint64_t slice;
    } TenonHostBlock;

    typedef struct TenonHostExtent
    {
        uint64_t width; //!< Bytes.
        uint64_t height;
        uint64_t depth;
    } TenonHostExtent;

    //! Copies in the order of the stream. `from` and `to` may overlap.
    TENON_CALL TenonHostStatus tenonHostCopy(void* to, void const* from, uint64_t bytes, void* stream) TENON_NOEXCEPT;
    TENON_CALL TenonHostStatus tenonHostCopyBlock(
        TenonHostBlock to, TenonHostBlock from, TenonHostExtent extent, void* stream) TENON_NOEXCEPT;
    //! Sets bytes, in the order of the stream.
    TENON_CALL TenonHostStatus tenonHostFill(
        TenonHostBlock to, int32_t value, TenonHostExtent extent, void* stream) TENON_NOEXCEPT;

    //! @}
    //! \name Graphs
    //! Work that a stream recorded instead of doing it, to be repeated.
    //! @{

    typedef enum TenonHostCaptureMode
    {
        TENON_HOST_CAPTURE_GLOBAL = 0,
        TENON_HOST_CAPTURE_THREAD = 1,
        TENON_HOST_CAPTURE_RELAXED = 2 //!< Any thread may end it.
    } TenonHostCaptureMode;

    //! `mode`: a TenonHostCaptureMode; other numbers are refused.
    TENON_CALL TenonHostStatus tenonHostBeginCapture(void* stream, int32_t mode) TENON_NOEXCEPT;
    TENON_CALL TenonHostStatus tenonHostEndCapture(void* stream, void** graph) TENON_NOEXCEPT;
    TENON_CALL TenonHostStatus tenonHostCreateGraph(void** graph) TENON_NOEXCEPT;
    TENON_CALL TenonHostStatus tenonHostCloneGraph(void** graph, void* original) TENON_NOEXCEPT;
    TENON_CALL TenonHostStatus tenonHostGraphSize(void* graph, uint64_t* steps) TENON_NOEXCEPT;
    TENON_CALL TenonHostStatus tenonHostDestroyGraph(void* graph) TENON_NOEXCEPT;
    TENON_CALL TenonHostStatus tenonHostInstantiateGraph(void** executable, void* graph) TENON_NOEXCEPT;
    TENON_CALL TenonHostStatus tenonHostUpdateExecutable(void* executable, void* graph) TENON_NOEXCEPT;
    TENON_CALL TenonHostStatus tenonHostCheckExecutable(void* executable) TENON_NOEXCEPT;
    TENON_CALL TenonHostStatus tenonHostDestroyExecutable(void* executable) TENON_NOEXCEPT;
    //! Begins when the launches of the executable that were before are done, on whatever stream.
    TENON_CALL TenonHostStatus tenonHostLaunchGraph(void* executable, void* stream) TENON_NOEXCEPT;
    //! Waits for the launches of the executable graph as tenonHostAwaitStream() does for a stream's work.
    TENON_CALL TenonHostStatus tenonHostAwaitLaunches(
        void* executable, TenonContinueCheck mayContinue, void* user) TENON_NOEXCEPT;

    //! @}

    //! The machine as a device.
    typedef struct TenonHostDevice
    {
        char name[256]; //!< Model of the CPU.
        uint64_t memoryBytes;
        int32_t cores;          //!< That this process may use.
        int32_t clockKhz;       //!< Highest; 0: unknown.
        int32_t lastCacheBytes; //!< 0: unknown.
    } TenonHostDevice;

    TENON_CALL void tenonHostGetDevice(TenonHostDevice* device) TENON_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif // TENON_HOST_H
