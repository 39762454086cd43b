// The outer form of a plan file: header, section table, sections. All numbers little-endian.
#pragma once

#include "base/bytes.h"

#include <cstddef>
#include <functional>

namespace tenon
{

//! By these and four bytes of a version behind the size, tools know plans without loading them.
inline constexpr char kPlanTag[4]{'f', 't', 'r', 't'};
inline constexpr char kPlanMagic[8]{'T', 'E', 'N', 'O', 'N', 'P', 'L', 'N'};
inline constexpr uint32_t kPlanFormat{4}; //!< Raised whenever an older reader would misread a file.
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

//! Bits of what must be known before a plan is in memory.
enum PlanFlag : uint32_t
{
    kPlanStreamsWeights = 1, //!< BuilderFlag::kWEIGHT_STREAMING.
};

struct PlanHeader
{
    char tag[4]{};
    uint32_t headLayout{0}; //!< 0: the version stands at byte 24.
    char magic[8]{};
    uint64_t size{0};     //!< Of the whole file.
    uint8_t version[4]{}; //!< Of the API that the plan was built by: major, minor, patch, build.
    uint32_t format{kPlanFormat};
    uint32_t sections{0};
    uint32_t flags{0};    //!< Bits of PlanFlag.
    uint64_t checksum{0}; //!< Of header (this field 0) and section table.
};
static_assert(offsetof(PlanHeader, version) == 24 && sizeof(PlanHeader) == 48);

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
    uint32_t flags{0};
};

class PagedMemory;

//! Checks header, bounds and checksums. Where the blob stands in `pages`, none of its weights stays in memory.
Result<PlanSections> openPlan(ByteView blob, PagedMemory const* pages = nullptr);
//! The flags of what begins like a plan, as they stand there; 0 for anything else.
uint32_t planFlags(ByteView beginning) noexcept;
//! Where the parts of a file of the two sections lie, and one of code unless there is none.
struct PlanForm
{
    PlanHeader header;
    std::vector<PlanSectionEntry> table;
};
PlanForm planForm(uint64_t metadataBytes, uint64_t weightBytes, uint64_t codeBytes, uint32_t flags);
//! Writes a file over zeros. `fill` writes a part of the weights' section, those between `first` and `first` + `count`,
//! and is called from up to `maxThreads` threads.
using WeightFill = std::function<void(uint8_t* to, size_t first, size_t count)>;
void sealPlan(PlanForm form, ByteView metadata, WeightFill const& fill, int32_t maxThreads, ByteView code,
    std::span<uint8_t> file);
//! Recomputes every checksum of a file whose header and section table are intact; false when they are not. For tests
//! that change what lies inside.
bool resealPlan(std::span<uint8_t> blob);

} // namespace tenon
