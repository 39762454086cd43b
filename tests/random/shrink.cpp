// Shrinking: outputs, layers, operands, symbols and fields are taken away one by one, as long as it fails.
#include "random/shrink.h"

#include "ir/graph.h"
#include "random/author.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <vector>

namespace tenon::test
{

namespace
{
bool isNamePart(char c)
{
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

//! Calls visit(position, length) for each name with its percent sign.
template <typename Visit>
void forEachName(std::string const& text, Visit&& visit)
{
    for (size_t at = text.find('%'); at != std::string::npos; at = text.find('%', at + 1))
    {
        size_t end = at + 1;
        while (end < text.size() && isNamePart(text[end]))
            ++end;
        visit(at, end - at);
    }
}

std::string renamed(std::string const& text, std::string const& from, std::string const& to)
{
    std::string result;
    size_t done{0};
    forEachName(text, [&](size_t at, size_t length) {
        if (text.compare(at, length, from) != 0)
            return;
        result += text.substr(done, at - done) + to;
        done = at + length;
    });
    return result + text.substr(done);
}

//! A line, with the bodies behind it.
struct Block
{
    std::string text;
    std::vector<std::string> makes;
    std::set<std::string> reads;

    bool is(std::string_view word) const
    {
        return text.starts_with(word);
    }
    bool isNode() const
    {
        return !makes.empty() && !is("input ") && !is("const ");
    }
};

Block blockOf(std::string text)
{
    Block block{std::move(text), {}, {}};
    std::string const line = block.text.substr(0, block.text.find('\n'));
    size_t const middle = block.is("input ") || block.is("const ") ? line.find(':')
        : block.is("output ")                                      ? 0
                                                                   : line.find('=');
    forEachName(block.text, [&](size_t at, size_t length) {
        std::string const name = block.text.substr(at, length);
        if (at < middle)
            block.makes.push_back(name);
        else
            block.reads.insert(name);
    });
    return block;
}

std::vector<Block> blocksOf(std::string const& text)
{
    std::vector<Block> blocks;
    int32_t depth{0};
    std::string open;
    for (size_t from = 0; from < text.size();)
    {
        size_t const end = std::min(text.find('\n', from), text.size() - 1) + 1;
        std::string const line = text.substr(from, end - from);
        from = end;
        bool const opens = line == "{\n";
        if (depth == 0 && !opens && !open.empty())
            blocks.push_back(blockOf(std::exchange(open, {})));
        depth += opens ? 1 : line == "}\n" ? -1 : 0;
        open += line;
    }
    if (!open.empty())
        blocks.push_back(blockOf(open));
    return blocks;
}

std::string joinedText(std::vector<Block> const& blocks)
{
    std::string text;
    for (Block const& block : blocks)
        text += block.text;
    return text;
}

//! Without the lines that nobody reads.
std::vector<Block> withoutDead(std::vector<Block> blocks)
{
    std::set<std::string> read;
    std::vector<Block> kept;
    for (size_t i = blocks.size(); i-- > 0;)
    {
        Block const& block = blocks[i];
        bool const isRead = block.is("output ")
            || std::ranges::any_of(block.makes, [&](std::string const& each) { return read.contains(each); });
        if (!isRead)
            continue;
        read.insert(block.reads.begin(), block.reads.end());
        kept.push_back(block);
    }
    std::ranges::reverse(kept);
    return kept;
}

class Shrinking
{
  public:
    Shrinking(std::string text, std::function<bool(std::string const&)> const& fails)
        : mText{std::move(text)},
          mFails{fails}
    {
    }

    std::string run()
    {
        for (bool isSmaller = true; isSmaller;)
        {
            isSmaller = oneOutput();
            isSmaller = inputsForLayers() || isSmaller;
            isSmaller = operandsForLayers() || isSmaller;
            isSmaller = numbersForSymbols() || isSmaller;
            isSmaller = fewerFields() || isSmaller;
        }
        return mText;
    }

  private:
    bool accept(std::vector<Block> const& blocks)
    {
        std::string const text = withRanges(joinedText(withoutDead(blocks)));
        if (text == mText || !mFails(text))
            return false;
        mText = text;
        return true;
    }

    //! Each symbol's range where it stands first, as in the text before.
    std::string withRanges(std::string const& text)
    {
        for (size_t at = mText.find('='); at != std::string::npos; at = mText.find('=', at + 1))
        {
            size_t first = at;
            while (first > 0 && isNamePart(mText[first - 1]))
                --first;
            size_t end = at + 1;
            while (
                end < mText.size() && (std::isdigit(static_cast<unsigned char>(mText[end])) != 0 || mText[end] == '.'))
                ++end;
            std::string const range = mText.substr(at, end - at);
            if (range.find("..") != std::string::npos)
                mRanges[mText.substr(first, at - first)] = range;
        }
        std::string result = text;
        for (auto const& [symbol, range] : mRanges)
        {
            for (size_t at = result.find(symbol + range); at != std::string::npos; at = result.find(symbol + range, at))
                result.erase(at + symbol.size(), range.size());
            for (size_t at = result.find(symbol); at != std::string::npos; at = result.find(symbol, at + 1))
                if (at > 0 && !isNamePart(result[at - 1]) && !isNamePart(result[at + symbol.size()]))
                {
                    result.insert(at + symbol.size(), range);
                    break;
                }
        }
        return result;
    }

    bool oneOutput()
    {
        std::vector<Block> const blocks = blocksOf(mText);
        auto const outputs = std::ranges::count_if(blocks, [](Block const& each) { return each.is("output "); });
        for (size_t i = 0; outputs > 1 && i < blocks.size(); ++i)
        {
            if (!blocks[i].is("output "))
                continue;
            std::vector<Block> one;
            for (size_t k = 0; k < blocks.size(); ++k)
                if (k == i || !blocks[k].is("output "))
                    one.push_back(blocks[k]);
            if (accept(one))
                return true;
        }
        return false;
    }

    //! By the name that a symbol has in the text; what no text can say is refused when it is read.
    static std::string shown(ShapeExpr const& extent, SymbolTable const& symbols)
    {
        for (int32_t id = 0; id < symbols.size(); ++id)
            if (extent == ShapeExpr::symbol(id) && !symbols.at(id).name.empty())
                return symbols.at(id).name;
        return extent.show();
    }

    std::map<std::string, std::string> types() const
    {
        std::map<std::string, std::string> types;
        Result<Graph> const graph = graphOf(mText);
        for (size_t id = 0; graph && id < graph->valueCount(); ++id)
        {
            Value const& value = graph->value(static_cast<ValueId>(id));
            std::vector<std::string> extents;
            for (ShapeExpr const& extent : value.type.shape)
                extents.push_back(shown(extent, graph->symbols()));
            types["%" + value.name] = fmt::format("{}[{}]", nameOf(value.type.dtype), fmt::join(extents, ","));
        }
        return types;
    }

    //! A layer gives way to inputs of its types, or to an output in front of it.
    bool inputsForLayers()
    {
        bool isAny{false};
        for (size_t i = blocksOf(mText).size(); i-- > 0;)
        {
            std::vector<Block> blocks = blocksOf(mText);
            if (i >= blocks.size() || !blocks[i].isNode())
                continue;
            auto const known = types();
            std::string inputs;
            for (std::string const& each : blocks[i].makes)
                inputs += "input " + each + " : " + known.at(each) + "\n";
            blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i));
            blocks.insert(blocks.begin(), blockOf(inputs));
            isAny = accept(blocksOf(joinedText(blocks))) || isAny;
        }
        return isAny;
    }

    bool operandsForLayers()
    {
        bool isAny{false};
        for (size_t i = blocksOf(mText).size(); i-- > 0;)
        {
            std::vector<Block> blocks = blocksOf(mText);
            if (i >= blocks.size() || !blocks[i].isNode())
                continue;
            Block const block = blocks[i];
            blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i));
            for (std::string const& operand : block.reads)
                if (accept(blocksOf(renamed(joinedText(blocks), block.makes[0], operand))))
                {
                    isAny = true;
                    break;
                }
        }
        return isAny;
    }

    bool numbersForSymbols()
    {
        bool isAny{false};
        withRanges(mText);
        for (auto const& [symbol, range] : std::map{mRanges})
            for (char const* number : {"1", "2", "3", "5", "7"})
            {
                std::string text = mText;
                for (size_t at = text.find(symbol); at != std::string::npos; at = text.find(symbol, at + 1))
                    if (at > 0 && !isNamePart(text[at - 1]) && !isNamePart(text[at + symbol.size()]))
                    {
                        size_t const length = symbol.size()
                            + (text.compare(at + symbol.size(), range.size(), range) == 0 ? range.size() : 0);
                        text.replace(at, length, number);
                    }
                if (text != mText && accept(blocksOf(text)))
                {
                    isAny = true;
                    break;
                }
            }
        return isAny;
    }

    bool fewerFields()
    {
        bool isAny{false};
        for (size_t i = 0; i < blocksOf(mText).size(); ++i)
            for (size_t field = 0; field < 8; ++field)
            {
                std::vector<Block> blocks = blocksOf(mText);
                if (i >= blocks.size() || !blocks[i].isNode() || !dropField(blocks[i].text, field))
                    continue;
                isAny = accept(blocksOf(joinedText(blocks))) || isAny;
            }
        return isAny;
    }

    //! Takes a field out of a line's braces; false: there are not so many.
    static bool dropField(std::string& text, size_t field)
    {
        size_t const lineEnd = text.find('\n');
        size_t const open = text.find(" {");
        if (open == std::string::npos || open > lineEnd)
            return false;
        int32_t depth{0};
        size_t from = open + 2;
        for (size_t at = from; at < lineEnd; ++at)
        {
            depth += text[at] == '(' || text[at] == '[' || text[at] == '{' ? 1 : 0;
            bool const ends = depth == 0 && (text[at] == ',' || text[at] == '}');
            depth -= text[at] == ')' || text[at] == ']' || (text[at] == '}' && depth > 0) ? 1 : 0;
            if (!ends)
                continue;
            if (field-- == 0)
            {
                bool const isLast = text[at] == '}';
                size_t const first = isLast && from > open + 2 ? from - 2 : from;
                text.erase(first, at - first + (isLast ? 0 : 2));
                return true;
            }
            from = at + 2;
        }
        return false;
    }

    std::string mText;
    std::function<bool(std::string const&)> const& mFails;
    std::map<std::string, std::string> mRanges;
};
} // namespace

std::string shrunk(std::string text, std::function<bool(std::string const&)> const& fails)
{
    return Shrinking{std::move(text), fails}.run();
}

} // namespace tenon::test
