// The outer form of a plan file: header, section table, sections. All numbers little-endian.
#pragma once

#include "base/bytes.h"

namespace tenon
{

inline constexpr char kPlanMagic[8]{'T', 'E', 'N', 'O', 'N', 'P', 'L', 'N'};
inline constexpr uint32_t kPlanFormat{3}; //!< Raised whenever an older reader would misread a file.
inline constexpr uint64_t kPlanPage{4096};
inline constexpr uint64_t kWeightAlignment{64};

enum class PlanSection : uint32_t
{
    kMetadata = 1, //!< FlatBuffers, schema plan.fbs.
    kWeights = 2,  //!< Starts at a page, each weight at a multiple of kWeightAlignment.
    //! What steps run beside the device's own kernels, each entry at a multiple of kWeightAlignment; only where there
    //! is some.
    kCode = 3,
};

struct PlanHeader
{
    char magic[8]{};
    uint32_t format{kPlanFormat};
    uint32_t sections{0};
    uint64_t size{0};     //!< Of the whole file.
    uint64_t checksum{0}; //!< Of header (this field 0) and section table.
};

struct PlanSectionEntry
{
    PlanSection kind{PlanSection::kMetadata};
    uint32_t reserved{0};
    uint64_t offset{0};
    uint64_t size{0};
    uint64_t checksum{0};
};

struct PlanSections
{
    ByteView metadata;
    ByteView weights;
    ByteView code;
};

//! Checks header, bounds and checksums.
Result<PlanSections> openPlan(ByteView blob);
//! A file of the two sections, and one of code unless there is none.
Bytes sealPlan(ByteView metadata, uint64_t weightBytes, void (*fill)(void* context, uint8_t* weights), void* context,
    ByteView code = {});
//! Recomputes every checksum of a file whose header and section table are intact; false when they are not. For tests
//! that change what lies inside.
bool resealPlan(std::span<uint8_t> blob);

} // namespace tenon
