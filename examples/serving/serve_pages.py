#!/usr/bin/env python3
"""The OCR example as a service: three models and the page's reader, composed on Ray Serve, with a page for browsers.

Builds the three plans, starts Ray on this machine, and serves until Ctrl-C. Needs `tenon-serving[ray]`,
`rapidocr-onnxruntime` and `scikit-image`.
"""

import argparse
import os
import pathlib
import signal
import sys

HERE = pathlib.Path(__file__).resolve().parent
OCR = HERE.parent / "ocr"
sys.path.append(str(OCR))

import ray  # noqa: E402
import tensorrt as trt  # noqa: E402
from models import NETWORKS  # noqa: E402
from pages import Pages  # noqa: E402
from plan_file import build_plan  # noqa: E402
from ray import serve  # noqa: E402
from tenon.serving.ray import deployment  # noqa: E402

PLANS = HERE.parents[1] / "build" / "serving-example"


def application(plans: dict[str, pathlib.Path]) -> serve.Application:
    """A deployment per model, so that each has as many replicas as it needs, and the one that browsers talk to."""
    scaling = {"min_replicas": 1, "max_replicas": 2, "target_ongoing_requests": 2}
    models = {
        name: deployment(plan, name=name, autoscaling_config=scaling, ray_actor_options={"num_cpus": 0.5})
        for name, plan in plans.items()
    }
    return Pages.bind(**models)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--plans", type=pathlib.Path, default=PLANS, help="folder for the plans")
    options = parser.parse_args()
    logger = trt.Logger(trt.Logger.WARNING)
    plans = {network.name: build_plan(network, options.plans, logger)[0] for network in NETWORKS}
    # Replicas are processes of Ray's: they find this example's modules as this one does.
    paths = os.pathsep.join([str(HERE), str(OCR), *filter(None, [os.environ.get("PYTHONPATH")])])
    for check in ("READY", "HEALTH"):  # Serve ends a proxy that needs longer: five seconds, unless somebody says so.
        os.environ.setdefault(f"RAY_SERVE_PROXY_{check}_CHECK_TIMEOUT_S", "60")
    ray.init(include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": paths}})
    serve.start(http_options={"host": "127.0.0.1", "port": options.port})
    serve.run(application(plans), name="pages", route_prefix="/")
    print(f"http://127.0.0.1:{options.port}", flush=True)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
    serve.shutdown()
    ray.shutdown()


if __name__ == "__main__":
    main()
