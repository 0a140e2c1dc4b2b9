"""The text of the mail that says that an alert starts or stops firing."""

from dataclasses import dataclass
from datetime import datetime

from fanion.accounts.mail.message import Mail, on_one_line
from fanion.insights.alerts.model import Alert, Checked

SUBJECT_CHARS_MAX = 150
_CONDITIONS = {
    "above": "more than {}",
    "below": "less than {}",
    "changes_by": "a change by {} or more",
    "changes_by_percent": "a change by {} % or more",
}


@dataclass(frozen=True, slots=True)
class AlertNews:
    """The news in a mail about an alert.

    Attributes:
        insight: The name of the insight, or an empty text.
        link: The address of the alert in the console.
    """

    alert: Alert
    outcome: Checked
    insight: str
    link: str
    checked_at: datetime

    @property
    def subject(self) -> str:
        name = on_one_line(self.alert.name)
        return f"Alert {self._state}: {name}"[:SUBJECT_CHARS_MAX]

    @property
    def body(self) -> str:
        insight = on_one_line(self.insight) or "Untitled insight"
        return f"""The alert "{on_one_line(self.alert.name)}" on "{insight}" is {self._state}.

{self._number}
Fires at: {_CONDITIONS[self.alert.condition].format(_number(self.alert.threshold))}
Checked at: {self.checked_at:%Y-%m-%d %H:%M} UTC

{self.link}

You get this mail because you are subscribed to the alert. You can change that there.
"""

    @property
    def _state(self) -> str:
        return {"firing": "firing", "errored": "failing"}.get(
            self.outcome.state, "no longer firing"
        )

    @property
    def _number(self) -> str:
        if self.outcome.value is None:
            return f"Error: {on_one_line(self.outcome.error or '')}"
        return f"Value: {_number(self.outcome.value)}"


def alert_mail(to: str, subject: str, body: str) -> Mail:
    return Mail("insight_alert", to, subject, body)


def _number(value: float) -> str:
    return f"{value:,.12g}"
