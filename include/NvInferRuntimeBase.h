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
#define NV_TENSORRT_VERSION_INT(major, minor, patch) ((major)*1000L + (minor)*100L + (patch)*1L)
#else
#define NV_TENSORRT_VERSION_INT(major, minor, patch) ((major)*10000L + (minor)*100L + (patch)*1L)
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
inline constexpr int32_t EnumMax() noexcept
{
    return impl::EnumMaxImpl<T>::kVALUE;
}

//! The type of a tensor's or a weight's elements.
enum class DataType : int32_t
{
    //! 32-bit floating point, IEEE 754.
    kFLOAT = 0,
    //! 16-bit floating point, IEEE 754.
    kHALF = 1,
    //! 8-bit signed integer; in a weakly typed network it stands for a quantized real number.
    kINT8 = 2,
    //! 32-bit signed integer.
    kINT32 = 3,
    //! One byte, 0 for false and 1 for true; no other value may occur.
    kBOOL = 4,
    //! 8-bit unsigned integer, for network inputs and outputs only: a cast to or from kFLOAT or kHALF stands beside
    //! it. A cast from floating point truncates toward zero.
    kUINT8 = 5,
    //! 8-bit floating point with 1 sign, 4 exponent and 3 mantissa bits; the largest value is 448.
    kFP8 = 6,
    //! 16-bit floating point with the exponent range of kFLOAT and 7 mantissa bits.
    kBF16 = 7,
    //! 64-bit signed integer.
    kINT64 = 8,
    //! 4-bit signed integer, two to a byte, the first in the lower half.
    kINT4 = 9,
    //! 4-bit floating point with 1 sign, 2 exponent and 1 mantissa bits, two to a byte, the first in the lower half.
    kFP4 = 10,
    //! 8-bit power of two without a sign, used as the scale of a block.
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

//! Extents of a tensor, outermost first. In a network an extent of -1 is known only at run time. A failed query
//! answers with nbDims -1 and all extents 0; a tensor of unknown rank has nbDims -1 and all extents -1.
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

//! The kind and version of an interface that a user implements.
class InterfaceInfo
{
  public:
    InterfaceKind kind;
    int32_t major;
    int32_t minor;
};

//! The language in which a user implements an interface.
enum class APILanguage : int32_t
{
    //! C++.
    kCPP = 0,
    //! Python.
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

//! Base of the interfaces that users implement. It lets the library ask an object which slots it has instead of
//! trusting the type it was compiled with.
class IVersionedInterface
{
  public:
    //! The language in which the object is implemented.
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

//! What kind of mistake or failure an error is.
enum class ErrorCode : int32_t
{
    //! No error.
    kSUCCESS = 0,
    //! An error that fits no other code; also the answer to an index out of range.
    kUNSPECIFIED_ERROR = 1,
    //! A mistake of the library itself.
    kINTERNAL_ERROR = 2,
    //! An argument is wrong by itself, for instance null or out of range.
    kINVALID_ARGUMENT = 3,
    //! Arguments contradict each other or what was set before.
    kINVALID_CONFIG = 4,
    //! Memory could not be had.
    kFAILED_ALLOCATION = 5,
    //! A part that the library needs could not be started.
    kFAILED_INITIALIZATION = 6,
    //! A run failed while computing, for instance in a plugin or by a failed assertion.
    kFAILED_EXECUTION = 7,
    //! A run computed something that is known to be wrong.
    kFAILED_COMPUTATION = 8,
    //! Calls came in a wrong order.
    kINVALID_STATE = 9,
    //! What was asked is legal but beyond this device or this version.
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
//! Receives errors as codes with text; implemented by users. An object that has a recorder hands it on to the objects
//! made from it. Any method may be called from several threads at once, and none may call back into the library.
class IErrorRecorder : public IVersionedInterface
{
  public:
    //! The text of an error, ending with a zero byte.
    using ErrorDesc = char const*;

    //! How many objects hold the recorder.
    using RefCount = int32_t;

    //! The longest text, in bytes without the closing zero, that a recorder must be able to keep.
    static constexpr size_t kMAX_DESC_LENGTH{127U};

    IErrorRecorder() = default;

    ~IErrorRecorder() noexcept override = default;

    //! Names this interface and its version.
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return {"IErrorRecorder", 1, 0};
    }

    //! How many errors are recorded, up to what the recorder can hold.
    virtual int32_t getNbErrors() const noexcept = 0;

    //! \return the code of error errorIdx, kUNSPECIFIED_ERROR for an index out of range.
    virtual ErrorCode getErrorCode(int32_t errorIdx) const noexcept = 0;

    //! \return the text of error errorIdx, "" for an index out of range; valid until clear().
    virtual ErrorDesc getErrorDesc(int32_t errorIdx) const noexcept = 0;

    //! Whether more errors were reported than the recorder can hold.
    virtual bool hasOverflowed() const noexcept = 0;

    //! Forgets all errors and the overflow.
    virtual void clear() noexcept = 0;

    //! Takes an error. The text is valid during the call only and must be copied to be kept.
    //! \return whether the error is fatal, that is, the reporting object is of no further use; the library does not
    //! act on the answer.
    virtual bool reportError(ErrorCode val, ErrorDesc desc) noexcept = 0;

    //! Counts one more holder; called when an object takes the recorder.
    //! \return the new count.
    virtual RefCount incRefCount() noexcept = 0;

    //! Counts one holder less; called when an object lets the recorder go. The library never deletes a recorder.
    //! \return the new count.
    virtual RefCount decRefCount() noexcept = 0;

  protected:
    IErrorRecorder(IErrorRecorder const&) = default;
    IErrorRecorder(IErrorRecorder&&) = default;
    IErrorRecorder& operator=(IErrorRecorder const&) & = default;
    IErrorRecorder& operator=(IErrorRecorder&&) & = default;
};
TENON_V_1_0_END
TENON_V_1_0_ALIAS(IErrorRecorder)

//! Whether a tensor crosses the border of an engine.
enum class TensorIOMode : int32_t
{
    //! It does not, or no tensor has the name.
    kNONE = 0,
    //! It is an input.
    kINPUT = 1,
    //! It is an output.
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
