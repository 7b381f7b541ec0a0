"""Networks of the papers: schlag's and jiang's TP-Transformers, huang's TPGN, and all in transformers' Auto classes."""
