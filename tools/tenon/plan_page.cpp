// The page is a file of its own, plan_page.html, which the build puts into the program; here it gets its data.
#include "plan_page.h"

#include <map>
#include <string_view>

namespace tenon::cli
{

namespace
{
constexpr std::string_view kPlanPage{
#include "plan_page.inc"
};

//! As a string of DOT.
std::string quoted(std::string const& text)
{
    std::string result{"\""};
    for (char const c : text)
    {
        if (c == '"' || c == '\\')
            result += '\\';
        result += c;
    }
    return result + "\"";
}
} // namespace

std::string planPage(Json const& plan, Json const& network, Json const& times)
{
    constexpr std::string_view kMark{"PLAN_DATA"};
    std::string data = Json{{"plan", plan}, {"network", network}, {"times", times}}.dump(
        -1, ' ', false, Json::error_handler_t::replace);
    // Within a script element "</" and "<!" would be read as the page's.
    for (size_t at = data.find('<'); at != std::string::npos; at = data.find('<', at))
        data.replace(at, 1, "\\u003c");
    std::string page{kPlanPage};
    page.replace(page.find(kMark), kMark.size(), data);
    return page;
}

std::string planDot(Json const& plan)
{
    std::string dot{"digraph plan {\n  node [shape=box];\n"};
    for (Json const& program : plan["programs"])
    {
        std::map<int64_t, std::string> writers; // By memory.
        size_t number{0};
        for (Json const& step : program["steps"])
        {
            std::string const id = "s" + std::to_string(number++);
            dot += "  " + id + " [label="
                + quoted(step["name"].get<std::string>() + "\n" + step["kernel"].get<std::string>() + " / "
                    + step["candidate"].get<std::string>())
                + "];\n";
            for (Json const& input : step["inputs"])
                if (auto const from = input.is_null() ? writers.end() : writers.find(input["memory"].get<int64_t>());
                    from != writers.end())
                    dot += "  " + from->second + " -> " + id + " [label="
                        + quoted(input["type"].get<std::string>() + " " + input["shape"].get<std::string>()) + "];\n";
            for (Json const& output : step["outputs"])
                if (!output.is_null())
                    writers[output["memory"].get<int64_t>()] = id;
        }
    }
    return dot + "}\n";
}

} // namespace tenon::cli
