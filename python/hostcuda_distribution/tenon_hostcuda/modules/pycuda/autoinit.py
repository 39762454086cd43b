"""The one device and its context, ready for use."""

from pycuda import driver

driver.init()
device = driver.Device(0)
context = device.make_context()
