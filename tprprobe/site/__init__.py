"""Sites: named points of models at which vectors are read and replaced."""
