// Origins: the names of the user's layers behind a node.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace tenon
{

//! Joined lists share what they are made of: a chain of rewrites would copy lists as long as the graph else.
class Origins
{
  public:
    Origins() = default;
    Origins(std::vector<std::string> names);
    static Origins join(std::vector<Origins> const& parts);

    //! In order, each once.
    std::vector<std::string> names() const;
    bool empty() const noexcept
    {
        return mPart == nullptr;
    }

  private:
    struct Part;
    using PartPtr = std::shared_ptr<Part>;
    PartPtr mPart; //!< Never changed once it is made.
};

} // namespace tenon
