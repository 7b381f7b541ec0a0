"""Generated worlds with exact labels: event reports in English, scenes with captions, symbol sequences."""
