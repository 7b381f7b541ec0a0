"""What five papers say of roles and fillers: their analyses, figures, tables and claims, as a plug-in of tprprobe."""
