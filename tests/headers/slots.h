// An object whose virtual table only records which slot was called: shows what the inline shells call, and with what.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

namespace headers
{
struct Call
{
    int slot{-1};
    void* object{nullptr};
    uint64_t first{0}; //!< The first argument behind the object, as its register holds it.
};

inline Call gLast;
inline std::array<uint64_t, 128> gAnswer{}; //!< What each slot answers.

template <int kSLOT>
uint64_t record(void* object, uint64_t first)
{
    gLast = {kSLOT, object, first};
    return gAnswer[kSLOT];
}

template <int... kSLOTS>
void const* const* makeTable(std::integer_sequence<int, kSLOTS...>)
{
    static void const* const table[]{reinterpret_cast<void const*>(&record<kSLOTS>)...};
    return table;
}

//! Stands for any class of apiv; good for calls that take and give whole numbers and pointers.
struct Recorder
{
    void const* const* table{makeTable(std::make_integer_sequence<int, 128>{})};
};

//! A shell whose calls go to a recorder. Shell is a public class with a protected member mImpl.
template <typename Shell>
class Recorded : public Shell
{
  public:
    Recorded()
    {
        point(Shell::mImpl);
    }

    ~Recorded() noexcept override
    {
        ++gDestroyed;
    }

    inline static int gDestroyed{0};

  private:
    template <typename Interface>
    void point(Interface*& pointer)
    {
        pointer = reinterpret_cast<Interface*>(&mRecorder);
    }

    Recorder mRecorder;
};
} // namespace headers
