"""Parameters of a selector, those of its ``Search`` among them by their names alone."""

from typing import Any

import tvselect


def nested(**settings: Any) -> dict[str, Any]:
    if not hasattr(tvselect, "Search"):  # version 0.2.0, next to which benchmarks run
        return settings
    inner = tvselect.Search().get_params().keys() & settings.keys()
    if not inner:
        return settings
    return settings | {"search": tvselect.Search(**{name: settings.pop(name) for name in inner})}
