// Plan files: round trip, damage, lies.
#include "plan/plan.h"
#include "plan/plan_memory.h"

#include "base/api_version.h"
#include "base/cpus.h"
#include "plan/check.h"
#include "plan/checksum.h"
#include "plan/format.h"
#include "support/random_program.h"
#include "support/temp_folder.h"
#include "support/toy_networks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace tenon::test
{

namespace
{
Result<Plan> readCopy(Bytes const& bytes)
{
    auto const owner = std::make_shared<Bytes>(bytes);
    return readPlan(*owner, owner);
}

Bytes written(Plan const& plan)
{
    auto blob = writePlan(plan);
    EXPECT_TRUE(blob) << (blob ? "" : blob.error().message);
    auto const once = writePlanOnce(plan, usableCpus());
    EXPECT_TRUE(once && blob && std::ranges::equal((*once)->bytes(), *blob)) << "the same bytes";
    return blob ? *blob : Bytes{};
}

//! Expects a reason that holds `part`.
void expectRefused(Bytes const& bytes, std::string const& part)
{
    auto const plan = readCopy(bytes);
    ASSERT_FALSE(plan) << "expected: " << part;
    EXPECT_NE(plan.error().message.find(part), std::string::npos) << plan.error().message;
}
} // namespace

TEST(Plan, equalWeightsStandOnceAlsoWhereAllOthersAreNearlyEqual)
{
    static constexpr size_t kMany{3'000'001}; // Bytes: several chunks, none of which begins with a weight.
    auto const weightOf = [](uint8_t last) {
        auto const memory = std::make_shared<Bytes>(kMany, uint8_t{7});
        (*memory)[kMany / 2] = last; // Where no sample is.
        return memory;
    };
    std::vector<std::shared_ptr<Bytes>> const memory{weightOf(1), weightOf(2), weightOf(1), weightOf(3)};
    Plan plan = *randomPlan(1);
    size_t const before = plan.weights.size();
    for (auto const& each : memory)
        plan.weights.push_back({.dtype = DType::kUINT8,
            .extents = {static_cast<int64_t>(kMany)},
            .packing = {},
            .bytes = kMany,
            .data = each->data(),
            .owner = each,
            .name = "w"});
    Bytes const expected = written(plan);
    auto const read = readCopy(expected);
    ASSERT_TRUE(read) << read.error().message;
    for (size_t i = 0; i < memory.size(); ++i)
        EXPECT_EQ(std::memcmp(read->weights[before + i].data, memory[i]->data(), kMany), 0) << i;
    EXPECT_EQ(read->weights[before].data, read->weights[before + 2].data);
    EXPECT_NE(read->weights[before].data, read->weights[before + 1].data);
    EXPECT_LT(expected.size(), 4 * kMany) << "three of the four";
}

namespace
{
//! Weights in memory that outlives them, so that what is read when its owner has gone shows: it is overwritten.
class PassingWeights
{
  public:
    PassingWeights(size_t bytes, uint32_t seed)
        : mBytes(bytes)
    {
        for (size_t i = 0; i < bytes; ++i)
            mBytes[i] = static_cast<uint8_t>((i * 2654435761U + seed) >> 13);
    }
    //! Owners that have gone, in order, and where.
    struct Ends
    {
        std::mutex mutex;
        std::vector<std::string> names;
        std::set<std::thread::id> threads;
    };
    //! With whom the contents go.
    std::shared_ptr<void const> owner(std::string name, Ends& ends)
    {
        return {mBytes.data(), [this, name = std::move(name), &ends](void const*) {
                    std::ranges::fill(mBytes, uint8_t{0xEE});
                    std::lock_guard const lock{ends.mutex};
                    ends.names.push_back(name);
                    ends.threads.insert(std::this_thread::get_id());
                }};
    }
    //! A weight of some of the bytes.
    PlanWeight part(size_t first, size_t count, std::shared_ptr<void const> owner) const
    {
        return {.dtype = DType::kUINT8,
            .extents = {static_cast<int64_t>(count)},
            .packing = {},
            .bytes = count,
            .data = mBytes.data() + first,
            .owner = std::move(owner),
            .name = "w"};
    }
    PlanWeight all(std::shared_ptr<void const> owner) const
    {
        return part(0, mBytes.size(), std::move(owner));
    }

  private:
    Bytes mBytes;
};
} // namespace

TEST(Plan, weightsThatThePlanAloneHoldsGoAsSoonAsTheyAreWritten)
{
    constexpr size_t kMega{size_t{1} << 20};
    for (int32_t const threads : {1, 2, 7})
    {
        PassingWeights::Ends ends;
        PassingWeights large{13 * kMega + 1, 1}; // Across borders of chunks, as most of the others.
        PassingWeights equal{13 * kMega + 1, 1};
        PassingWeights halves{7 * kMega, 2};
        PassingWeights odd{3'000'001, 3};
        PassingWeights small{5, 4};
        Plan plan = *randomPlan(1);
        // The equal one is never copied: it goes with the plan, behind all others, which stand behind it.
        plan.weights.push_back(large.all(large.owner("large", ends)));
        plan.weights.push_back(equal.all(equal.owner("equal", ends)));
        auto shared = halves.owner("halves", ends);
        plan.weights.push_back(halves.part(0, 3 * kMega + 5, shared));
        plan.weights.push_back(odd.all(odd.owner("odd", ends)));
        plan.weights.push_back(halves.part(3 * kMega + 5, 4 * kMega - 5, std::move(shared)));
        plan.weights.push_back(small.all(small.owner("small", ends)));
        auto const expected = writePlan(plan);
        ASSERT_TRUE(expected) << expected.error().message;
        EXPECT_TRUE(ends.names.empty());
        auto const once = writePlanOnce(std::move(plan), threads);
        ASSERT_TRUE(once) << once.error().message;
        EXPECT_TRUE(std::ranges::equal((*once)->bytes(), *expected)) << threads << " threads";
        ASSERT_EQ(ends.names.size(), 5U);
        EXPECT_EQ(ends.names.back(), "equal");
        EXPECT_LE(ends.threads.size(), static_cast<size_t>(threads));
        EXPECT_TRUE(threads > 1 || ends.threads.contains(std::this_thread::get_id()));
    }
}

TEST(Plan, O7_readAndWrittenAgainItHasTheSameBytes)
{
    for (uint32_t seed = 0; seed < 50; ++seed)
    {
        Bytes const first = written(*randomPlan(seed));
        auto const plan = readCopy(first);
        ASSERT_TRUE(plan) << plan.error().message;
        EXPECT_EQ(written(*plan), first);
        EXPECT_EQ(written(*randomPlan(seed)), first) << "deterministic";
    }
}

TEST(Plan, contentsSurvive)
{
    auto const before = randomPlan(3);
    auto const after = readCopy(written(*before));
    ASSERT_TRUE(after);
    ASSERT_EQ(after->weights.size(), 1U);
    EXPECT_EQ(after->weights[0].extents, std::vector<int64_t>({2, 4}));
    EXPECT_EQ(std::memcmp(after->weights[0].data, before->weights[0].data, 32), 0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(after->weights[0].data) % 16, 0U);
    EXPECT_EQ(after->graph.nodes[0].fields, (Bytes{1, 2, 3, 4}));
    EXPECT_EQ(after->graph.nodes[0].origins, (std::vector<std::string>{"sum", "relu"}));
    EXPECT_EQ(after->graph.nodes[0].inputs, (std::vector<int32_t>{0, 2, -1}));
    EXPECT_EQ(after->decisions[0].text, "relu joins sum");
    EXPECT_EQ(after->plugins[0].library, "libplug.so");
    EXPECT_EQ(after->memoryPerProfile, std::vector<int64_t>{4096});
    EXPECT_EQ(after->networkLayers, 7);
    EXPECT_EQ(after->programs[0].steps.size(), before->programs[0].steps.size());
    EXPECT_EQ(after->programs[0].steps.back().name, before->programs[0].steps.back().name);
    EXPECT_EQ(after->profiles[0].inputs[0].max.d[0], 8);
}

TEST(Plan, C9_T8_notesAndTheMarkOfUnfusedTensorsSurvive)
{
    auto before = randomPlan(4);
    Bytes const plain = written(*before);
    before->notes = {{"sum", "a note"}, {"relu", ""}};
    before->debugsUnfused = true;
    before->keepsEntriesApart = true;
    before->compatibility = 2;
    before->programs[0].architecture = "sm_90";
    before->programs[0].libraries = "cuDNN 9.15.1";
    auto const after = readCopy(written(*before));
    ASSERT_TRUE(after) << after.error().message;
    ASSERT_EQ(after->notes.size(), 2U);
    EXPECT_EQ(after->notes[0].layer, "sum");
    EXPECT_EQ(after->notes[0].text, "a note");
    EXPECT_EQ(after->notes[1].layer, "relu");
    EXPECT_TRUE(after->debugsUnfused);
    EXPECT_TRUE(after->keepsEntriesApart);
    EXPECT_EQ(after->compatibility, 2);
    EXPECT_EQ(after->programs[0].architecture, "sm_90");
    EXPECT_EQ(after->programs[0].libraries, "cuDNN 9.15.1");
    auto const without = readCopy(plain);
    ASSERT_TRUE(without);
    EXPECT_TRUE(without->notes.empty());
    EXPECT_FALSE(without->debugsUnfused);
    EXPECT_FALSE(without->keepsEntriesApart);
    EXPECT_EQ(without->compatibility, 0);
    EXPECT_EQ(without->programs[0].architecture, "");
    EXPECT_EQ(without->programs[0].libraries, "");
}

//! A plan whose one weight can be replaced; its source graph is its portable one.
std::shared_ptr<Plan> refittablePlan()
{
    auto plan = randomPlan(6);
    PlanRefit refit{.graph = plan->graph, .constants = {}, .io = {}, .weights = {{"w", DType::kFLOAT, 8, {}, -1}}};
    for (size_t i = 0; i < refit.graph.values.size(); ++i)
        if (std::exchange(refit.graph.values[i].weight, -1) >= 0)
            refit.constants.push_back({static_cast<int32_t>(i), 0, {2, 4}});
    for (PlanIO const& io : plan->io)
        refit.io.push_back(std::max(io.graphValue, 0));
    refit.weights[0].uses = {{"sum", 4}};
    plan->weights[0].refit = {0};
    plan->refit = std::move(refit);
    return plan;
}

TEST(Plan, G13_whatARefitNeedsSurvivesAndStrippedWeightsAreLeftOut)
{
    auto const before = refittablePlan();
    Bytes const whole = written(*before);
    auto const after = readCopy(whole);
    ASSERT_TRUE(after) << after.error().message;
    ASSERT_TRUE(after->refit);
    EXPECT_EQ(after->weights[0].refit, std::vector<int32_t>{0});
    EXPECT_FALSE(after->weights[0].isStripped());
    EXPECT_EQ(after->refit->graph.nodes.size(), before->graph.nodes.size());
    EXPECT_EQ(after->refit->io, before->refit->io);
    ASSERT_FALSE(after->refit->constants.empty());
    EXPECT_EQ(after->refit->constants[0].extents, (std::vector<int64_t>{2, 4}));
    EXPECT_EQ(after->refit->weights[0].name, "w");
    EXPECT_EQ(after->refit->weights[0].count, 8);
    EXPECT_EQ(after->refit->weights[0].uses[0].layer, "sum");
    EXPECT_EQ(after->refit->weights[0].uses[0].role, 4);
    EXPECT_EQ(written(*after), whole);
    stripWeights(*before);
    auto const stripped = readCopy(written(*before));
    ASSERT_TRUE(stripped) << stripped.error().message;
    EXPECT_TRUE(stripped->weights[0].isStripped());
    EXPECT_EQ(stripped->weights[0].bytes, 32U);
}

TEST(Plan, liesAboutWhatARefitNeedsAreFound)
{
    std::vector<std::function<void(Plan&)>> const lies{[](Plan& plan) { plan.weights[0].refit = {1}; },
        [](Plan& plan) { plan.weights[0].refit = {-1}; }, [](Plan& plan) { plan.refit->weights[0].count = 9; },
        [](Plan& plan) { plan.refit->weights[0].count = INT64_MAX; },
        [](Plan& plan) { plan.refit->weights[0].fixed = 7; },
        [](Plan& plan) { plan.refit->weights[0].dtype = static_cast<DType>(77); },
        [](Plan& plan) { plan.refit->constants[0].weights = 3; },
        [](Plan& plan) { plan.refit->constants[0].value = 1 << 20; },
        [](Plan& plan) { plan.refit->constants.push_back(plan.refit->constants[0]); },
        [](Plan& plan) { plan.refit->io.pop_back(); }, [](Plan& plan) { plan.refit->io[0] = -1; },
        [](Plan& plan) { plan.refit->graph.nodes[0].inputs = {1 << 20}; },
        [](Plan& plan) { plan.refit->graph.values[0].weight = 99; },
        [](Plan& plan) {
            plan.refit->graph.bodies.push_back({0, 1, {}, {}});
        }, // Which no node runs.
        [](Plan& plan) { plan.refit->graph.nodes[0].bodies = {0}; },
        [](Plan& plan) {
            plan.weights[0].refit.clear();
            plan.weights[0].data = nullptr;
        }};
    ASSERT_TRUE(checkPlan(*refittablePlan()));
    for (size_t i = 0; i < lies.size(); ++i)
    {
        auto const plan = refittablePlan();
        lies[i](*plan);
        EXPECT_FALSE(checkPlan(*plan)) << "lie " << i;
    }
}

TEST(Plan, weightsOfEqualBytesAreStoredOnce)
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {64, 64});
    auto const extents = builder.extentsOf(x);
    auto const data = randomFloats(64 * 64, 5);
    builder.step("add", {x, builder.weight(data, {64, 64})}, {builder.output("out", extents)});
    size_t const one = written(*builder.finish()).size();
    builder.weight(data, {4096});
    EXPECT_LT(written(*builder.finish()).size(), one + 64 * 64);
}

TEST(Plan, O1_everyTruncationIsRefused)
{
    Bytes const whole = written(*randomPlan(1));
    for (size_t size = 0; size < whole.size(); ++size)
        ASSERT_FALSE(readCopy(Bytes(whole.begin(), whole.begin() + static_cast<int64_t>(size)))) << size;
}

TEST(Plan, O1_everyBitFlipIsRefused)
{
    Bytes whole = written(*randomPlan(2));
    ByteReader in{ByteView{whole}.subspan(sizeof(PlanHeader))};
    PlanSectionEntry entries[2];
    for (PlanSectionEntry& entry : entries)
        ASSERT_TRUE(in.raw(entry));
    std::mt19937 random{5};
    for (int i = 0; i < 4000; ++i)
    {
        auto const& entry = entries[random() % 2];
        size_t const at = random() % 4 == 0 ? random() % (sizeof(PlanHeader) + sizeof(entries))
                                            : entry.offset + random() % entry.size;
        auto const bit = static_cast<uint8_t>(1U << (random() % 8));
        whole[at] ^= bit;
        ASSERT_FALSE(readCopy(whole)) << at;
        whole[at] ^= bit;
    }
    EXPECT_TRUE(readCopy(whole));
}

//! Every bit of header and table and one of each byte between the sections, in plans of two sections and of three.
TEST(Plan, O1_whatLiesOutsideOfTheSectionsCountsToo)
{
    auto plan = randomPlan(2);
    Bytes const code(100, 7);
    for (bool const hasCode : {false, true})
    {
        if (hasCode)
            plan->code.push_back({.name = "code",
                .target = "x86-64",
                .sha256 = sha256(code),
                .bytes = code.size(),
                .data = code.data()});
        Bytes whole = written(*plan);
        PlanHeader header;
        std::memcpy(&header, whole.data(), sizeof(header));
        ASSERT_EQ(header.sections, hasCode ? 3U : 2U);
        std::vector<PlanSectionEntry> table(header.sections);
        std::memcpy(table.data(), whole.data() + sizeof(header), table.size() * sizeof(PlanSectionEntry));
        auto const isInSection = [&](size_t at) {
            return std::ranges::any_of(
                table, [&](auto const& each) { return at >= each.offset && at < each.offset + each.size; });
        };
        size_t const tableEnd = sizeof(header) + table.size() * sizeof(PlanSectionEntry);
        ASSERT_TRUE(readCopy(whole));
        size_t between{0};
        for (size_t at = 0; at < whole.size(); ++at)
            for (size_t bit = 0; bit < 8 && !isInSection(at); ++bit)
            {
                if (at >= tableEnd && bit != at % 8)
                    continue;
                between += at >= tableEnd ? 1 : 0;
                whole[at] ^= static_cast<uint8_t>(1U << bit);
                EXPECT_FALSE(readCopy(whole)) << "byte " << at << ", bit " << bit;
                whole[at] ^= static_cast<uint8_t>(1U << bit);
            }
        EXPECT_GT(between, 100U);
    }
}

TEST(Plan, O1_randomBytesAreRefused)
{
    std::mt19937 random{9};
    for (int i = 0; i < 500; ++i)
    {
        Bytes bytes(random() % 4096);
        for (uint8_t& byte : bytes)
            byte = static_cast<uint8_t>(random());
        EXPECT_FALSE(readCopy(bytes));
    }
    expectRefused(Bytes{1, 2, 3}, "not a plan");
    expectRefused(Bytes(1000, 7), "TENONPLN");
}

TEST(Plan, anotherFormatVersionIsRefusedByName)
{
    Bytes blob = written(*staticNetwork());
    blob[28] = 9;
    expectRefused(blob, "plan format 9");
}

//! What a later release writes: its numbers, and a checksum that is right.
TEST(Plan, aPlanOfALaterReleaseIsReadOrRefusedByItsFormatNotAsDamaged)
{
    Bytes const blob = written(*staticNetwork());
    auto const ofLater = [&](uint8_t major, uint8_t minor, uint32_t format) {
        Bytes later = blob;
        PlanHeader header;
        std::memcpy(&header, later.data(), sizeof header);
        header.version[0] = static_cast<uint8_t>(header.version[0] + major);
        header.version[1] = static_cast<uint8_t>(header.version[1] + minor);
        header.format += format;
        header.checksum = 0;
        std::memcpy(later.data(), &header, sizeof header);
        header.checksum = checksum(ByteView{later}.first(sizeof header + header.sections * sizeof(PlanSectionEntry)));
        std::memcpy(later.data(), &header, sizeof header);
        return later;
    };
    EXPECT_EQ(ofLater(0, 0, 0), blob) << "the checksum is that of the writer";
    for (uint8_t const major : {0, 1}) // A plan is data: what a reader must know of it is the format.
    {
        auto const sameFormat = readCopy(ofLater(major, 1, 0));
        EXPECT_TRUE(sameFormat) << sameFormat.error().message;
    }
    for (uint8_t const minor : {0, 1})
        expectRefused(ofLater(1, minor, 1),
            fmt::format("plan format {}, built by version {}.{}.{} of the API, cannot be read by this release, which "
                        "reads format {}",
                kPlanFormat + 1, kApiVersion[0] + 1, kApiVersion[1] + minor, kApiVersion[2], kPlanFormat));
}

TEST(Plan, aBlobAtAnOddAddressIsCopied)
{
    Bytes const blob = written(*staticNetwork());
    auto const owner = std::make_shared<Bytes>(blob.size() + 32);
    for (size_t shift = 0; shift < 17; ++shift)
    {
        std::copy(blob.begin(), blob.end(), owner->begin() + static_cast<int64_t>(shift));
        auto const plan = readPlan(ByteView{*owner}.subspan(shift, blob.size()), owner);
        ASSERT_TRUE(plan);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(plan->weights[0].data) % 16, 0U);
    }
}

void writeOver(std::string const& path, Bytes const& bytes)
{
    std::ofstream{path, std::ios::binary}.write(
        reinterpret_cast<char const*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

TEST(Plan, weightsOfAFileAreUsedWhereItWasRead)
{
    TempFolder const folder;
    std::string const path = folder.file("a.plan");
    Bytes const blob = written(*staticNetwork());
    writeOver(path, blob);
    auto file = readPlanFile(path);
    std::remove(path.c_str());
    ASSERT_TRUE(file) << file.error().message;
    auto const plan = readPlan(file->bytes, file->owner);
    ASSERT_TRUE(plan);
    auto const* const data = static_cast<uint8_t const*>(plan->weights[0].data);
    EXPECT_TRUE(data >= file->bytes.data() && data < file->bytes.data() + file->bytes.size());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0U);
    ByteView const view = file->bytes;
    *file = {}; // The plan keeps the memory.
    EXPECT_EQ(view[0], 'f');
}

//! Of some chunks, which threads share.
Bytes bigPlan()
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {1 << 12, 1 << 10});
    auto const data = randomFloats(1 << 22, 5);
    auto const extents = builder.extentsOf(x);
    builder.step("add", {x, builder.weight(data, {1 << 12, 1 << 10})}, {builder.output("out", extents)});
    return written(*builder.finish());
}

TEST(Plan, whatHappensToAFileThatWasReadChangesNothing)
{
    TempFolder const folder;
    std::string const path = folder.file("a.plan");
    Bytes const blob = bigPlan();
    for (size_t const size : {blob.size(), blob.size() / 2, size_t{1}, size_t{0}})
    {
        writeOver(path, blob);
        auto const file = readPlanFile(path);
        ASSERT_TRUE(file) << file.error().message;
        writeOver(path, Bytes(size, 0x5A)); // Truncates the file, then writes: what open(path, "wb") and cp do.
        ASSERT_TRUE(std::ranges::equal(file->bytes, blob)) << size;
        EXPECT_TRUE(readPlan(file->bytes, file->owner));
    }
}

TEST(Plan, sealedMemoryIsMappedAndOtherMemoryIsRead)
{
    Bytes const blob = bigPlan();
    int const memory = memfd_create("plan", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    ASSERT_GE(memory, 0);
    ASSERT_EQ(write(memory, blob.data(), blob.size()), static_cast<ssize_t>(blob.size()));
    std::string const path = "/proc/self/fd/" + std::to_string(memory);
    auto const isMapped = [&] { // Whether the memory is mapped anywhere in this process.
        std::ifstream maps{"/proc/self/maps"};
        std::string const all{std::istreambuf_iterator<char>{maps}, {}};
        return all.find("/memfd:plan") != std::string::npos;
    };
    // Neither kind of seal alone is a promise.
    for (int const seal : {0, F_SEAL_SHRINK, F_SEAL_GROW})
    {
        ASSERT_EQ(fcntl(memory, F_ADD_SEALS, seal), 0);
        auto const file = readPlanFile(path);
        ASSERT_TRUE(file) << file.error().message;
        EXPECT_FALSE(isMapped());
        uint8_t const other = blob[0] ^ 0xFF;
        ASSERT_EQ(pwrite(memory, &other, 1, 0), 1);
        EXPECT_TRUE(std::ranges::equal(file->bytes, blob));
        ASSERT_EQ(pwrite(memory, blob.data(), 1, 0), 1);
    }
    ASSERT_EQ(fcntl(memory, F_ADD_SEALS, F_SEAL_WRITE), 0);
    auto file = readPlanFile(path);
    close(memory);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_TRUE(isMapped());
    EXPECT_TRUE(std::ranges::equal(file->bytes, blob));
    EXPECT_TRUE(readPlan(file->bytes, file->owner));
    *file = {};
    EXPECT_FALSE(isMapped());
}

TEST(Plan, whatIsNoPlainFileIsRefusedByKind)
{
    TempFolder const folder;
    std::string const pipe = folder.file("pipe");
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    auto const refused = [](std::string const& path) {
        auto const file = readPlanFile(path);
        return file ? std::string{"it was read"} : file.error().message;
    };
    EXPECT_EQ(refused(pipe), "'" + pipe + "' is a pipe, not a plain file"); // At once: nobody writes to it.
    EXPECT_EQ(refused("/tmp"), "'/tmp' is a folder, not a plain file");
    EXPECT_EQ(refused("/dev/zero"), "'/dev/zero' is a device, not a plain file");
    EXPECT_NE(refused("/nowhere/at/all").find("cannot open '/nowhere/at/all'"), std::string::npos);
}

TEST(Plan, liesAreRefusedWithAReason)
{
    struct Lie
    {
        char const* reason;
        std::function<void(Plan&)> tell;
    };
    auto const step = [](Plan& plan, size_t i) -> PlanStep& { return plan.programs[0].steps[i]; };
    Lie const lies[]{
        {"not unique", [](Plan& p) { p.io[1].name = p.io[0].name; }},
        {"comes after outputs", [](Plan& p) { p.io[0].isInput = false; }},
        {"data type", [](Plan& p) { p.io[0].dtype = static_cast<DType>(77); }},
        {"more dimension names", [](Plan& p) { p.io[0].dims.nbDims = 1; }},
        {"has the layout", [](Plan& p) { p.io[0].layout = static_cast<Layout>(77); }},
        {"has the layout", [](Plan& p) { p.io[0].layout = Layout::kBlocked4; }}, // Of rank 2.
        {"no profile", [](Plan& p) { p.profiles.clear(); }},
        {"no bounds for dynamic", [](Plan& p) { p.profiles[0].inputs.pop_back(); }},
        {"bad bounds", [](Plan& p) { p.profiles[0].inputs[0].min.d[0] = 99; }},
        {"bad bounds", [](Plan& p) { p.profiles[0].inputs[0].min.d[0] = -4; }},
        {"batch mode 9", [](Plan& p) { p.batch.mode = static_cast<PlanBatchMode>(9); }},
        {"at most 0 samples", [](Plan& p) { p.batch.most = 0; }},
        {"batch",
            [](Plan& p) {
                p.batch = {PlanBatchMode::kImplicit, 3};
            }},
        {"unknown tensor", [&](Plan& p) { step(p, 0).inputs[0] = 1000; }},
        {"before a step has written", [&](Plan& p) { std::swap(step(p, 0), step(p, 2)); }},
        {"which is an input or a constant", [&](Plan& p) { step(p, 0).outputs[0] = 0; }},
        {"written or read before", [&](Plan& p) { step(p, 1).outputs = step(p, 0).outputs; }},
        {"needed still",
            [&](Plan& p) {
                step(p, 1).inPlace = {{0, 0}, {0, 0}};
            }},
        {"unknown operands",
            [&](Plan& p) {
                step(p, 1).inPlace = {{0, 9}};
            }},
        {"names no kernel", [&](Plan& p) { step(p, 0).kernel.clear(); }},
        {"graph node", [&](Plan& p) { step(p, 0).graphNode = 3; }},
        {"unknown register", [](Plan& p) { p.programs[0].tensors[0].extents[0] = -1; }},
        {"is computed from", [](Plan& p) { p.programs[0].shapes.back().a = 1000; }},
        {"shape operation", [](Plan& p) { p.programs[0].shapes[0].op = static_cast<PlanShapeOp>(50); }},
        {"view of", [](Plan& p) { p.programs[0].tensors.back().index = int(p.programs[0].tensors.size()) - 1; }},
        {"stands twice", [](Plan& p) { p.programs[0].tensors[1].index = 0; }},
        {"not an input", [](Plan& p) { p.programs[0].symbols[0].source = 2; }},
        {"two programs", [](Plan& p) { p.programs.push_back(p.programs[0]); }},
        {"compatibility level 3", [](Plan& p) { p.compatibility = 3; }},
        {"no step writes output", [&](Plan& p) { p.programs[0].steps.pop_back(); }},
        {"memory sizes", [](Plan& p) { p.memoryPerProfile = {-1}; }},
        {"zero byte", [](Plan& p) { p.networkName = std::string("a\0b", 3); }},
        {"a note holds a zero byte",
            [](Plan& p) {
                p.notes = {{"sum", std::string("\0", 1)}};
            }},
    };
    for (Lie const& lie : lies)
    {
        auto plan = pointwiseNetwork();
        lie.tell(*plan);
        expectRefused(writeUncheckedPlan(*plan), lie.reason);
        EXPECT_FALSE(writePlan(*plan)) << "and not written either";
    }
}

TEST(Plan, weightsThatAreTooSmallAreRefused)
{
    auto plan = staticNetwork();
    plan->weights[0].extents = {3, 3};
    expectRefused(writeUncheckedPlan(*plan), "24 bytes where its extents need 36");
}

TEST(Plan, dataSymbolsAreChecked)
{
    auto const base = nonZeroNetwork();
    int32_t const symbol = 1;
    auto plan = *base;
    plan.programs[0].symbols[symbol].upper = symbol; // Its own bound.
    expectRefused(writeUncheckedPlan(plan), "bound");
    plan = *base;
    plan.programs[0].steps[1].produces.clear();
    expectRefused(writeUncheckedPlan(plan), "does not produce");
    plan = *base;
    plan.programs[0].symbols[symbol].source = 4;
    expectRefused(writeUncheckedPlan(plan), "does not produce");
    plan = *base;
    plan.programs[0].tensors[1].extents = {symbol}; // Written before the symbol is known.
    expectRefused(writeUncheckedPlan(plan), "not known when it runs");
}

namespace
{
//! y takes as many elements of x as half of the sum of two floating values says, which an output of shapes gives.
struct RealProgram
{
    RealProgram()
    {
        int32_t const x = builder.input("x", {8});
        std::vector<Reg> const given = builder.shapeInput("given", 2, 0, 8);
        builder.plan().io.back().dtype = DType::kFLOAT;
        sum = builder.compute(PlanShapeOp::kReal, given[0], given[1]); // The first one: a sum.
        size = builder.compute(PlanShapeOp::kTruncate, sum, sum);
        builder.step("slice", {x}, {builder.output("y", {size})});
        values = builder.values({given[0], sum});
        builder.step("shape_values", {values}, {builder.output("sums", {builder.constant(2)})}).args = {0};
    }
    Plan make()
    {
        Plan plan = *builder.finish();
        plan.programs[0].tensors[static_cast<size_t>(values)].dtype = DType::kFLOAT;
        return plan;
    }
    static Program& program(Plan& plan)
    {
        return plan.programs[0];
    }

    ProgramBuilder builder;
    Reg sum;
    Reg size;
    int32_t values{0};
};
} // namespace

TEST(Plan, D2_realNumbersAreTakenForNothingElse)
{
    struct Lie
    {
        char const* reason;
        std::function<void(Program&, RealProgram const&)> tell;
    };
    auto const registerOf = [](Program const& program, Reg reg) {
        return reg.isSymbol ? reg.index : static_cast<int32_t>(program.symbols.size()) + reg.index;
    };
    auto const shape = [](Program& program, Reg reg) -> PlanShapeInstruction& {
        return program.shapes[static_cast<size_t>(reg.index)];
    };
    Lie const lies[]{
        {"a real number is taken for an extent",
            [&](Program& p, RealProgram const& of) {
                for (PlanTensor& tensor : p.tensors)
                    if (tensor.name == "y")
                        tensor.extents = {registerOf(p, of.sum)};
            }},
        {"takes integers for real numbers",
            [&](Program& p, RealProgram const& of) { shape(p, of.size).op = PlanShapeOp::kAdd; }},
        {"takes integers for real numbers",
            [&](Program& p, RealProgram const& of) { shape(p, of.size).op = PlanShapeOp::kToReal; }},
        {"takes integers for real numbers",
            [&](Program& p, RealProgram const& of) { shape(p, of.sum).op = PlanShapeOp::kRealSelect; }},
        {"operation 21 on real numbers", [&](Program& p, RealProgram const& of) { shape(p, of.sum).value = 21; }},
        {"is computed from",
            [&](Program& p, RealProgram const& of) {
                shape(p, of.size).op = PlanShapeOp::kRealSelect;
                shape(p, of.size).value = 99;
            }},
        {"a real number is taken for an extent",
            [&](Program& p, RealProgram const& of) {
                p.tensors[static_cast<size_t>(of.values)].extents.back() = registerOf(p, of.size);
            }},
        {"for integers", [&](Program& p, RealProgram const&) { p.steps[1].args.clear(); }},
        {"for integers", [&](Program& p, RealProgram const&) { p.steps[1].kernel = "slice"; }},
        {"for real numbers",
            [&](Program& p, RealProgram const& of) {
                p.tensors[static_cast<size_t>(of.values)].extents.assign(2, registerOf(p, of.size));
            }},
    };
    RealProgram real;
    Plan const sound = real.make();
    auto const written = writePlan(sound);
    ASSERT_TRUE(written) << written.error().message;
    for (Lie const& lie : lies)
    {
        Plan plan = sound;
        lie.tell(RealProgram::program(plan), real);
        expectRefused(writeUncheckedPlan(plan), lie.reason);
    }
}

TEST(Checksum, everyByteAndTheLengthCount)
{
    std::mt19937 random{3};
    for (size_t const size : {1UL, 7UL, 8UL, 63UL, 64UL, 65UL, 200UL})
    {
        Bytes bytes(size);
        for (uint8_t& byte : bytes)
            byte = static_cast<uint8_t>(random());
        uint64_t const sum = checksum(bytes);
        for (size_t i = 0; i < size; ++i)
        {
            bytes[i] ^= 1;
            EXPECT_NE(checksum(bytes), sum);
            bytes[i] ^= 1;
        }
        bytes.push_back(0);
        EXPECT_NE(checksum(bytes), sum);
    }
}

TEST(Checksum, itIsFarFasterThanAByteAtATime)
{
    Bytes const bytes(size_t{1} << 20, 0x5B);
    auto const byteByByte = [](Bytes const& all) {
        uint64_t sum{all.size()};
        for (uint8_t const byte : all)
            sum = (sum ^ byte) * 0x9E3779B97F4A7C15ULL;
        return sum;
    };
    using Clock = std::chrono::steady_clock;
    auto const seconds = [&](auto const& work) {
        auto const start = Clock::now();
        EXPECT_NE(work(bytes), 0U);
        return std::chrono::duration<double>(Clock::now() - start).count();
    };
    double ours{1e9};
    double plain{1e9};
    for (int i = 0; i < 20; ++i) // By turns, and the best of each: other programs take part of some.
    {
        ours = std::min(ours, seconds(checksum));
        plain = std::min(plain, seconds(byteByByte));
    }
    RecordProperty("gigabytes_per_second", std::to_string(static_cast<double>(bytes.size()) / ours / 1e9));
    EXPECT_LT(2 * ours, plain);
}

} // namespace tenon::test
