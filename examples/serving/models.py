"""The three networks of the OCR example, for a service: what it takes is bounded, as each context keeps its memory."""

import dataclasses

import networks
from networks import Network as Network

# Larger pages are shrunk (fit.py). A context has memory for the largest shape of its profile at all times.
DETECTOR = dataclasses.replace(networks.DETECTOR, largest=(1, 3, 1600, 1600))
CLASSIFIER = networks.CLASSIFIER
RECOGNIZER = dataclasses.replace(networks.RECOGNIZER, largest=(6, 3, 48, 2048))
NETWORKS = (DETECTOR, CLASSIFIER, RECOGNIZER)
