"""What holds for all tests in Python."""

import signal

# A shell starts programs in the background with Ctrl-C ignored, and whoever they start inherits that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
