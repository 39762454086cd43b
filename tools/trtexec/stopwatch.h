// Stopwatch: time since it was made.
#pragma once

#include <chrono>

namespace tenon::trtexec
{

class Stopwatch
{
  public:
    double milliseconds() const
    {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - mStart).count();
    }
    double seconds() const
    {
        return milliseconds() / 1000.0;
    }

  private:
    std::chrono::steady_clock::time_point mStart{std::chrono::steady_clock::now()};
};

} // namespace tenon::trtexec
