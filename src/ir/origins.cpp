// Origins: a list, or several behind each other, of which some are shared.
#include "ir/origins.h"

#include <string_view>
#include <unordered_set>

namespace tenon
{

struct Origins::Part
{
    std::vector<std::string> names;
    std::vector<PartPtr> parts;

    Part(std::vector<std::string> own, std::vector<PartPtr> joined)
        : names{std::move(own)},
          parts{std::move(joined)}
    {
    }
    Part(Part const&) = delete;
    Part& operator=(Part const&) = delete;
    ~Part()
    {
        // One after the other: parts lie within each other as deep as a chain of rewrites is long.
        std::vector<PartPtr> gone = std::move(parts);
        while (!gone.empty())
        {
            PartPtr const last = std::move(gone.back());
            gone.pop_back();
            if (last.use_count() > 1)
                continue;
            for (PartPtr& inner : last->parts)
                gone.push_back(std::move(inner));
            last->parts.clear();
        }
    }
};

Origins::Origins(std::vector<std::string> names)
{
    if (!names.empty())
        mPart = std::make_shared<Part>(std::move(names), std::vector<PartPtr>{});
}

Origins Origins::join(std::vector<Origins> const& parts)
{
    std::vector<PartPtr> joined;
    for (Origins const& each : parts)
        if (!each.empty())
            joined.push_back(each.mPart);
    Origins made;
    if (joined.size() == 1)
        made.mPart = std::move(joined.front());
    else if (!joined.empty())
        made.mPart = std::make_shared<Part>(std::vector<std::string>{}, std::move(joined));
    return made;
}

std::vector<std::string> Origins::names() const
{
    std::vector<std::string> names;
    std::unordered_set<std::string_view> known;
    std::unordered_set<Part const*> seen;
    std::vector<Part const*> open;
    if (mPart != nullptr)
        open.push_back(mPart.get());
    while (!open.empty())
    {
        Part const* const part = open.back();
        open.pop_back();
        if (!seen.insert(part).second)
            continue;
        for (std::string const& name : part->names)
            if (known.insert(name).second)
                names.push_back(name);
        for (size_t i = part->parts.size(); i-- > 0;)
            open.push_back(part->parts[i].get());
    }
    return names;
}

} // namespace tenon
