//! \file
//! The types that everything else is made of: extents, data types, error codes, versioned interfaces.

#ifndef NV_INFER_RUNTIME_BASE_H
#define NV_INFER_RUNTIME_BASE_H

#include "NvInferVersion.h"
#include <cstddef>
#include <cstdint>

// The CUDA toolkit is optional: without its headers the few handles that the API mentions are declared here.
#if defined(__has_include)
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif
#endif
struct CUstream_st;
struct CUevent_st;
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
struct cudnnContext;
struct cublasContext;

// TENON_NO_DEPRECATION_MARKS before the first include: no call is marked as deprecated (for code that serves all
// generations, as the library itself).
#ifdef TENON_NO_DEPRECATION_MARKS
#define TRT_DEPRECATED
#define TRT_DEPRECATED_BECAUSE(REASON)
#define TRT_DEPRECATED_ENUM
#else
#define TRT_DEPRECATED [[deprecated]]
#define TRT_DEPRECATED_BECAUSE(REASON) [[deprecated(REASON)]]
#define TRT_DEPRECATED_ENUM __attribute__((deprecated)) // Standard attributes may stand here from C++17 only.
#endif

// [[nodiscard]] is standard from C++17.
#if __cplusplus >= 201703L
#define TRT_NODISCARD [[nodiscard]]
#else
#define TRT_NODISCARD
#endif
#if __cplusplus >= 202002L
#define TRT_NODISCARD_BECAUSE(REASON) [[nodiscard(REASON)]]
#else
#define TRT_NODISCARD_BECAUSE(REASON) TRT_NODISCARD
#endif

// The library's own build exports what is marked; users need no attribute.
#ifdef TENON_EXPORTS
#define TENSORRTAPI __attribute__((visibility("default")))
#else
#define TENSORRTAPI
#endif
#define TRT_DEPRECATED_API TRT_DEPRECATED TENSORRTAPI
#define TRTNOEXCEPT

//! One number for a version, fit for comparison in #if. The factors differ between 8.x and 10.x.
#if TENON_COMPAT_8
#define NV_TENSORRT_VERSION_INT(major, minor, patch) ((major) *1000L + (minor) *100L + (patch) *1L)
#else
#define NV_TENSORRT_VERSION_INT(major, minor, patch) ((major) *10000L + (minor) *100L + (patch) *1L)
#endif

//! The version of these headers as one number.
#define NV_TENSORRT_VERSION NV_TENSORRT_VERSION_INT(NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, NV_TENSORRT_PATCH)

// Interfaces that users implement really live in v_1_0, and their plain name is an alias, since both are part of the
// binary contract. 8.x code declares them as classes of nvinfer1; there the alias goes the other way.
#if TENON_COMPAT_8
#define TENON_V_1_0_BEGIN
#define TENON_V_1_0_END
#define TENON_V_1_0_ALIAS(NAME)                                                                                        \
    namespace v_1_0                                                                                                    \
    {                                                                                                                  \
    using NAME = nvinfer1::NAME;                                                                                       \
    }
// Inline functions that differ between the modes carry a name of their own for the linker.
#define TENON_COMPAT_8_TAG __attribute__((abi_tag("compat8")))
#else
#define TENON_V_1_0_BEGIN                                                                                              \
    namespace v_1_0                                                                                                    \
    {
#define TENON_V_1_0_END }
#define TENON_V_1_0_ALIAS(NAME) using NAME = v_1_0::NAME;
#endif

#if defined(__GNUC__)
// Deprecated calls refer to one another here; only their use elsewhere is worth a warning.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

//! The version of the library that is loaded, in the form of NV_TENSORRT_VERSION.
extern "C" TENSORRTAPI int32_t getInferLibVersion() noexcept;

namespace nvinfer1
{
//! The version of these headers as one number, under the name that 8.x gave it.
TRT_DEPRECATED static constexpr int32_t kNV_TENSORRT_VERSION_IMPL{static_cast<int32_t>(NV_TENSORRT_VERSION)};

//! The character type of the API.
using char_t = char;

//! A character of an ASCII string.
using AsciiChar = char_t;

namespace impl
{
//! Says how many enumerators T has; specialised for each enumeration.
template <typename T>
struct EnumMaxImpl;
} // namespace impl

//! The number of enumerators of T that count from zero without a gap.
template <typename T>
constexpr inline int32_t EnumMax() noexcept
{
    return impl::EnumMaxImpl<T>::kVALUE;
}

enum class DataType : int32_t
{
    kFLOAT = 0,
    kHALF = 1,
    kINT8 = 2,
    kINT32 = 3,
    kBOOL = 4,
    kUINT8 = 5,
    kFP8 = 6,
    kBF16 = 7,
    kINT64 = 8,
    kINT4 = 9,
    kFP4 = 10,
    kE8M0 = 11,
};

namespace impl
{
template <>
struct EnumMaxImpl<DataType>
{
    static constexpr int32_t kVALUE{12};
};
} // namespace impl

class Dims64
{
  public:
    //! The highest rank a tensor can have.
    static constexpr int32_t MAX_DIMS{8};

    //! The rank; -1 where the rank is unknown or the extents are invalid.
    int32_t nbDims;

    //! The extents; entries from nbDims on mean nothing.
    int64_t d[MAX_DIMS];
};

//! The extents of a tensor.
using Dims = Dims64;

//! Extents in 32 bits, as 8.6 had them; nothing here takes or gives them.
class TRT_DEPRECATED Dims32
{
  public:
    //! The highest rank a tensor can have.
    static constexpr int32_t MAX_DIMS{8};

    //! The rank.
    int32_t nbDims;

    //! The extents.
    int32_t d[MAX_DIMS];
};

//! Names a kind of interface, for instance "IErrorRecorder".
using InterfaceKind = char const*;

class InterfaceInfo
{
  public:
    InterfaceKind kind;
    int32_t major;
    int32_t minor;
};

enum class APILanguage : int32_t
{
    kCPP = 0,
    kPYTHON = 1,
};

namespace impl
{
template <>
struct EnumMaxImpl<APILanguage>
{
    static constexpr int32_t kVALUE{2};
};
} // namespace impl

class IVersionedInterface
{
  public:
    virtual APILanguage getAPILanguage() const noexcept
    {
        return APILanguage::kCPP;
    }

    virtual InterfaceInfo getInterfaceInfo() const noexcept = 0;

    virtual ~IVersionedInterface() noexcept = default;

  protected:
    IVersionedInterface() = default;
    IVersionedInterface(IVersionedInterface const&) = default;
    IVersionedInterface(IVersionedInterface&&) = default;
    IVersionedInterface& operator=(IVersionedInterface const&) & = default;
    IVersionedInterface& operator=(IVersionedInterface&&) & = default;
};

enum class ErrorCode : int32_t
{
    kSUCCESS = 0,
    kUNSPECIFIED_ERROR = 1,
    kINTERNAL_ERROR = 2,
    kINVALID_ARGUMENT = 3,
    kINVALID_CONFIG = 4,
    kFAILED_ALLOCATION = 5,
    kFAILED_INITIALIZATION = 6,
    kFAILED_EXECUTION = 7,
    kFAILED_COMPUTATION = 8,
    kINVALID_STATE = 9,
    kUNSUPPORTED_STATE = 10,
};

namespace impl
{
template <>
struct EnumMaxImpl<ErrorCode>
{
    static constexpr int32_t kVALUE{11};
};
} // namespace impl

TENON_V_1_0_BEGIN
class IErrorRecorder : public IVersionedInterface
{
  public:
    using ErrorDesc = char const*;

    using RefCount = int32_t;

    static constexpr size_t kMAX_DESC_LENGTH{127U};

    IErrorRecorder() = default;

    ~IErrorRecorder() noexcept override = default;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IErrorRecorder", 1, 0};
    }

    virtual int32_t getNbErrors() const noexcept = 0;

    virtual ErrorCode getErrorCode(int32_t errorIdx) const noexcept = 0;

    virtual ErrorDesc getErrorDesc(int32_t errorIdx) const noexcept = 0;

    virtual bool hasOverflowed() const noexcept = 0;

    virtual void clear() noexcept = 0;

    virtual bool reportError(ErrorCode val, ErrorDesc desc) noexcept = 0;

    virtual RefCount incRefCount() noexcept = 0;

    virtual RefCount decRefCount() noexcept = 0;

  protected:
    IErrorRecorder(IErrorRecorder const&) = default;
    IErrorRecorder(IErrorRecorder&&) = default;
    IErrorRecorder& operator=(IErrorRecorder const&) & = default;
    IErrorRecorder& operator=(IErrorRecorder&&) & = default;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IErrorRecorder)

enum class TensorIOMode : int32_t
{
    kNONE = 0,
    kINPUT = 1,
    kOUTPUT = 2,
};

namespace impl
{
template <>
struct EnumMaxImpl<TensorIOMode>
{
    static constexpr int32_t kVALUE{3};
};
} // namespace impl
} // namespace nvinfer1

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif // NV_INFER_RUNTIME_BASE_H
