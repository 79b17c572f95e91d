from tests.conftest import record_result  # noqa: F401
