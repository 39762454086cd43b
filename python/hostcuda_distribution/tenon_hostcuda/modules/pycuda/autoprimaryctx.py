"""The one device and its primary context, ready for use."""

from pycuda import driver

driver.init()
device = driver.Device(0)
context = device.retain_primary_context()
context.push()
