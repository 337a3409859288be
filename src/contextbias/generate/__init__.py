"""Generators: prompts in, images out; one module a backend, drawing/ for the simulated one."""
