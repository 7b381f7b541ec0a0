"""Networks that are built to bind: Fast Weight Memory, TPR-RNN, AID and D3, and the tasks that they are meant for."""
