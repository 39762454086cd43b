// KernelCode: machine code from a plan, loaded into this process. C source becomes such code while building.
#pragma once

#include "base/bytes.h"

#include "tenon/plugin_kernel.h"

#include <memory>
#include <string>

namespace tenon::plugins
{

enum class CodeKind : uint8_t
{
    kSource,
    kObject,       //!< A shared object for this machine.
    kOtherMachine, //!< A shared object for another one, or no shared object.
    kDevice,       //!< For CUDA devices: PTX, cubin, fatbin.
    kUnknown,
};
CodeKind kindOf(ByteView code) noexcept;
//! Of code for CUDA devices: text, which the driver compiles for its own.
bool isPtx(ByteView code) noexcept;

//! A shared object from C source, by the C compiler that CC names, or else cc, gcc or clang. An error has the
//! compiler's own words.
Result<Bytes> compileC(ByteView source);

//! Unloads the code when it goes.
class KernelCode
{
  public:
    static Result<std::shared_ptr<KernelCode const>> load(ByteView object);
    ~KernelCode();
    KernelCode(KernelCode const&) = delete;
    KernelCode& operator=(KernelCode const&) = delete;

    //! An error when the code exports nothing of the name.
    Result<tenon_kernel> function(std::string const& name) const;

  private:
    KernelCode(int file, void* handle);
    int mFile;
    void* mHandle;
};

} // namespace tenon::plugins
