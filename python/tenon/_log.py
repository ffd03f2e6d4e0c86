"""Warnings of the library as records of Python's logging: logger tenon, and below it one for each
layer (tenon.import, tenon.runtime, ...)."""


def deliver(level, file, line, text):
    """Called by the extension after a call that had something to say."""
    import logging  # most programs never need it

    parts = file.split("/")
    layer = parts[parts.index("src") + 1] if "src" in parts[:-2] else ""
    logger = logging.getLogger(f"tenon.{layer}" if layer else "tenon")
    level = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)[level]
    if logger.isEnabledFor(level):
        logger.handle(logger.makeRecord(logger.name, level, file, line, text, (), None))
