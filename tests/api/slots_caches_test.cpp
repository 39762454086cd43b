// Entries of timing caches, asked for and edited by a program that never saw a header of ours.
#include "raw_features.h"

#include <cmath>

namespace raw
{
namespace
{
constexpr uint64_t kInvalidTactic{~uint64_t{0}};

struct RawKey
{
    uint8_t data[16];
};

struct RawValue
{
    uint64_t tactic;
    float milliseconds;
};

class SlotsOfCaches : public SlotsOfFeatures
{
  protected:
    void SetUp() override
    {
        SlotsOfFeatures::SetUp();
        prepare = [&](Object, Object config) {
            call<void>(config, slots::kVBuilderConfig_setFlag, kEDITABLE_TIMING_CACHE);
            call<void>(config, slots::kVBuilderConfig_setBuilderOptimizationLevel, int32_t{4}); // By time.
            if (cache == nullptr)
                cache = made(config, "");
            if (wantsCopy)
                copy = made(config, serialized(cache));
            ASSERT_TRUE(call<bool>(config, slots::kVBuilderConfig_setTimingCache, cache, false)) << errors;
        };
    }
    void TearDown() override
    {
        for (Object const each : {cache, copy})
            if (each != nullptr)
                destroy(each);
    }
    Object made(Object config, std::string const& bytes)
    {
        Object const answer = call<Object>(
            config, slots::kVBuilderConfig_createTimingCache, static_cast<void const*>(bytes.data()), bytes.size());
        EXPECT_NE(answer, nullptr) << errors;
        return answer;
    }
    static Object behind(Object timingCache)
    {
        return inner(timingCache, slots::kITimingCache_mImpl);
    }
    static std::string serialized(Object timingCache)
    {
        Object const memory = call<Object>(behind(timingCache), slots::kVTimingCache_serialize);
        std::string bytes = bytesOf(memory);
        destroy(memory);
        return bytes;
    }
    static std::vector<RawKey> keysOf(Object timingCache)
    {
        Object const own = behind(timingCache);
        std::vector<RawKey> keys(static_cast<size_t>(
            call<int64_t>(own, slots::kVTimingCache_queryKeys, static_cast<RawKey*>(nullptr), int64_t{0})));
        auto const capacity = static_cast<int64_t>(keys.size());
        EXPECT_EQ(call<int64_t>(own, slots::kVTimingCache_queryKeys, keys.data(), capacity), capacity);
        return keys;
    }
    static RawValue valueOf(Object timingCache, RawKey const& key)
    {
        return call<RawValue>(behind(timingCache), slots::kVTimingCache_query, &key);
    }
    static bool update(Object timingCache, RawKey const& key, RawValue const& value)
    {
        return call<bool>(behind(timingCache), slots::kVTimingCache_update, &key, &value);
    }

    Object cache{nullptr};
    Object copy{nullptr};
    bool wantsCopy{false};
};
} // namespace

TEST_F(SlotsOfCaches, aBuildObeysEditedTimes)
{
    std::string const before = builtPlan();
    std::vector<RawKey> const keys = keysOf(cache);
    ASSERT_GE(keys.size(), 2U);
    float most{0.0F};
    for (RawKey const& key : keys)
        most = std::max(most, valueOf(cache, key).milliseconds);
    for (RawKey const& key : keys) // What was the slowest is the fastest now.
    {
        RawValue const value = valueOf(cache, key);
        EXPECT_NE(value.tactic, kInvalidTactic);
        ASSERT_TRUE(update(cache, key, {value.tactic, most - value.milliseconds}));
    }
    std::string const behindIt = builtPlan();
    EXPECT_NE(behindIt, before);
    Object const engine = load(behindIt);
    ASSERT_NE(engine, nullptr) << errors;
    expectRuns(engine);
    destroy(engine);
    EXPECT_EQ(errors, "");
}

TEST_F(SlotsOfCaches, entriesAreRefusedDeletedAndCombined)
{
    builtPlan();
    wantsCopy = true;
    builtPlan();
    ASSERT_NE(copy, nullptr);
    std::vector<RawKey> const keys = keysOf(cache);
    ASSERT_FALSE(keys.empty());
    RawValue const value = valueOf(cache, keys[0]);
    EXPECT_FALSE(update(cache, RawKey{}, value)) << "an unknown key";
    EXPECT_EQ(valueOf(cache, RawKey{}).tactic, kInvalidTactic);
    EXPECT_FALSE(update(cache, keys[0], {kInvalidTactic, 1.0F}));
    EXPECT_EQ(valueOf(cache, keys[0]).milliseconds, value.milliseconds);
    ASSERT_TRUE(update(copy, keys[0], {value.tactic, value.milliseconds + 5.0F}));
    EXPECT_TRUE(update(cache, keys.back(), {value.tactic, std::nanf("")})) << "deletes the entry";
    EXPECT_EQ(keysOf(cache).size() + 1, keys.size());
    EXPECT_TRUE(call<bool>(behind(cache), slots::kVTimingCache_combine, copy, false)) << errors;
    EXPECT_EQ(keysOf(cache).size(), keys.size());
    if (keys.size() > 1)
    {
        EXPECT_EQ(valueOf(cache, keys[0]).milliseconds, value.milliseconds) << "its own entry stays";
    }
    EXPECT_TRUE(call<bool>(behind(cache), slots::kVTimingCache_reset));
    EXPECT_TRUE(keysOf(cache).empty());
}

} // namespace raw
