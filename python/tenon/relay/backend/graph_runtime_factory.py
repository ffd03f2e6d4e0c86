"""Earlier name of `relay.backend.executor_factory`."""

from .executor_factory import GraphRuntimeFactoryModule

__all__ = ["GraphRuntimeFactoryModule"]
