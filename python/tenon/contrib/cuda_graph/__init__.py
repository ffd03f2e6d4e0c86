"""Executors that record CUDA graphs; importable, but there is none here."""
