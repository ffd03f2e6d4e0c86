"""Integer analysis: bounds, modular sets, simplification and proofs."""

from .analyzer import Analyzer, ConstIntBound, Extension, ModularSet, ProofStrength
