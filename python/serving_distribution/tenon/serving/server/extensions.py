"""What Triton's extensions tell of a model, as both protocols have it: metadata, configuration, statistics."""

from typing import Any

from .catalog import Catalog
from .served import Served


def metadata(catalog: Catalog, name: str, version: str | None) -> dict[str, Any]:
    model = catalog.find(name, version)
    return {
        "name": name,
        "versions": catalog.versions(name),
        "platform": "tenon",
        "inputs": model.get_input_types(),
        "outputs": model.get_output_types(),
    }


def configuration(model: Served) -> dict[str, Any]:
    """As far as an engine has one; the batch is one of the extents, so that `max_batch_size` is 0."""
    inputs, outputs = (
        [{"name": each["name"], "data_type": f"TYPE_{each['datatype']}", "dims": each["shape"]} for each in types]
        for types in (model.get_input_types(), model.get_output_types())
    )
    about = {"name": model.name, "platform": "tenon", "backend": "tenon", "max_batch_size": 0}
    return about | {"input": inputs, "output": outputs}


def statistics(catalog: Catalog, name: str, version: str | None) -> dict[str, Any]:
    """Of one model, or with '' of all."""
    models = catalog.all()
    if name:
        catalog.find(name, version)
        models = [each for each in models if each.name == name and version in (None, "", each.version)]
    return {"model_stats": [_statistics(each) for each in models]}


def _statistics(model: Served) -> dict[str, Any]:
    def total(name: str) -> float:
        return sum(getattr(counts, name) for counts in model.counts())

    def lasted(count: float, seconds: float) -> dict[str, int]:
        return {"count": int(count), "ns": int(seconds * 1e9)}

    answered, runs = total("answered"), total("runs")
    begun = answered + total("failed")
    return {
        "name": model.name,
        "version": model.version,
        "inference_count": int(total("rows")),
        "execution_count": int(runs),
        "inference_stats": {
            "success": lasted(answered, total("queue_seconds") + total("run_seconds")),
            "fail": lasted(total("failed") + total("refused") + total("given_up"), 0),
            "queue": lasted(begun, total("queue_seconds")),
            "compute_infer": lasted(runs, total("run_seconds")),
        },
    }
