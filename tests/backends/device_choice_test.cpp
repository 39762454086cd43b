// TENON_DEVICE: kinds and numbers of devices, and why one cannot be had.
#include "api/build/builder.h"
#include "backend/device_choice.h"
#include "backends/cpu/cpu.h"
#include "backends/ref/ref.h"
#include "base/isa.h"

#include <gtest/gtest.h>

#include <array>

namespace tenon::test
{

namespace
{

Result<int32_t> two()
{
    return 2;
}

Result<int32_t> withoutDriver()
{
    return badConfig("libfast.so.1 is not there");
}

Target targetOfFast(int32_t index)
{
    Target target;
    target.architecture = "fast " + std::to_string(index);
    target.rates.fastTypes = {DType::kHALF};
    target.rates.hasTf32 = index == 1;
    return target;
}

Device& deviceOfFast(int32_t)
{
    return refDevice();
}

BackendEntry entry(std::string_view name, Result<int32_t> (*probe)(), bool isOnlyByName = false)
{
    return {.name = name,
        .isOnlyByName = isOnlyByName,
        .probe = probe,
        .backend = refBackend,
        .target = targetOfFast,
        .device = deviceOfFast,
        .unpack = nullptr};
}

std::string refusalOf(
    std::span<BackendEntry const> backends, std::optional<std::string> const& wanted, bool isHostsProgram = false)
{
    Result<DeviceChoice> const choice = chooseDevice(backends, wanted, isHostsProgram);
    EXPECT_FALSE(choice) << choice->name();
    return choice ? "" : choice.error().message;
}

struct SilentLogger final : nvinfer1::ILogger
{
    void log(Severity, nvinfer1::AsciiChar const*) noexcept override {}
};
} // namespace

TEST(DeviceChoice, takesTheFirstUsableKindAndSaysWhyNotTheOthers)
{
    std::array const backends{entry("oracle", two, true), entry("fast", withoutDriver), entry("slow", two)};
    Result<DeviceChoice> const choice = chooseDevice(backends, std::nullopt);
    ASSERT_TRUE(choice) << choice.error().message;
    EXPECT_EQ(choice->name(), "slow");
    EXPECT_EQ(choice->reason, "TENON_DEVICE is not set; not fast: libfast.so.1 is not there");
    std::string const none = refusalOf(std::span{backends}.first(2), std::nullopt);
    EXPECT_EQ(none, "no device can be used; not fast: libfast.so.1 is not there");
}

TEST(DeviceChoice, whereNoneIsNamedItIsTheOneThatTheThreadIsAtOrTheFirstThatCanBeUsed)
{
    std::array backends{entry("fast", two), entry("slow", two)};
    auto const isUsable = [](int32_t) -> Result<Done> { return Done{}; };
    auto const isSecond = [](int32_t index) -> Result<Done> {
        return index == 1 ? Result<Done>{Done{}} : badConfig("fast {} is taken", index);
    };
    auto const isNone = [](int32_t index) -> Result<Done> { return badConfig("fast {} is taken", index); };
    auto const at = [&](std::optional<int32_t> (*current)(), Result<Done> (*open)(int32_t)) {
        backends[0].current = current;
        backends[0].open = open;
        Result<DeviceChoice> const choice = chooseDevice(backends, std::nullopt);
        return choice ? choice->name() + ", " + choice->reason : choice.error().message;
    };
    auto const nowhere = []() -> std::optional<int32_t> { return std::nullopt; };
    auto const first = []() -> std::optional<int32_t> { return 0; };
    auto const second = []() -> std::optional<int32_t> { return 1; };
    EXPECT_EQ(at(nowhere, isUsable), "fast, TENON_DEVICE is not set");
    EXPECT_EQ(at(second, isUsable), "fast:1, TENON_DEVICE is not set");
    EXPECT_EQ(chooseDevice(backends, "fast")->name(), "fast") << "a kind is its first";
    EXPECT_EQ(at(nowhere, isSecond), "fast:1, TENON_DEVICE is not set");
    EXPECT_EQ(at(second, isSecond), "fast:1, TENON_DEVICE is not set") << "that another is taken is no matter";
    EXPECT_EQ(at(first, isSecond), "slow, TENON_DEVICE is not set; not fast: fast 0 is taken");
    EXPECT_EQ(at(nowhere, isNone), "slow, TENON_DEVICE is not set; not fast: fast 0 is taken");
    EXPECT_EQ(refusalOf(backends, "fast"), "TENON_DEVICE=fast: fast 0 is taken");
}

TEST(DeviceChoice, aProgramOfTheHostsComesToNoOtherMemoryUnlessItIsNamed)
{
    std::array backends{entry("fast", two), entry("slow", two)};
    backends[0].hasOwnMemory = true;
    EXPECT_EQ(chooseDevice(backends, std::nullopt)->name(), "fast");
    Result<DeviceChoice> const choice = chooseDevice(backends, std::nullopt, true);
    ASSERT_TRUE(choice) << choice.error().message;
    EXPECT_EQ(choice->name(), "slow");
    EXPECT_EQ(choice->reason, "TENON_DEVICE is not set; not fast: the host answers this program's CUDA calls");
    EXPECT_EQ(chooseDevice(backends, "fast:1", true)->name(), "fast:1");
}

TEST(DeviceChoice, aKindIsItsFirstDeviceAndANumberIsOneOfThem)
{
    std::array const backends{entry("slow", two), entry("fast", two, true)};
    for (auto const& [wanted, index, name] :
        {std::tuple{"fast", 0, "fast"}, std::tuple{"fast:0", 0, "fast"}, std::tuple{"fast:1", 1, "fast:1"}})
    {
        Result<DeviceChoice> const choice = chooseDevice(backends, wanted);
        ASSERT_TRUE(choice) << choice.error().message;
        EXPECT_EQ(choice->backend->name, "fast");
        EXPECT_EQ(choice->index, index);
        EXPECT_EQ(choice->name(), name);
        EXPECT_EQ(choice->target().architecture, "fast " + std::to_string(index));
    }
}

TEST(DeviceChoice, whatCannotBeHadIsRefusedWithItsReason)
{
    std::array const backends{entry("slow", two), entry("fast", withoutDriver)};
    EXPECT_EQ(refusalOf(backends, "fast"), "TENON_DEVICE=fast: libfast.so.1 is not there");
    EXPECT_EQ(refusalOf(backends, "slow:2"), "TENON_DEVICE=slow:2: there are 2 devices of kind 'slow'");
    EXPECT_EQ(refusalOf(backends, "abacus:0"),
        "TENON_DEVICE=abacus:0: this build has no such device; unset TENON_DEVICE or set it to one of: slow, fast");
    for (std::string const wanted : {"slow:", "slow:x", "slow:-1", "slow:1x", "slow:99999999999", "slow:0:0"})
        EXPECT_NE(refusalOf(backends, wanted).find("is no number of a device"), std::string::npos) << wanted;
}

TEST(DeviceChoice, aMachineThatLacksTheInstructionsIsNoCpuOfOurs)
{
    Isa const active = activeIsa();
    ASSERT_TRUE(probeCpu());
    capIsa(Isa::kNone);
    Result<int32_t> const probed = probeCpu();
    std::string const unset = refusalOf(allBackends(), std::nullopt, true);
    capIsa(active);
    ASSERT_FALSE(probed);
    EXPECT_NE(probed.error().message.find("lacks AVX2"), std::string::npos) << probed.error().message;
    EXPECT_NE(unset.find("lacks AVX2"), std::string::npos) << "the reference is not taken in its place: " << unset;
}

TEST(DeviceChoice, buildersTellWhatTheTargetIsFastIn)
{
    std::array const backends{entry("fast", two)};
    SilentLogger logger;
    for (char const* const wanted : {"fast:0", "fast:1"})
    {
        Result<DeviceChoice> const choice = chooseDevice(backends, wanted);
        ASSERT_TRUE(choice) << choice.error().message;
        auto const builder = std::make_shared<api::Builder>(logger, *choice);
        EXPECT_TRUE(builder->platformHasFastFp16());
        EXPECT_FALSE(builder->platformHasFastInt8());
        EXPECT_EQ(builder->platformHasTf32(), choice->index == 1);
    }
}

} // namespace tenon::test
