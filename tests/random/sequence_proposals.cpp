// Proposals: layers over sequences of tokens: mixtures of experts, ragged attention, stacks of recurrent networks.
#include "random/proposals.h"

#include <array>

namespace tenon::test
{

bool proposeMoE(Author& author)
{
    Written const* x = author.any([](Written const& each) {
        return each.isReal() && each.rank() == 3 && each.isStatic() && each.known.value.count() > 0;
    });
    if (x == nullptr)
        return false;
    DType const type = x->type.dtype;
    int64_t const hidden = x->extent(2);
    int64_t const experts = author.draw(1, 4);
    int64_t const inner = author.draw(1, 8);
    std::vector<int64_t> const chosen{x->extent(0), x->extent(1), author.draw(1, 3)};
    std::vector<std::string> operands{x->name, author.wholeConstant(DType::kINT32, chosen, -1, experts),
        author.randomConstant(type, chosen), author.randomConstant(type, {experts, hidden, inner}),
        author.randomConstant(type, {experts, hidden, inner}), author.randomConstant(type, {experts, inner, hidden})};
    if (author.chance(50))
        for (int64_t const columns : {inner, inner, hidden})
            operands.push_back(author.randomConstant(type, {experts, columns}));
    std::string const fields = author.chance(50) ? fmt::format("ActivationType={}", author.draw(0, 1))
                                                 : "SwigluParamLimit=1.25, SwigluParamAlpha=1.5, SwigluParamBeta=0.5";
    return author.node("MoE", operands, fields);
}

namespace
{
//! Where `parts` sequences of `all` tokens begin.
std::string beginsOf(Author& author, int64_t all, int64_t parts)
{
    std::vector<int64_t> begins{0};
    for (int64_t i = 1; i < parts; ++i)
        begins.push_back(author.draw(begins.back(), all));
    begins.push_back(all);
    return author.constant(DType::kINT32, {parts + 1}, fmt::format("[{}]", fmt::join(begins, ",")));
}
} // namespace

bool proposeRaggedAttention(Author& author)
{
    bool const isPacked = author.chance(60);
    Written const* x = author.any([&](Written const& each) {
        return each.isReal() && each.rank() == (isPacked ? 3U : 4U) && each.isStatic() && each.known.value.count() > 0;
    });
    if (x == nullptr)
        return false;
    DType const type = x->type.dtype;
    int64_t const heads = x->extent(1);
    int64_t const keyHeads = author.chance(50) ? heads : 1;
    int64_t const keys = author.draw(1, 6);
    int64_t const columns = x->extent(x->rank() - 1);
    int64_t const parts = isPacked ? author.draw(1, 3) : x->extent(0);
    std::vector<std::string> operands{x->name};
    for (int64_t const width : {columns, author.draw(1, 6)})
        operands.push_back(author.randomConstant(type,
            isPacked ? std::vector<int64_t>{keys, keyHeads, width}
                     : std::vector<int64_t>{parts, keyHeads, keys, width}));
    operands.insert(operands.end(), {"_", "_"});
    operands.push_back(isPacked ? beginsOf(author, x->extent(0), parts) : "_");
    operands.push_back(
        isPacked ? beginsOf(author, keys, parts) : author.wholeConstant(DType::kINT32, {parts}, 0, keys));
    return author.node("RaggedAttention", operands,
        fmt::format("Causal={}, QueryForm={}, KeyValueForm={}", author.draw(0, 2), isPacked ? 1 : 0, isPacked ? 1 : 0));
}

bool proposeStackedRecurrence(Author& author)
{
    Written const* x = author.any([](Written const& each) {
        return each.isReal() && each.rank() >= 2 && each.rank() <= 4 && each.isStatic(each.rank() - 1)
            && each.extent(each.rank() - 1) > 0;
    });
    if (x == nullptr)
        return false;
    int64_t const cell = author.draw(0, 2);
    bool const isBothWays = author.chance(40);
    int64_t const layers = author.draw(1, 3);
    int64_t const gates = std::array<int64_t, 3>{1, 3, 4}[static_cast<size_t>(cell)];
    int64_t const ways = isBothWays ? 2 : 1;
    int64_t const hidden = author.draw(1, 8);
    DType const type = x->type.dtype;
    std::vector<std::string> operands{x->name};
    std::vector<int64_t> const front{x->known.value.extents.begin(), x->known.value.extents.end() - 2};
    std::vector<int64_t> state = front;
    state.insert(state.end(), {layers * ways, hidden});
    bool const isStatic = x->isStatic();
    bool const hasLengths = isStatic && x->extent(x->rank() - 2) > 0;
    operands.push_back(hasLengths && author.chance(40)
            ? author.wholeConstant(DType::kINT32, front, 1, x->extent(x->rank() - 2))
            : "_");
    operands.push_back(isStatic && author.chance(40) ? author.randomConstant(type, state) : "_");
    operands.push_back(isStatic && cell == 2 && author.chance(40) ? author.randomConstant(type, state) : "_");
    int64_t columns = x->extent(x->rank() - 1);
    for (int64_t layer = 0; layer < layers; ++layer)
    {
        operands.push_back(author.randomConstant(type, {ways, gates * hidden, columns}));
        operands.push_back(author.randomConstant(type, {ways, gates * hidden, hidden}));
        operands.push_back(author.chance(70) ? author.randomConstant(type, {ways, 2 * gates * hidden}) : "_");
        columns = ways * hidden;
    }
    while (operands.back() == "_")
        operands.pop_back();
    return author.node("StackedRecurrence", operands,
        fmt::format("Cell={}, IsRelu={}, IsBothWays={}, Layers={}", cell, author.chance(30), isBothWays, layers),
        cell == 2 ? 3 : 2);
}

} // namespace tenon::test
