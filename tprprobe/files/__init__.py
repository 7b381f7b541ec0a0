"""Files: finding assets, kinds of folders, settings, and writing that leaves nothing half done."""
