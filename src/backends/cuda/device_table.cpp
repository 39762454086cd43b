// DeviceTable: its memory, and the copy in a stream of its own, which no capture sees.
#include "backends/cuda/device_table.h"

#include <algorithm>

namespace tenon::cuda
{

DeviceTable::~DeviceTable()
{
    Current const current{mDevice};
    static_cast<void>(mDevice.api().cuMemFree_v2(mAddress));
}

namespace
{
Result<Done> fillTable(CudaDevice const& device, Address to, std::span<std::byte const> bytes)
{
    DriverApi const& api = device.api();
    void* stream{nullptr};
    if (Code const code = api.cuStreamCreate(&stream, kStreamNonBlocking); code != kSuccess)
        return device.noted(code, "cuStreamCreate");
    Code code = api.cuMemcpyAsync(to, reinterpret_cast<Address>(bytes.data()), bytes.size(), stream);
    if (code == kSuccess)
        code = api.cuStreamSynchronize(stream);
    static_cast<void>(api.cuStreamDestroy_v2(stream));
    if (code != kSuccess)
        return device.noted(code, "cuMemcpyAsync");
    return Done{};
}
} // namespace

Result<std::unique_ptr<DeviceTable const>> deviceTable(CudaDevice const& device, std::span<std::byte const> bytes)
{
    Current const current{device};
    Address address{0};
    if (Code const code = device.api().cuMemAlloc_v2(&address, std::max<size_t>(bytes.size(), 1)); code != kSuccess)
        return device.noted(code, "cuMemAlloc");
    auto table = std::make_unique<DeviceTable const>(device, address);
    if (!bytes.empty())
        TENON_TRY(fillTable(device, address, bytes));
    return table;
}

} // namespace tenon::cuda
