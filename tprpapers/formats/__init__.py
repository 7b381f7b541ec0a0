"""Dumps of vLLM, SAELens and NeuroX, and folders of `datasets`: formats of `tprprobe import` and `export`."""
