// Timing caches: what builds by time keep, and what users do with it (rules H1 to H6, G6).
#include "fixture.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

namespace apitest
{

constexpr float kInfinity{std::numeric_limits<float>::infinity()};

class TimingCache : public ApiTest
{
  protected:
    using Cache = std::unique_ptr<ITimingCache>;

    void SetUp() override
    {
        convRelu.add(*network, dims({1, 3, 8, 10}));
        config->setBuilderOptimizationLevel(4); // By time.
    }
    Cache make(std::string const& bytes = "") const
    {
        return Cache{config->createTimingCache(bytes.data(), bytes.size())};
    }
    std::string build()
    {
        std::unique_ptr<IHostMemory> const plan{builder->buildSerializedNetwork(*network, *config)};
        return plan == nullptr ? "" : std::string{static_cast<char const*>(plan->data()), plan->size()};
    }
    static std::string bytesOf(ITimingCache const& cache)
    {
        std::unique_ptr<IHostMemory> const bytes{cache.serialize()};
        return {static_cast<char const*>(bytes->data()), bytes->size()};
    }
    static std::vector<TimingCacheKey> keysOf(ITimingCache const& cache)
    {
        std::vector<TimingCacheKey> keys(static_cast<size_t>(cache.queryKeys(nullptr, 0)));
        EXPECT_EQ(cache.queryKeys(keys.data(), static_cast<int64_t>(keys.size())), static_cast<int64_t>(keys.size()));
        return keys;
    }
    //! A cache with what one build has measured.
    Cache filled()
    {
        Cache cache = make();
        EXPECT_TRUE(config->setTimingCache(*cache, false));
        EXPECT_FALSE(build().empty()) << logger.errors();
        EXPECT_GT(cache->queryKeys(nullptr, 0), 0);
        return cache;
    }
};

TEST_F(TimingCache, H1_anEmptyCacheIsIndependentOfItsConfiguration)
{
    Cache cache = make();
    ASSERT_NE(cache, nullptr) << logger.errors();
    EXPECT_EQ(cache->queryKeys(nullptr, 0), 0);
    EXPECT_EQ(config->getTimingCache(), nullptr);
    ASSERT_TRUE(config->setTimingCache(*cache, false));
    EXPECT_EQ(config->getTimingCache(), cache.get());
    config.reset(builder->createBuilderConfig());
    EXPECT_EQ(config->getTimingCache(), nullptr);
    ASSERT_TRUE(config->setTimingCache(*cache, false));
    config->setBuilderOptimizationLevel(4);
    EXPECT_FALSE(build().empty()) << logger.errors();
    EXPECT_GT(cache->queryKeys(nullptr, 0), 0);
    config->reset();
    EXPECT_EQ(config->getTimingCache(), nullptr) << "the default";
}

TEST_F(TimingCache, H1_bytesThatAreNoCacheAreRefusedByName)
{
    Cache const cache = filled();
    std::string const good = bytesOf(*cache);
    std::string damaged = good;
    damaged[good.size() / 2] ^= 1;
    for (std::string const& bad : {std::string(200, 'x'), good.substr(0, good.size() - 1), damaged, good.substr(0, 9)})
    {
        logger.messages.clear();
        EXPECT_EQ(make(bad), nullptr);
        EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "IBuilderConfig::createTimingCache"), 1) << logger.errors();
    }
    EXPECT_EQ(config->createTimingCache(nullptr, 4), nullptr);
    Cache const empty{config->createTimingCache(nullptr, 0)};
    EXPECT_NE(empty, nullptr);
}

TEST_F(TimingCache, H6_aBuildWithWhatIsKnownMeasuresNothingAndGivesTheSamePlan)
{
    Cache const cache = make();
    ASSERT_TRUE(config->setTimingCache(*cache, false));
    std::string const first = build();
    Cache const copy = make(bytesOf(*cache));
    ASSERT_NE(copy, nullptr) << logger.errors();
    EXPECT_EQ(bytesOf(*copy), bytesOf(*cache));
    ASSERT_TRUE(config->setTimingCache(*copy, false));
    config->setFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
    EXPECT_EQ(build(), first) << logger.errors();
    ASSERT_TRUE(copy->reset());
    EXPECT_EQ(copy->queryKeys(nullptr, 0), 0);
    EXPECT_TRUE(build().empty());
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "kERROR_ON_TIMING_CACHE_MISS"), 1) << logger.errors();
    EXPECT_EQ(logger.count(ILogger::Severity::kERROR, "'conv"), 1) << logger.errors();
    config->reset(); // The flag without a cache.
    config->setBuilderOptimizationLevel(4);
    config->setFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
    EXPECT_FALSE(build().empty()) << logger.errors();
}

TEST_F(TimingCache, G6_levelZeroDoesNotUseTheCache)
{
    Cache const cache = make();
    ASSERT_TRUE(config->setTimingCache(*cache, false));
    config->setFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
    config->setBuilderOptimizationLevel(0);
    EXPECT_FALSE(build().empty()) << logger.errors();
    EXPECT_EQ(cache->queryKeys(nullptr, 0), 0);
}

TEST_F(TimingCache, H3_combineTakesWhatIsMissingAndKeepsItsOwn)
{
    Cache const cache = filled();
    Cache const other = make(bytesOf(*cache));
    std::vector<TimingCacheKey> const keys = keysOf(*cache);
    ASSERT_GE(keys.size(), 2U);
    TimingCacheValue const own = cache->query(keys[0]);
    ASSERT_TRUE(other->update(keys[0], {own.tacticHash, own.timingMSec + 5.0F}));
    ASSERT_TRUE(cache->update(keys[1], {0, std::nanf("")}));
    ASSERT_EQ(cache->queryKeys(nullptr, 0), static_cast<int64_t>(keys.size()) - 1);
    EXPECT_TRUE(cache->combine(*other, false)) << logger.errors();
    EXPECT_EQ(cache->queryKeys(nullptr, 0), static_cast<int64_t>(keys.size()));
    EXPECT_EQ(cache->query(keys[0]).timingMSec, own.timingMSec);
    EXPECT_TRUE(cache->combine(*cache, false)) << "with itself";
}

TEST_F(TimingCache, H4_entriesCanBeAskedForAndChanged)
{
    Cache const cache = filled();
    std::vector<TimingCacheKey> const keys = keysOf(*cache);
    TimingCacheKey one{};
    EXPECT_EQ(cache->queryKeys(&one, 1), static_cast<int64_t>(keys.size()))
        << "how many there are, one of them written";
    EXPECT_EQ(std::memcmp(one.data, keys[0].data, sizeof(one.data)), 0);
    EXPECT_EQ(cache->queryKeys(nullptr, 3), -1);
    EXPECT_EQ(cache->queryKeys(&one, -1), -1);
    TimingCacheValue const value = cache->query(one);
    EXPECT_NE(value.tacticHash, TimingCacheValue::kINVALID_TACTIC_HASH);
    EXPECT_GE(value.timingMSec, 0.0F);

    TimingCacheKey unknown{};
    EXPECT_EQ(cache->query(unknown).tacticHash, TimingCacheValue::kINVALID_TACTIC_HASH);
    EXPECT_FALSE(cache->update(unknown, value));
    EXPECT_FALSE(cache->update(one, {TimingCacheValue::kINVALID_TACTIC_HASH, 1.0F}));
    EXPECT_FALSE(cache->update(one, {value.tacticHash, -1.0F}));
    EXPECT_FALSE(cache->update(one, {value.tacticHash, -kInfinity}));
    EXPECT_EQ(cache->query(one).timingMSec, value.timingMSec) << "what is wrong changes nothing";
    EXPECT_TRUE(cache->update(one, {value.tacticHash, kInfinity})) << "what has it is never chosen";
    EXPECT_EQ(make(bytesOf(*cache))->query(one).timingMSec, kInfinity);
    EXPECT_TRUE(cache->update(one, {value.tacticHash, 9.5F}));
    EXPECT_EQ(cache->query(one).timingMSec, 9.5F);
    EXPECT_TRUE(cache->update(one, {value.tacticHash, std::nanf("")}));
    EXPECT_EQ(cache->query(one).tacticHash, TimingCacheValue::kINVALID_TACTIC_HASH);
    EXPECT_FALSE(cache->update(one, value)) << "it is gone";
}

TEST_F(TimingCache, H4_aBuildObeysAnEditedTime)
{
    Cache const cache = make();
    ASSERT_TRUE(config->setTimingCache(*cache, false));
    std::string const before = build();
    float most{0.0F};
    for (TimingCacheKey const& key : keysOf(*cache))
        most = std::max(most, cache->query(key).timingMSec);
    for (TimingCacheKey const& key : keysOf(*cache)) // What was the slowest is the fastest now.
    {
        TimingCacheValue const value = cache->query(key);
        ASSERT_TRUE(cache->update(key, {value.tacticHash, most - value.timingMSec}));
    }
    std::string const behind = build();
    EXPECT_FALSE(behind.empty()) << logger.errors();
    EXPECT_NE(behind, before);
}

TEST_F(TimingCache, H4_whatTakesForeverIsChosenOnlyWhereNothingElseIs)
{
    Cache const cache = filled();
    std::vector<TimingCacheKey> const keys = keysOf(*cache);
    std::set<uint64_t> tactics;
    for (TimingCacheKey const& key : keys)
        tactics.insert(cache->query(key).tacticHash);
    std::set<std::string> plans;
    for (uint64_t const only : tactics)
    {
        for (TimingCacheKey const& key : keys)
        {
            uint64_t const tactic = cache->query(key).tacticHash;
            ASSERT_TRUE(cache->update(key, {tactic, tactic == only ? 1.0F : kInfinity}));
        }
        std::string const plan = build();
        EXPECT_FALSE(plan.empty()) << logger.errors();
        plans.insert(plan);
    }
    EXPECT_GE(plans.size(), 2U) << "each tactic was forced once";
    for (TimingCacheKey const& key : keys)
        ASSERT_TRUE(cache->update(key, {cache->query(key).tacticHash, kInfinity}));
    EXPECT_FALSE(build().empty()) << logger.errors();
}

} // namespace apitest
