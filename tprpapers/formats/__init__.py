"""Dumps: files of vectors that other programs write, formats of `tprprobe import` and `export`."""
