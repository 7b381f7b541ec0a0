"""McCoy et al. 2019, tensor products in sequence encoders: networks with one vector between encoder and decoder."""
