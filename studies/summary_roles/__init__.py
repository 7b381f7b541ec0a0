"""What roles are like in every model of ``studies/matched-summaries``: ``python -m studies.summary_roles DIR``."""
