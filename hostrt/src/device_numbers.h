// Numbers of the device that no machine without a GPU has: those that programs divide by or compare with.
#pragma once

#include <cstddef>

namespace tenon::hostrt
{

// Programs refuse devices that are too old for them; 8.0 is what nearly all of them take.
inline constexpr int kComputeMajor{8};
inline constexpr int kComputeMinor{0};
inline constexpr int kWarpSize{32};
inline constexpr int kThreadsPerBlock{1024};
inline constexpr int kBlockDepth{64};
inline constexpr int kGridWidth{0x7fffffff};
inline constexpr int kGridHeight{65535};
inline constexpr int kSharedBytes{48 << 10};
inline constexpr int kConstantBytes{64 << 10};
inline constexpr int kRegisters{64 << 10};
inline constexpr int kBlocksPerCore{16};
inline constexpr int kMaxPitch{0x7fffffff};
inline constexpr int kAlignment{512};
inline constexpr char kBusId[]{"0000:00:00.0"};
inline constexpr char kUuid[]{"Tenon host CPU 0"};

} // namespace tenon::hostrt
