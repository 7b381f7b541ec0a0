"""Reports: one self-contained HTML file of a run, and the demo that makes one."""
