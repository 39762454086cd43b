// Cpus: the quotas are found through /proc/self/cgroup and /proc/self/mountinfo.
#include "base/cpus.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sched.h>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace tenon
{

namespace
{
namespace fs = std::filesystem;

//! A line of /proc/self/mountinfo, as far as it matters.
struct Mount
{
    std::string root; //!< The part of the file system that is mounted.
    std::string point;
    std::string type;
    std::string options; //!< Of the file system: for version 1 the controllers.
};

bool hasName(std::string_view names, std::string_view name)
{
    for (size_t from = 0; from <= names.size();)
    {
        size_t const to = std::min(names.find(',', from), names.size());
        if (names.substr(from, to - from) == name)
            return true;
        from = to + 1;
    }
    return false;
}

//! Blanks and backslashes stand in mountinfo as three octal digits.
std::string unescaped(std::string_view text)
{
    constexpr std::string_view kOctal{"01234567"};
    std::string plain;
    for (size_t i = 0; i < text.size(); ++i)
    {
        std::string_view const digits = text.substr(i).substr(0, 4).substr(1);
        if (text[i] != '\\' || digits.size() != 3 || digits.find_first_not_of(kOctal) != std::string_view::npos)
        {
            plain += text[i];
            continue;
        }
        plain += static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + (digits[2] - '0'));
        i += 3;
    }
    return plain;
}

std::vector<Mount> mounts(fs::path const& root)
{
    std::vector<Mount> found;
    std::ifstream file{root / "proc/self/mountinfo"};
    for (std::string line; std::getline(file, line);)
    {
        std::istringstream fields{line};
        Mount mount;
        std::string word;
        fields >> word >> word >> word >> mount.root >> mount.point;
        while (fields >> word && word != "-") // Options of the mount, and any number of optional fields.
            ;
        if (!(fields >> mount.type >> word >> mount.options))
            continue;
        mount.root = unescaped(mount.root);
        mount.point = unescaped(mount.point);
        found.push_back(std::move(mount));
    }
    return found;
}

std::optional<double> firstNumber(fs::path const& path)
{
    double number{0.0};
    if (std::ifstream file{path}; file >> number)
        return number;
    return std::nullopt;
}

//! The limit of one group, in CPUs; none: it sets none.
std::optional<double> quotaOf(fs::path const& group, bool isVersion2)
{
    double quota{0.0};
    double period{0.0};
    if (isVersion2)
    {
        std::ifstream file{group / "cpu.max"};
        if (!(file >> quota >> period)) // Or "max".
            return std::nullopt;
    }
    else
    {
        quota = firstNumber(group / "cpu.cfs_quota_us").value_or(-1.0);
        period = firstNumber(group / "cpu.cfs_period_us").value_or(0.0);
    }
    return quota > 0.0 && period > 0.0 ? std::optional{quota / period} : std::nullopt;
}

void lower(std::optional<double>& least, std::optional<double> other)
{
    if (other && (!least || *other < *least))
        least = other;
}

//! Over the groups from this process's own up to the topmost one that the mount shows.
std::optional<double> minQuota(fs::path const& root, Mount const& mount, fs::path const& own, bool isVersion2)
{
    fs::path const top = root / fs::path{mount.point}.relative_path();
    std::optional<double> least = quotaOf(top, isVersion2);
    fs::path const below = own.lexically_relative(mount.root);
    if (below.empty() || *below.begin() == "..")
        return least; // The group lies outside of what is mounted here: its limits cannot be seen.
    fs::path group = top;
    for (fs::path const& part : below)
        lower(least, quotaOf(group /= part, isVersion2));
    return least;
}
} // namespace

std::optional<double> cpuQuota(fs::path const& root)
{
    std::optional<double> least;
    std::vector<Mount> const all = mounts(root);
    std::ifstream file{root / "proc/self/cgroup"};
    for (std::string line; std::getline(file, line);) // "number:controllers:path"; version 2 names no controllers.
    {
        size_t const first = line.find(':');
        size_t const second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos)
            continue;
        std::string const controllers = line.substr(first + 1, second - first - 1);
        bool const isVersion2 = controllers.empty();
        if (!isVersion2 && !hasName(controllers, "cpu"))
            continue;
        for (Mount const& mount : all)
            if (isVersion2 ? mount.type == "cgroup2" : mount.type == "cgroup" && hasName(mount.options, "cpu"))
                lower(least, minQuota(root, mount, line.substr(second + 1), isVersion2));
    }
    return least;
}

int32_t usableCpus() noexcept
{
    cpu_set_t set;
    CPU_ZERO(&set);
    bool const isKnown = sched_getaffinity(0, sizeof(set), &set) == 0; // Not on machines of more CPUs than the set has.
    int32_t const cpus =
        std::max(1, isKnown ? CPU_COUNT(&set) : static_cast<int32_t>(std::thread::hardware_concurrency()));
    try
    {
        double const quota = cpuQuota().value_or(cpus);
        return std::max(1, static_cast<int32_t>(std::min<double>(cpus, std::ceil(quota))));
    }
    catch (...)
    {
        return cpus; // Files that cannot be read set no limit.
    }
}

} // namespace tenon
