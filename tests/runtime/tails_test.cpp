// Later segments: what a new count prepares, and what it shares with the count before.
#include "runtime/fixture.h"

namespace tenon::test
{

namespace
{
constexpr int32_t kLength{12};

//! Two searches. Behind each: what depends on its count, and a chain of `kLength` steps that does not.
std::shared_ptr<Plan> twoSearches()
{
    ProgramBuilder builder;
    int32_t const x = builder.input("x", {16});
    int32_t const y = builder.input("y", {16});
    std::vector<Reg> const extents = builder.extentsOf(x);
    auto const search = [&](int32_t in, std::string const& name) {
        Reg const found = builder.dataSymbol(extents[0]);
        int32_t const positions = builder.activation({found}, DType::kINT32);
        builder.step("nonzero", {in}, {positions}).produces = {found.index};
        builder.step("negate", {positions}, {builder.output(name, {found}, DType::kINT32)});
        int32_t last = in;
        for (int32_t i = 0; i < kLength; ++i)
        {
            int32_t const next = builder.activation(extents);
            builder.step("scale", {last}, {next}).args = ProgramBuilder::args(2.0F);
            last = next;
        }
        builder.step("scale", {last}, {builder.output("end of " + name, extents)}).args = ProgramBuilder::args(0.5F);
    };
    search(x, "in x");
    search(y, "in y");
    return builder.finish();
}

//! Ones at the first `count` places.
std::vector<float> ones(size_t count)
{
    std::vector<float> values(16);
    std::fill_n(values.begin(), count, 1.0F);
    return values;
}

class TwoSearches
{
  public:
    explicit TwoSearches(std::shared_ptr<Engine> const& engine)
        : mContext{contextOf(engine)}
    {
        for (auto const& [name, memory] : std::initializer_list<std::pair<char const*, void*>>{{"x", mX.data()},
                 {"y", mY.data()}, {"in x", mInX.data()}, {"in y", mInY.data()}, {"end of in x", mEndX.data()},
                 {"end of in y", mEndY.data()}})
            EXPECT_OK(mContext->setTensorAddress(name, memory));
    }
    //! With so many found; how many steps were prepared for it.
    int64_t run(size_t inX, size_t inY)
    {
        mX.write(ones(inX));
        mY.write(ones(inY));
        int64_t const before = ToyDevice::prepareCount();
        EXPECT_OK(mContext->enqueue(deviceUnderTest().stream()));
        EXPECT_TRUE(deviceUnderTest().synchronize());
        expectNegated(mInX.read(), inX);
        expectNegated(mInY.read(), inY);
        EXPECT_EQ(mEndY.read()[0], inY == 0 ? 0.0F : 2048.0F);
        return ToyDevice::prepareCount() - before;
    }

  private:
    static void expectNegated(std::vector<int32_t> const& got, size_t count)
    {
        for (size_t i = 0; i < count; ++i)
            EXPECT_EQ(got[i], -static_cast<int32_t>(i)) << count;
    }

    std::unique_ptr<Context> mContext;
    DeviceArray<float> mX{16};
    DeviceArray<float> mY{16};
    DeviceArray<int32_t> mInX{16};
    DeviceArray<int32_t> mInY{16};
    DeviceArray<float> mEndX{16};
    DeviceArray<float> mEndY{16};
};
} // namespace

TEST(Tails, aNewCountPreparesNoStepThatDoesNotDependOnIt)
{
    auto const engine = engineOf(twoSearches());
    TwoSearches searches{engine};
    EXPECT_EQ(searches.run(3, 5), 2 * (kLength + 3));
    for (size_t count = 6; count < 12; ++count)
        EXPECT_EQ(searches.run(count, count + 1), 2) << count; // The two that negate what was found.
    EXPECT_EQ(searches.run(12, 12), 1) << "the second has the count that it had";
    EXPECT_EQ(searches.run(8, 9), 0) << "seen before";
    EXPECT_EQ(searches.run(8, 10), 0) << "each seen before, in runs of its own";
    EXPECT_EQ(searches.run(8, 15), 1);
}

TEST(Tails, contextsThatTakeTurnsShareWhatEachHas)
{
    auto const engine = engineOf(twoSearches());
    TwoSearches first{engine};
    TwoSearches second{engine};
    first.run(1, 1);
    second.run(1, 1);
    for (size_t count = 2; count < 10; ++count)
    {
        EXPECT_EQ(first.run(count, count), 2) << count;
        EXPECT_EQ(second.run(count, count), 0) << count;
    }
}

} // namespace tenon::test
