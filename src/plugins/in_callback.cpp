// InCallback: the innermost one of each thread.
#include "plugins/in_callback.h"

#include <algorithm>
#include <string_view>

namespace tenon::plugins
{

namespace
{
thread_local InCallback const* gInnermostCallback{nullptr};

//! Appends to a text with room for a last 0; what no terminal should get stands as '?'.
class FixedText
{
  public:
    FixedText(char* text, size_t room) noexcept
        : mText{text},
          mRoom{room}
    {
    }
    ~FixedText()
    {
        if (mRoom > 0)
            mText[mSize] = '\0';
    }
    FixedText(FixedText const&) = delete;
    FixedText& operator=(FixedText const&) = delete;

    void add(std::string_view part) noexcept
    {
        for (char const letter : part.substr(0, std::min<size_t>(part.size(), kLongestName)))
            if (mSize + 1 < mRoom)
                mText[mSize++] = letter >= ' ' && letter <= '~' ? letter : '?';
    }
    size_t size() const noexcept
    {
        return mSize;
    }

  private:
    static constexpr size_t kLongestName{64};

    char* mText;
    size_t mRoom;
    size_t mSize{0};
};
} // namespace

InCallback::InCallback(char const* callback, Identity const& identity) noexcept
    : mCallback{callback},
      mIdentity{&identity},
      mOuter{gInnermostCallback}
{
    gInnermostCallback = this;
}

InCallback::~InCallback()
{
    gInnermostCallback = mOuter;
}

size_t InCallback::describe(char* text, size_t room) noexcept
{
    FixedText line{text, room};
    if (InCallback const* const inside = gInnermostCallback)
    {
        line.add(inside->mCallback);
        line.add(" of plugin '");
        line.add(inside->mIdentity->type);
        line.add("' version '");
        line.add(inside->mIdentity->version);
        line.add("'");
    }
    return line.size();
}

} // namespace tenon::plugins
