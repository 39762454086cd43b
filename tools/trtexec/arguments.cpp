// Arguments: reading and checking.
#include "arguments.h"

#include "flags.h"
#include "log.h"
#include "specs.h"
#include "suggestion.h"

#include <algorithm>
#include <stdexcept>

namespace tenon::trtexec
{

namespace
{
std::string unknownFlag(std::string const& name)
{
    if (name.rfind("--", 0) != 0)
        return "Unknown option: '" + name + "'. A flag's value stands behind =, as in --onnx=model.onnx";
    std::vector<std::string> names;
    for (Flag const& flag : flags())
        names.emplace_back(flag.name);
    return "Unknown option: " + name + "." + cli::suggestion(name, names);
}

void checkGiven(Flag const& flag, bool hasValue, std::string const& value)
{
    std::string const name{flag.name};
    bool const isSaidTrue = value == "1" || value == "true" || value == "True";
    if (flag.value.empty() && hasValue && !isSaidTrue)
        throw std::invalid_argument(name + " takes no value: leave it out to have it off");
    if (!flag.value.empty() && value.empty())
        throw std::invalid_argument(name + " needs a value: " + name + "=" + std::string{flag.value});
    if (flag.fate == Fate::kRefused)
        throw std::invalid_argument(name + " cannot be honoured: " + std::string{flag.why});
}
} // namespace

Arguments::Arguments(int argc, char const* const* argv)
{
    for (int i = 1; i < argc; ++i)
    {
        std::string const word{argv[i]};
        size_t const equals = word.find('=');
        std::string const name = word.substr(0, equals);
        std::string const value = equals == std::string::npos ? "" : word.substr(equals + 1);
        Flag const* flag = findFlag(name);
        if (flag == nullptr)
            throw std::invalid_argument(unknownFlag(name));
        checkGiven(*flag, equals != std::string::npos, value);
        if (!flag->isRepeatable && !flag->value.empty() && has(name))
            throw std::invalid_argument(name + " is given twice");
        mGiven.push_back({name, value});
    }
}

bool Arguments::has(std::string_view name) const
{
    return std::any_of(mGiven.begin(), mGiven.end(), [&](Given const& given) { return given.name == name; });
}

std::string Arguments::text(std::string_view name, std::string const& otherwise) const
{
    for (Given const& given : mGiven)
        if (given.name == name)
            return given.value;
    return otherwise;
}

std::vector<std::string> Arguments::all(std::string_view name) const
{
    std::vector<std::string> values;
    for (Given const& given : mGiven)
        if (given.name == name)
            values.push_back(given.value);
    return values;
}

int64_t Arguments::integer(std::string_view name, int64_t otherwise, int64_t least, int64_t most) const
{
    if (!has(name))
        return otherwise;
    int64_t const value = integerOf(std::string{name}, text(name));
    if (value < least || value > most)
        throw std::invalid_argument(
            tenon::trtexec::text("%s=%lld is not within %lld to %lld", std::string{name}.c_str(),
                static_cast<long long>(value), static_cast<long long>(least), static_cast<long long>(most)));
    return value;
}

double Arguments::number(std::string_view name, double otherwise, double least, double most) const
{
    if (!has(name))
        return otherwise;
    double const value = numberOf(std::string{name}, text(name));
    if (!(value >= least && value <= most))
        throw std::invalid_argument(
            tenon::trtexec::text("%s=%g is not within %g to %g", std::string{name}.c_str(), value, least, most));
    return value;
}

} // namespace tenon::trtexec
