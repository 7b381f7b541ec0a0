"""How every number comes about, once: who is fitted on and who is tested, beside which controls, with which interval.

splits      documents are divided; no sequence that is tested on is fitted on
controls    labels and features that hold nothing, or less, of what is asked
metrics     from predictions to counts of every target, and from their totals to a number
intervals   over groups (documents), and of paired differences
results     one long table, a row a number, and its folder
runner      fits, tests and counts: the only loop over folds, controls and seeds
"""
