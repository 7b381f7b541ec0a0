"""How states are made of words, places and bindings of them."""
