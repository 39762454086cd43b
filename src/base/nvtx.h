// Nvtx: ranges for a tool that looks at the process (Nsight Systems, say), by the protocol of NVTX 3: the environment
// names a library of the tool's, which fills in the calls that it wants to hear.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tenon
{

//! What describes an event to the tool, as NVTX lays it out.
struct NvtxEvent
{
    uint16_t version{3};
    uint16_t size{48};
    uint32_t category{0};
    int32_t colorType{0};
    uint32_t color{0};
    int32_t payloadType{0};
    int32_t reserved{0};
    uint64_t payload{0};
    int32_t messageType{1}; //!< A text of bytes.
    char const* message{nullptr};
};

//! Positions of calls in the table of NVTX's second core module.
enum NvtxCall : uint32_t
{
    kNvtxDomainRangeStart = 2,
    kNvtxDomainRangeEnd = 3,
    kNvtxDomainRangePush = 4,
    kNvtxDomainRangePop = 5,
    kNvtxDomainCreate = 12,
};

//! Any thread may begin and end ranges.
class Nvtx
{
  public:
    //! Null where no tool is attached. The first question attaches the one that NVTX_INJECTION64_PATH names.
    static Nvtx const* active() noexcept;
    //! A sentence on why the library that is named there is not attached; empty: it is, or none is named.
    static std::string const& problem() noexcept;

    //! Ranges of the calling thread, one in the other.
    void push(char const* name) const noexcept;
    void pop() const noexcept;
    //! A range of the process, which may end in another order and thread.
    uint64_t start(char const* name) const noexcept;
    void end(uint64_t range) const noexcept;

    Nvtx(Nvtx const&) = delete;
    Nvtx& operator=(Nvtx const&) = delete;

  private:
    Nvtx() = default;

    void* mDomain{nullptr}; //!< The tool's handle of "Tenon".
};

//! A range of the calling thread from here to the end of the scope; nothing without a tool, or without a name.
class NvtxScope
{
  public:
    explicit NvtxScope(char const* name) noexcept
        : mNvtx{name == nullptr ? nullptr : Nvtx::active()}
    {
        if (mNvtx != nullptr)
            mNvtx->push(name);
    }
    ~NvtxScope()
    {
        if (mNvtx != nullptr)
            mNvtx->pop();
    }
    NvtxScope(NvtxScope const&) = delete;
    NvtxScope& operator=(NvtxScope const&) = delete;

  private:
    Nvtx const* mNvtx;
};

} // namespace tenon
