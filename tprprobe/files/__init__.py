"""Files: where assets lie, what a folder holds, writing that leaves nothing half done."""
