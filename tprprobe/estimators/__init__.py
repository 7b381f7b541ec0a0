"""What relates vectors to what is asked of them: objects with `fit` and `predict`, as in scikit-learn.

Any classifier, pipeline or search of scikit-learn is a probe. What needs more than arrays, or offers more, says so by an
attribute of its class:

needs       ``"vectors"`` (the default): X [target, width], the states of a target's spans, each span averaged.
            ``"spans"``: X is a :class:`~tprprobe.estimators.probes.spans.SpanStates`.
            ``"sequences"``: X [sample, width], one vector a sample, and y [sample, place], −1 where a place has no label.
batched     Estimators on the same X, of other labels or seeds, are fitted at once, by
            ``fit_together(estimators, X, labels, validation, start)`` of the class; they give ``logits(X)``.
iterative   Trained step by step: not cross-fitted, and by default on all targets, with codelengths.

An estimator without ``predict`` has ``score(X, y)``: one number of all tested targets. An estimator sees arrays. It knows no
store, control, interval, table or command.
"""
