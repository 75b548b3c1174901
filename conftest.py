"""Names for the examples in docstrings."""

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def example_of_topic_model(
    request: pytest.FixtureRequest, doctest_namespace: dict[str, Any]
) -> None:
    """Let the examples of `TopicModel`'s methods continue with the model of the class."""
    if not isinstance(request.node, pytest.DoctestItem) or "model" in doctest_namespace:
        return
    from cofactor import TopicModel

    tickets = [
        "the invoice shows a wrong amount",
        "please refund the second invoice",
        "charged twice, refund the amount",
        "the app crashes after the update",
        "login fails since the update",
        "app frozen at login",
    ]
    teams = ["billing", "", "", "support", "", ""]
    model = TopicModel(2, random_state=0).fit(tickets, teams)
    doctest_namespace.update(tickets=tickets, teams=teams, model=model)
