// What a face of a stock plugin knows once it is configured: ports, whether they are sound, and memory for runs.
#pragma once

#include "plugins/builtin/stock.h"

#include <cstddef>

namespace tenon::plugins::builtin
{

//! Copies are as configured as the original. Runs use memory of its own, not the workspace of the plan, which may be
//! too small in a plan that lies.
class Setting
{
  public:
    //! Extents may be −1 while building: then nothing runs. Desc: PluginTensorDesc, or the dynamic one.
    template <typename Desc>
    void set(Body const& body, Desc const* in, int32_t inputs, Desc const* out, int32_t outputs) noexcept;
    //! 0, or another number when it was set to ports whose extents are all known and not what the body takes.
    int32_t refusal() const noexcept;
    //! 0, or another number when the ports are not what the body takes, or values are wrong.
    int32_t run(Body const& body, void const* const* inputs, void* const* outputs) noexcept;

  private:
    //! Empty when all ports are sound.
    std::string problem(Body const& body) const;
    std::string nameOf(size_t port) const;

    std::vector<PluginTensorDesc> mPorts;
    size_t mInputs{0};
    bool mIsReady{false};
    bool mIsRefused{false};
    std::string mProblem{"it was not configured"}; //!< Why it is not ready.
    bool mIsEmpty{false};                          //!< No output has an element: nothing to do.
    std::vector<std::byte> mWorkspace;             //!< Aligned as operator new aligns.
};

} // namespace tenon::plugins::builtin
