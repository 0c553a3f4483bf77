"""Switches the telemetry of onnxruntime off."""

import os


def disable_telemetry() -> None:
    """Call this before onnxruntime is imported, which reads the variable once. Otherwise it sends events to its vendor
    and writes a device id into the user's cache folder."""
    os.putenv("ORT_DISABLE_TELEMETRY", "1")
