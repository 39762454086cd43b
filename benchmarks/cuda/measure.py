"""measure.py [part …]: run the parts named (all by default) and print their rows; a part that fails does not end it."""

import importlib
import sys
import time
import traceback

import torch

PARTS = ["odd", "depthwise", "first_convolution", "convolution", "resnet50", "matmul"]
HEAD = "kind,channels,size,kernel/stride,batch,cuDNN us,ours us,limit us,limit/ours,cuDNN/ours,copy us,how,check"


def main() -> None:
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = False
    print(f"# {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    print(HEAD)
    for part in sys.argv[1:] or PARTS:
        begin = time.time()
        for measure, *arguments in importlib.import_module(part).rows():
            try:
                print(measure(*arguments), flush=True)
            except Exception:
                print(f"FAILED {part} {arguments}")
                traceback.print_exc(file=sys.stdout)
        print(f"# {part}: {time.time() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
