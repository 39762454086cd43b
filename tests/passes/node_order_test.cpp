// NodeOrder against a plain list, where labels are plenty and where they run out; Origins as deep as a graph is long.
#include "ir/node_order.h"
#include "ir/origins.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tenon::test
{

namespace
{
void expectListed(NodeOrder const& order, std::vector<NodeId> const& list)
{
    ASSERT_EQ(order.size(), list.size());
    EXPECT_TRUE(std::ranges::equal(std::vector<NodeId>(order.begin(), order.end()), list));
    for (size_t i = 1; i < list.size(); ++i)
        ASSERT_TRUE(order.isBefore(list[i - 1], list[i]) && !order.isBefore(list[i], list[i - 1])) << i;
}
} // namespace

TEST(NodeOrder, keepsAnOrderUnderInsertingAndErasing)
{
    std::mt19937 random{3};
    NodeOrder order;
    std::vector<NodeId> list;
    for (NodeId node = 0; node < 4000; ++node)
    {
        size_t const at = random() % (list.size() + 1);
        order.insertBefore(at == list.size() ? kNone : list[at], node);
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), node);
        if (random() % 3 == 0)
        {
            size_t const gone = random() % list.size();
            order.erase(list[gone]);
            EXPECT_FALSE(order.contains(list[gone]));
            list.erase(list.begin() + static_cast<std::ptrdiff_t>(gone));
        }
    }
    expectListed(order, list);
    EXPECT_EQ(order.front(), list.front());
    EXPECT_EQ(order.back(), list.back());
}

TEST(NodeOrder, insertsAtOnePlaceMoreOftenThanThereAreLabelsBetween)
{
    for (bool const atFront : {false, true})
    {
        NodeOrder order;
        order.insertBefore(kNone, 0);
        order.insertBefore(kNone, 1);
        std::vector<NodeId> list{0, 1};
        for (NodeId node = 2; node < 3000; ++node) // 32 halvings of a gap would be the end of it.
        {
            auto const at = list.begin() + (atFront ? 0 : static_cast<std::ptrdiff_t>(node / 2));
            order.insertBefore(*at, node);
            list.insert(at, node);
        }
        expectListed(order, list);
    }
}

TEST(Origins, ofAHundredThousandJoinsAreEachNameOnce)
{
    Origins all{{"first"}};
    for (int32_t i = 0; i < 100'000; ++i)
        all = Origins::join({all, Origins{{"n" + std::to_string(i)}}, all});
    std::vector<std::string> const names = all.names();
    ASSERT_EQ(names.size(), 100'001U);
    EXPECT_EQ(names[0], "first");
    EXPECT_EQ(names[2], "n1");
    EXPECT_EQ(names.back(), "n99999");
}

} // namespace tenon::test
