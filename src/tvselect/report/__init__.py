"""The report of a run: one HTML file that a manager can read and a statistician can check.

:func:`gather` needs nothing but the package; the page (:func:`render`, :func:`write_report`)
needs ``pip install 'tvselect[report]'``. Modules are imported when their functions are used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
