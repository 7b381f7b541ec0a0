"""Generated worlds with exact labels: an English of event reports, and scenes with captions."""
