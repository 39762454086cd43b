// TapeRun: a tape over tensors: where its operands lie and how they broadcast.
#pragma once

#include "codegen/tape.h"

#include <cstdint>

namespace tenon::cpu
{

inline constexpr int32_t kMaxTapeOperands{16};
inline constexpr int32_t kMaxTapeRows{40};
inline constexpr int32_t kMaxTapeAxes{8};
inline constexpr int64_t kTapeLength{256}; //!< Elements of a row, or a multiple of it where all of them are narrow.
inline constexpr int64_t kLongestPeriod{1024};

//! How an operand follows the output.
enum class TapeAccess : uint8_t
{
    kSame,     //!< Element by element.
    kOne,      //!< One element for all.
    kPeriodic, //!< The innermost axis over and over.
    kStrided,  //!< Anything else.
};

struct TapeOperand
{
    void const* data{nullptr};
    DType type{DType::kFLOAT};
    TapeAccess access{TapeAccess::kSame};
    int64_t strides[kMaxTapeAxes]{}; //!< In elements, per axis of the output.
};

struct TapeRun
{
    TapeStep const* steps{nullptr};
    int64_t stepCount{0};
    int64_t numbers{0}; //!< Steps in front that are done once for all rows.
    int32_t inputs{0};
    int32_t rows{0};
    int32_t result{0};
    int32_t axes{0};
    int64_t extents[kMaxTapeAxes]{};
    TapeOperand operands[kMaxTapeOperands];
    void* out{nullptr};
    DType outType{DType::kFLOAT};
    DType integers{DType::kINT64}; //!< What rows of integers hold: see rowForm().
    int64_t length{kTapeLength};
};

} // namespace tenon::cpu
