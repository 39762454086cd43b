// Suggestion: the distance of words.
#include "suggestion.h"

#include <algorithm>

namespace tenon::cli
{

namespace
{
//! Letters to insert, leave out, change, or exchange with the next.
size_t distanceOf(std::string const& a, std::string const& b)
{
    std::vector<std::vector<size_t>> distance(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); ++i)
        for (size_t j = 0; j <= b.size(); ++j)
        {
            if (i == 0 || j == 0)
            {
                distance[i][j] = i + j;
                continue;
            }
            size_t const change = a[i - 1] == b[j - 1] ? 0 : 1;
            distance[i][j] =
                std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1, distance[i - 1][j - 1] + change});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
        }
    return distance[a.size()][b.size()];
}
} // namespace

std::string suggestion(std::string const& word, std::vector<std::string> const& names)
{
    constexpr size_t kMaxWord{64};
    std::string nearest;
    size_t least = std::max<size_t>(word.size() / 3, 1) + 1;
    for (std::string const& name : names)
    {
        size_t const distance = word.size() > kMaxWord    ? least
            : word.size() > 1 && name.rfind(word, 0) == 0 ? 0
                                                          : distanceOf(word, name);
        if (distance < least)
        {
            least = distance;
            nearest = name;
        }
    }
    return nearest.empty() ? "" : " Did you mean '" + nearest + "'?";
}

} // namespace tenon::cli
