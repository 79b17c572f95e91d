"""Parameters of a selector, those of its ``Search`` among them by their names alone."""

from typing import Any

from tvselect import Search


def nested(**settings: Any) -> dict[str, Any]:
    inner = {name: settings.pop(name) for name in Search().get_params() if name in settings}
    return settings | {"search": Search(**inner)} if inner else settings
