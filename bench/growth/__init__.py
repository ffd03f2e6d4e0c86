"""Families of programs of any size, by kind."""
