"""What comes after a selection: how the outcome depends on what was selected, and look-alikes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
