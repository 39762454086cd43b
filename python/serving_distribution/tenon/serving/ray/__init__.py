"""Engines on Ray: `deployment` and `Client` for Ray Serve, `Batches` for Ray Data (docs/SERVING.md)."""

from .client import Client as Client
from .data import Batches as Batches
from .deployment import deployment as deployment
