"""Networks that are built to bind, each in a module with its paper's equations, and the tasks that they are meant for."""
