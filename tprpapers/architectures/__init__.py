"""Networks of the papers: jiang's TP-Transformers on T5, huang's TPGN, and all of ours in transformers' Auto classes."""
