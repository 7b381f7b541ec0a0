"""What relates vectors to what is asked of them: objects with `fit` and `predict`, as in scikit-learn."""
