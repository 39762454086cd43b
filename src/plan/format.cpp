// The outer form of a plan file.
#include "plan/format.h"

#include "base/api_version.h"
#include "base/cancellation.h"
#include "base/file_kind.h"
#include "plan/checksum.h"
#include "plan/paged_memory.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

namespace tenon
{

namespace
{
constexpr uint32_t kMaxSections{16};

uint64_t roundUp(uint64_t value, uint64_t to)
{
    return (value + to - 1) / to * to;
}

char const* nameOf(PlanSection kind) noexcept
{
    return kind == PlanSection::kWeights ? "weights" : kind == PlanSection::kCode ? "code" : "metadata";
}

uint64_t sectionChecksum(PlanSection kind, ByteView bytes, PagedMemory const* pages = nullptr)
{
    return kind == PlanSection::kWeights ? chunkedChecksum(bytes, pages) : checksum(bytes);
}

uint64_t headerChecksum(PlanHeader header, std::span<PlanSectionEntry const> table)
{
    header.checksum = 0;
    ByteWriter out;
    out.raw(header);
    for (PlanSectionEntry const& entry : table)
        out.raw(entry);
    return checksum(out.bytes());
}

struct Opened
{
    PlanHeader header;
    std::vector<PlanSectionEntry> table;
};

//! "; it is a ZIP archive: …", where that is known.
std::string kindOf(ByteView blob)
{
    std::string const kind = kindOfFile(blob, false);
    return kind.empty() ? kind : "; it is " + kind;
}

//! Formats up to 3 began with the magic, and had their number behind it.
std::optional<uint32_t> olderFormat(ByteView blob)
{
    if (std::memcmp(blob.data(), kPlanMagic, sizeof(kPlanMagic)) != 0)
        return std::nullopt;
    uint32_t format{0};
    std::memcpy(&format, blob.data() + sizeof(kPlanMagic), sizeof format);
    return format;
}

Error wrongFormat(uint32_t format, std::string const& origin)
{
    return errorOf(ErrorCode::kINVALID_CONFIG,
        "plan format {}{} cannot be read by this release, which reads format {}: build the plan again", format, origin,
        kPlanFormat);
}

Result<Opened> readHeader(ByteView blob)
{
    ByteReader in{blob};
    Opened opened;
    if (blob.size() < sizeof(PlanHeader))
        return badArgument("not a plan: {} bytes are fewer than its header has{}", blob.size(), kindOf(blob));
    TENON_TRY(in.raw(opened.header));
    PlanHeader const& header = opened.header;
    if (std::optional<uint32_t> const older = olderFormat(blob))
        return wrongFormat(*older, {});
    bool const isOurs = std::memcmp(header.tag, kPlanTag, sizeof(kPlanTag)) == 0 && header.headLayout == 0
        && std::memcmp(header.magic, kPlanMagic, sizeof(kPlanMagic)) == 0;
    if (!isOurs)
        return badArgument("not a plan: it does not begin with ftrt, 0, TENONPLN{}", kindOf(blob));
    if (header.format != kPlanFormat)
        return wrongFormat(header.format,
            fmt::format(
                ", built by version {}.{}.{} of the API,", header.version[0], header.version[1], header.version[2]));
    if (header.size != blob.size())
        return badArgument("plan is damaged: {} bytes where its header says {}", blob.size(), header.size);
    if ((header.flags & ~uint32_t{kPlanStreamsWeights}) != 0)
        return badArgument("the plan has flags {:#x}, of which this release knows {:#x}", header.flags,
            static_cast<uint32_t>(kPlanStreamsWeights));
    if (header.sections == 0 || header.sections > kMaxSections)
        return badArgument("plan is damaged: {} sections", header.sections);
    opened.table.resize(header.sections);
    for (PlanSectionEntry& entry : opened.table)
        TENON_TRY(in.raw(entry));
    return opened;
}

Result<ByteView> sectionBytes(ByteView blob, PlanSectionEntry const& entry)
{
    if (entry.offset > blob.size() || entry.size > blob.size() - entry.offset)
        return badArgument("plan is damaged: section {} lies outside the file", static_cast<uint32_t>(entry.kind));
    return blob.subspan(entry.offset, entry.size);
}
//! Checksums cover header, table and sections; what lies between them for alignment is zero.
Result<Done> checkGaps(ByteView blob, std::span<PlanSectionEntry const> table)
{
    std::vector<std::pair<uint64_t, uint64_t>> parts{{0, sizeof(PlanHeader) + table.size_bytes()}, {blob.size(), 0}};
    for (PlanSectionEntry const& entry : table)
        parts.emplace_back(entry.offset, TENON_TRY(sectionBytes(blob, entry)).size());
    std::ranges::sort(parts);
    uint64_t end{0};
    for (auto const& [offset, size] : parts)
    {
        for (uint64_t at = end; at < offset; ++at)
            if (blob[at] != 0)
                return badArgument("plan is damaged: byte {} belongs to no section and is not zero", at);
        end = std::max(end, offset + size);
    }
    return Done{};
}
} // namespace

Result<PlanSections> openPlan(ByteView blob, PagedMemory const* pages)
{
    Opened const opened = TENON_TRY(readHeader(blob));
    if (opened.header.checksum != headerChecksum(opened.header, opened.table))
        return badArgument("plan is damaged: the checksum of its header is wrong");
    TENON_TRY(checkGaps(blob, opened.table));
    PlanSections sections;
    sections.flags = opened.header.flags;
    for (PlanSectionEntry const& entry : opened.table)
    {
        ByteView const bytes = TENON_TRY(sectionBytes(blob, entry));
        ByteView* const section = entry.kind == PlanSection::kMetadata ? &sections.metadata
            : entry.kind == PlanSection::kWeights                      ? &sections.weights
            : entry.kind == PlanSection::kCode                         ? &sections.code
                                                                       : nullptr;
        if (section == nullptr)
            return badArgument("plan has a section of the unknown kind {}", static_cast<uint32_t>(entry.kind));
        if (entry.offset % (entry.kind == PlanSection::kWeights ? kPlanPage : sizeof(uint64_t)) != 0)
            return badArgument("plan is damaged: a section is not aligned");
        if (sectionChecksum(entry.kind, bytes, pages) != entry.checksum)
            return badArgument("plan is damaged: the checksum of its {} is wrong", nameOf(entry.kind));
        *section = bytes;
    }
    if (sections.metadata.empty())
        return badArgument("plan has no metadata section");
    return sections;
}

uint32_t planFlags(ByteView beginning) noexcept
{
    PlanHeader header;
    if (beginning.size() < sizeof header)
        return 0;
    std::memcpy(&header, beginning.data(), sizeof header);
    bool const isPlan = std::memcmp(header.magic, kPlanMagic, sizeof(kPlanMagic)) == 0 && header.format == kPlanFormat;
    return isPlan ? header.flags : 0;
}

PlanForm planForm(uint64_t metadataBytes, uint64_t weightBytes, uint64_t codeBytes, uint32_t flags)
{
    PlanForm form;
    form.table = {{PlanSection::kMetadata}, {PlanSection::kWeights}};
    if (codeBytes > 0)
        form.table.push_back({PlanSection::kCode});
    PlanHeader& header = form.header;
    std::copy(std::begin(kPlanTag), std::end(kPlanTag), header.tag);
    std::copy(std::begin(kPlanMagic), std::end(kPlanMagic), header.magic);
    std::ranges::copy(kApiVersion, header.version);
    header.flags = flags;
    header.sections = static_cast<uint32_t>(form.table.size());
    size_t const tableBytes = form.table.size() * sizeof(PlanSectionEntry);
    form.table[0].offset = roundUp(sizeof(header) + tableBytes, kWeightAlignment);
    form.table[0].size = metadataBytes;
    form.table[1].offset = roundUp(form.table[0].offset + metadataBytes, kPlanPage);
    form.table[1].size = weightBytes;
    header.size = form.table[1].offset + weightBytes;
    if (codeBytes > 0)
    {
        form.table[2].offset = roundUp(header.size, kPlanPage);
        form.table[2].size = codeBytes;
        header.size = form.table[2].offset + codeBytes;
    }
    return form;
}

void sealPlan(PlanForm form, ByteView metadata, WeightFill const& fill, int32_t maxThreads, ByteView code,
    std::span<uint8_t> file)
{
    for (PlanSectionEntry& entry : form.table)
    {
        std::span<uint8_t> const to = file.subspan(entry.offset, entry.size);
        if (entry.kind == PlanSection::kWeights)
        {
            entry.checksum = chunkedChecksum(
                to, maxThreads, [&](size_t first, size_t count) { fill(to.data() + first, first, count); });
            continue;
        }
        ByteView const from = entry.kind == PlanSection::kCode ? code : metadata;
        copyCancellably(to.data(), from.data(), from.size());
        entry.checksum = checksum(to);
    }
    form.header.checksum = headerChecksum(form.header, form.table);
    std::memcpy(file.data(), &form.header, sizeof(PlanHeader));
    std::memcpy(file.data() + sizeof(PlanHeader), form.table.data(), form.table.size() * sizeof(PlanSectionEntry));
}

bool resealPlan(std::span<uint8_t> blob)
{
    auto opened = readHeader(blob);
    if (!opened)
        return false;
    for (PlanSectionEntry& entry : opened->table)
    {
        auto const bytes = sectionBytes(blob, entry);
        if (!bytes)
            return false;
        entry.checksum = sectionChecksum(entry.kind, *bytes);
    }
    opened->header.checksum = headerChecksum(opened->header, opened->table);
    std::memcpy(blob.data(), &opened->header, sizeof(PlanHeader));
    std::memcpy(
        blob.data() + sizeof(PlanHeader), opened->table.data(), opened->table.size() * sizeof(PlanSectionEntry));
    return true;
}

} // namespace tenon
