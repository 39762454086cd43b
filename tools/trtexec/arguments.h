// Arguments: what stands on the command line, checked against the table of flags.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::trtexec
{

class Arguments
{
  public:
    struct Given
    {
        std::string name;
        std::string value;
    };

    //! Throws std::invalid_argument for a word that is no flag, a flag without the value that it needs or with one that
    //! it does not take, one that stands there twice, and one that is refused here.
    Arguments(int argc, char const* const* argv);

    bool isEmpty() const
    {
        return mGiven.empty();
    }
    std::vector<Given> const& inOrder() const
    {
        return mGiven;
    }
    bool has(std::string_view name) const;
    //! Of several names for one thing the value of any; `otherwise` when none is given.
    std::string text(std::string_view name, std::string const& otherwise = {}) const;
    std::vector<std::string> all(std::string_view name) const;
    //! Throws std::invalid_argument when it is none, or out of range.
    int64_t integer(std::string_view name, int64_t otherwise, int64_t least, int64_t most = INT32_MAX) const;
    double number(std::string_view name, double otherwise, double least, double most) const;

  private:
    std::vector<Given> mGiven;
};

} // namespace tenon::trtexec
