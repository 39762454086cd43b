// The code section of plans: round trip, what was changed is refused by name; SHA-256.
#include "base/sha256.h"
#include "plan/check.h"
#include "plan/format.h"
#include "plan/plan.h"
#include "support/random_program.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tenon::test
{

namespace
{
ByteView viewOf(std::string const& text)
{
    return {reinterpret_cast<uint8_t const*>(text.data()), text.size()};
}

PlanCode codeOf(std::string name, std::string const& text)
{
    return {.name = std::move(name),
        .target = "x86-64",
        .sha256 = sha256(viewOf(text)),
        .bytes = text.size(),
        .data = text.data()};
}

Result<Plan> readOwned(Bytes const& bytes)
{
    auto const owner = std::make_shared<Bytes>(bytes);
    return readPlan(*owner, owner);
}
} // namespace

TEST(Sha256, knownDigests)
{
    // FIPS 180-4's examples, and lengths around the padding.
    EXPECT_EQ(hexOf(sha256(viewOf("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(hexOf(sha256(viewOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))),
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(hexOf(sha256({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(hexOf(sha256(viewOf(std::string(1'000'000, 'a')))),
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

class PlanCodeTest : public ::testing::Test
{
  protected:
    std::string const first = "the first plugin's code";
    std::string const second = std::string(1000, 'x') + "second";
    std::shared_ptr<Plan> plan = randomPlan(4);
    Bytes bytes;

    void SetUp() override
    {
        plan->code = {codeOf("plugin 'A', kernel 'a'", first), codeOf("plugin 'B', kernel 'b'", second)};
        plan->code[1].form = CodeForm::kDeviceBinary;
        plan->code[1].target = "sm_90";
        plan->programs.front().steps.front().code = 1;
        auto written = writePlan(*plan);
        ASSERT_TRUE(written) << written.error().message;
        bytes = *written;
    }
    size_t placeOf(std::string const& text) const
    {
        return static_cast<size_t>(std::search(bytes.begin(), bytes.end(), text.begin(), text.end()) - bytes.begin());
    }
};

TEST_F(PlanCodeTest, O7_codeComesBackWithNameAndDigest)
{
    auto const read = readOwned(bytes);
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->code.size(), 2U);
    for (size_t i = 0; i < 2; ++i)
    {
        PlanCode const& code = read->code[i];
        EXPECT_EQ(code.name, plan->code[i].name);
        EXPECT_EQ(code.form, plan->code[i].form);
        EXPECT_EQ(code.target, plan->code[i].target);
        EXPECT_EQ(code.sha256, plan->code[i].sha256);
        EXPECT_EQ((std::string{static_cast<char const*>(code.data), code.bytes}), i == 0 ? first : second);
    }
    EXPECT_EQ(read->programs.front().steps.front().code, 1);
    auto const again = writePlan(*read);
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, bytes);
    plan->programs.front().steps.front().code = -1;
    plan->code.clear();
    EXPECT_LT(writePlan(*plan)->size() + kPlanPage / 2, bytes.size()) << "without code there is no section of it";
}

TEST_F(PlanCodeTest, O1_changedCodeIsRefusedByName)
{
    bytes[placeOf(second) + 7] ^= 1;
    auto const damaged = readOwned(bytes);
    ASSERT_FALSE(damaged);
    EXPECT_NE(damaged.error().message.find("checksum of its code"), std::string::npos) << damaged.error().message;
    ASSERT_TRUE(resealPlan(bytes));
    auto const changed = readOwned(bytes);
    ASSERT_FALSE(changed);
    EXPECT_NE(changed.error().message.find("plugin 'B', kernel 'b'"), std::string::npos) << changed.error().message;
    EXPECT_NE(changed.error().message.find("SHA-256"), std::string::npos) << changed.error().message;
}

TEST_F(PlanCodeTest, O1_everyTruncationIsRefused)
{
    for (size_t size = 0; size < bytes.size(); size += 13)
        ASSERT_FALSE(readOwned(Bytes(bytes.begin(), bytes.begin() + static_cast<int64_t>(size)))) << size;
}

TEST_F(PlanCodeTest, anEntryWithoutCodeIsNotWritten)
{
    plan->code[0].data = nullptr;
    auto const refused = writePlan(*plan);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("plugin 'A'"), std::string::npos) << refused.error().message;
}

TEST_F(PlanCodeTest, stepsRunCodeThatIsThere)
{
    for (int32_t const code : {2, -2})
    {
        plan->programs.front().steps.front().code = code;
        auto const refused = writePlan(*plan);
        ASSERT_FALSE(refused) << code;
        EXPECT_NE(refused.error().message.find("unknown code"), std::string::npos) << refused.error().message;
    }
}

TEST_F(PlanCodeTest, codeSaysWhatItIsAndWhatItIsFor)
{
    plan->code[1].target.clear();
    auto const aimless = writePlan(*plan);
    ASSERT_FALSE(aimless);
    EXPECT_NE(aimless.error().message.find("plugin 'B'"), std::string::npos) << aimless.error().message;
    plan->code[1].target = "sm_90";
    plan->code[1].form = static_cast<CodeForm>(4);
    auto const formless = writePlan(*plan);
    ASSERT_FALSE(formless);
    EXPECT_NE(formless.error().message.find("unknown form 4"), std::string::npos) << formless.error().message;
}

} // namespace tenon::test
