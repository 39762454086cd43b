// Timing caches in Python: keys as text, entries, and the three calls that take them.
#include "members.h"

#include <algorithm>
#include <cstring>

namespace tenon::python
{

namespace
{
using nvinfer1::ITimingCache;
using nvinfer1::TimingCacheKey;
using nvinfer1::TimingCacheValue;

constexpr std::string_view kHexDigits{"0123456789abcdef"};

//! "0x" and two digits per byte (rule H5).
std::string textOf(TimingCacheKey const& key)
{
    std::string text{"0x"};
    for (uint8_t const byte : key.data)
    {
        text += kHexDigits[byte >> 4];
        text += kHexDigits[byte & 15];
    }
    return text;
}

TimingCacheKey keyOf(std::string const& text)
{
    TimingCacheKey key{};
    constexpr size_t kLength{2 + 2 * sizeof(key.data)};
    if (text.size() != kLength || text.compare(0, 2, "0x") != 0)
        throw py::value_error("a key is 0x and 32 digits, and '" + text + "' is not");
    for (size_t i = 2; i < kLength; ++i)
    {
        auto const lower = static_cast<char>(text[i] >= 'A' && text[i] <= 'F' ? text[i] - 'A' + 'a' : text[i]);
        size_t const digit = kHexDigits.find(lower);
        if (digit == std::string_view::npos)
            throw py::value_error("a key is 0x and 32 hexadecimal digits, and '" + text + "' has a '" + text[i] + "'");
        uint8_t& byte = key.data[(i - 2) / 2];
        byte = static_cast<uint8_t>(byte << 4 | digit);
    }
    return key;
}

bool areEqual(TimingCacheKey const& a, TimingCacheKey const& b) noexcept
{
    return std::memcmp(a.data, b.data, sizeof(a.data)) == 0;
}

std::vector<TimingCacheKey> keysOf(ITimingCache const& cache)
{
    int64_t const count = cache.queryKeys(nullptr, 0);
    if (count < 0)
        throw std::runtime_error("the cache does not tell its keys; the logger has the reason");
    std::vector<TimingCacheKey> keys(static_cast<size_t>(count));
    int64_t const filled = cache.queryKeys(keys.data(), count);
    keys.resize(static_cast<size_t>(std::clamp<int64_t>(filled, 0, count)));
    return keys;
}
} // namespace

void bindTimingCacheEntries(py::module_& m)
{
    py::class_<TimingCacheKey>(m, "TimingCacheKey", docOf("TimingCacheKey"))
        .def_static("parse", &keyOf, py::arg("text"), docOf("TimingCacheKey.parse"))
        .def("__str__", &textOf)
        .def("__repr__", [](TimingCacheKey const& self) { return "TimingCacheKey(" + textOf(self) + ")"; })
        .def("__eq__", &areEqual)
        .def("__eq__", [](TimingCacheKey const&, py::object const&) { return false; })
        .def("__hash__", [](TimingCacheKey const& self) { return py::hash(py::str(textOf(self))); });
    py::class_<TimingCacheValue>(m, "TimingCacheValue", docOf("TimingCacheValue"))
        .def(py::init([](uint64_t tactic, float milliseconds) {
            return TimingCacheValue{tactic, milliseconds};
        }))
        .def_readwrite("tacticHash", &TimingCacheValue::tacticHash, docOf("TimingCacheValue.tacticHash"))
        .def_readwrite("timingMSec", &TimingCacheValue::timingMSec, docOf("TimingCacheValue.timingMSec"));
}

void bindTimingCache(py::module_& m)
{
    auto c = classOf<py::class_<ITimingCache, Owned<ITimingCache>>>(m, "ITimingCache");
    method(c, "queryKeys", &keysOf, docOf("ITimingCache.queryKeys"));
    method(
        c, "query", [](ITimingCache const& self, TimingCacheKey const& key) { return self.query(key); }, py::arg("key"),
        docOf("ITimingCache.query"));
    method(
        c, "update",
        [](ITimingCache& self, TimingCacheKey const& key, TimingCacheValue const& value) {
            return self.update(key, value);
        },
        py::arg("key"), py::arg("value"), docOf("ITimingCache.update"));
}

} // namespace tenon::python
