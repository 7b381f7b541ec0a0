"""Scores of captions as the COCO toolkit has them, with intervals over images."""
