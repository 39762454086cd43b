// The list of devices of this process.
#include "device/device.h"

#include <mutex>

namespace tenon
{

namespace
{
struct Devices
{
    std::mutex mutex;
    std::vector<Device*> all;
};

Devices& devices()
{
    static Devices instance;
    return instance;
}
} // namespace

Device* findDevice(std::string_view name) noexcept
{
    std::scoped_lock const lock{devices().mutex};
    for (Device* device : devices().all)
        if (device->name() == name)
            return device;
    return nullptr;
}

void registerDevice(Device* device)
{
    if (findDevice(device->name()) != nullptr)
        return;
    std::scoped_lock const lock{devices().mutex};
    devices().all.push_back(device);
}

} // namespace tenon
